"""A calibration applied, kept in a file, and refused where it is of another judge."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.calibration.frames_file import id_of
from calib.core.check import ArgumentError, CalibWarning
from calib.table import TableError, check_scores, read, write

# these tables have few documents on purpose in places
pytestmark = pytest.mark.filterwarnings("ignore:few_groups|unseen_levels|n_labels:calib.core.check.CalibWarning")
SCHEMA = Path(__file__).with_name("calibration_v1.schema.json")
HOSTILE = ["<script>alert(1)</script>", "=cmd|' /C calc'!A0", "\x1b[31mred", "\u202eevil", "nul\x00", "é|..", 'a,b\n"c']


def tables(n_docs=30, per_doc=4, seed=0, **who):
    """Scores of a judge on all items, and labels of two people on the items of half of the documents."""
    rng = np.random.default_rng(seed)
    doc = np.repeat(np.arange(n_docs), per_doc)
    x = rng.integers(1, 6, len(doc)).astype(float)
    latent = (x - 3) + rng.normal(0, 0.5, n_docs)[doc] + rng.logistic(size=(2, len(doc)))
    y = 1 + (latent[..., None] > [-1.5, -0.3, 0.8, 2.2]).sum(axis=-1)
    about = {"item": [f"i{one}" for one in range(len(doc))], "criterion": "tone", "scale": "1|2|3|4|5"}
    about |= {"group": [f"d{one}" for one in doc], "system": np.where(np.arange(len(doc)) % 2, "new", "old")}
    who = {"rater": "gpt", "prompt": "p1", "method": "sample", "temperature": 1.0} | who
    scores = check_scores(pd.DataFrame(about | who | {"score": x}))
    people = [pd.DataFrame(about | {"rater": f"person {k}", "method": "human", "score": y[k]}) for k in (0, 1)]
    labelled = doc < n_docs // 2
    return scores, check_scores(pd.concat([one[labelled] for one in people], ignore_index=True))


@pytest.fixture(scope="module")
def both():
    return tables()


@pytest.fixture(scope="module")
def two_criteria(both):
    """The same scores and labels on another criterion, too."""
    return [check_scores(pd.concat([one, one.assign(criterion="style")], ignore_index=True)) for one in both]


@pytest.fixture(scope="module")
def calibration(both):
    return calib.calibrate(*both)


# --- applied ----------------------------------------------------------------------------------------------------------


def test_calibrated_scores_are_scores_on_peoples_scale(both, calibration):
    out = calibration.apply(both[0])
    assert len(out) == len(both[0]) and out["item"].tolist() == both[0]["item"].tolist()
    assert set(out["rater"]) == {"gpt (calibrated)"} and set(out["scale"]) == {"1|2|3|4|5"}
    p = out[[f"p_{k}" for k in range(1, 6)]].to_numpy()
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(out["score"], p @ np.arange(1, 6))
    np.testing.assert_allclose(out["sd"], np.sqrt(p @ np.arange(1, 6) ** 2 - out["score"] ** 2))
    assert (out["conf_low"] < out["score"]).all() and (out["score"] < out["conf_high"]).all()
    assert (out["mode"] == 1 + p.argmax(axis=1)).all()
    assert {"group", "system"} <= set(out)
    assert set(out["calibration"]) == {calibration.record["id"][7:19]}
    check_scores(out)


def test_labelled_documents_have_a_fold_and_the_map_without_it(both, calibration):
    out = calibration.apply(both[0])
    labelled = out["group"].isin(set(both[1]["group"]))
    assert (out["fold"].notna() == labelled).all()
    assert len(out[labelled][["group", "fold"]].drop_duplicates()) == 15
    for fold, rows in out[labelled].groupby("fold"):
        x = both[0]["score"].to_numpy()[rows.index]
        np.testing.assert_allclose(rows["score"], calibration.predict(x, fold=[int(fold)] * len(x)) @ np.arange(1, 6))
    rest = out[~labelled]
    means = calibration.predict(both[0]["score"].to_numpy()[rest.index]) @ np.arange(1, 6)
    np.testing.assert_allclose(rest["score"], means)


@pytest.mark.filterwarnings("ignore:no_skill")
def test_a_label_has_no_part_in_the_score_of_its_document(both, calibration):
    """Other labels of the documents of a fold: their scores stay, given the penalty."""
    scores, people = both
    fixed = calib.calibrate(scores, people, ridge=1.0).apply(scores)
    of_fold = set(fixed.loc[fixed["fold"] == 2, "group"])
    turned = people.assign(score=people["score"].where(~people["group"].isin(of_fold), 6 - people["score"]))
    again = calib.calibrate(scores, turned, ridge=1.0).apply(scores)
    assert again["fold"].equals(fixed["fold"])
    same = fixed["fold"] == 2
    np.testing.assert_allclose(again.loc[same, "score"], fixed.loc[same, "score"], rtol=1e-9)
    assert (abs(again.loc[~same, "score"] - fixed.loc[~same, "score"]) > 1e-4).any()


def test_the_order_of_rows_changes_nothing(both, calibration):
    scores, people = (table.sample(frac=1, random_state=3).reset_index(drop=True) for table in both)
    one = calibration.apply(both[0]).set_index("item")
    other = calib.calibrate(scores, people).apply(scores).set_index("item").loc[one.index]
    assert one["fold"].equals(other["fold"])
    for name in ("score", "conf_low", "conf_high", "p_5"):
        np.testing.assert_allclose(one[name], other[name], rtol=1e-6)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_calibrated_scores_survive_a_file(both, calibration, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    out = calibration.apply(both[0])
    again = read(write(out, tmp_path / f"out.{ending}"), "scores")
    for name in ("score", "p_1", "conf_low", "fold"):
        np.testing.assert_allclose(again[name].astype(float), out[name], rtol=1e-15)
    assert again["calibration"].astype(str).tolist() == out["calibration"].tolist()


def test_ratings_are_summarised_on_the_way(both, calibration):
    ratings = both[0].drop(columns=["mass", "n", "n_unread"]).assign(draw=0, weight=1.0)
    again = calib.calibrate(ratings, both[1])
    np.testing.assert_allclose(again.slopes, calibration.slopes)
    with pytest.warns(CalibWarning, match="no_groups"):  # ratings have none, and the labels' are of labelled items
        assert again.apply(ratings)["score"].notna().all()


def test_a_missing_score_has_no_calibrated_one(both, calibration):
    scores = both[0].assign(score=both[0]["score"].where(both[0].index != 5))
    out = calibration.apply(scores)
    assert out.loc[5, ["score", "p_1", "conf_low", "sd"]].isna().all() and out["score"].isna().sum() == 1
    with pytest.warns(CalibWarning, match="inputs_missing: labelled items .*: 1$"):
        assert calib.calibrate(scores, both[1]).labels[0]["n_unread"] == 1


def test_a_part_of_the_maps_is_a_calibration(both, two_criteria):
    two = calib.calibrate(*two_criteria)
    part = two["style"]
    assert isinstance(part, calib.Calibration) and len(part) == 1 and isinstance(two[:1], calib.Calibration)
    with pytest.warns(CalibWarning, match="not_calibrated: no map is of 'tone'"):
        out = part.apply(two_criteria[0])
    assert set(out["criterion"]) == {"style"}
    with pytest.raises(TableError, match=r"of a criterion that was calibrated .'style'., but are of 'tone'"):
        part.apply(both[0])


def test_without_groups_in_the_scores_labelled_items_are_still_cross_fitted(both, calibration):
    with pytest.warns(CalibWarning, match="no_groups"):
        out = calibration.apply(both[0].drop(columns="group"))
    whole = calibration.apply(both[0])
    assert out["fold"].equals(whole["fold"])  # here all items of a labelled document are labelled


@pytest.mark.slow
def test_a_million_scores_are_applied_by_their_distinct_values(calibration, both):
    """A million: worked out for each distinct score and fold."""
    n = 1_000_000
    one = both[0].iloc[[0]].drop(columns="item")
    frame = one.loc[one.index.repeat(n)].assign(item=np.arange(n).astype(str), score=np.arange(n) % 5 + 1.0)
    out = calibration.apply(frame.assign(group=(np.arange(n) // 20).astype(str)))
    assert len(out) == n and out["score"].nunique() == 5


# --- another judge ----------------------------------------------------------------------------------------------------

OTHERS = {
    "rater": ("gpt2", "rater was 'gpt' and is 'gpt2'"),
    "prompt": ("p2", "prompt was 'p1' and is 'p2'"),
    "method": ("logprob", "method was 'sample' and is 'logprob'"),
    "temperature": (0.0, "temperature was 1 and is 0"),
    "scale": ("1|2|3|4|5|6", r"scale was '1\|2\|3\|4\|5' and is '1\|2\|3\|4\|5\|6'"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_judge_is_refused_by_what_differs(both, calibration, name):
    value, words = OTHERS[name]
    other = both[0].astype({name: object}).assign(**{name: value})
    with pytest.raises(TableError, match=words):
        calibration.apply(other)
    with pytest.warns(CalibWarning, match=f"stale: .*{words}"):
        out = calibration.apply(other, allow_stale=True)
    assert out["score"].notna().all()
    with pytest.raises(TableError, match=r"rater was .*; prompt was .*; temperature was 1 and is not known"):
        calibration.apply(both[0].assign(rater="x", prompt="y", temperature=np.nan))


@pytest.mark.filterwarnings("ignore:no_skill")
def test_scores_off_the_range_seen(both, calibration):
    few = both[0][both[0]["score"] < 4]
    narrow = calib.calibrate(few, both[1][both[1]["item"].isin(few["item"])])
    with pytest.warns(CalibWarning, match=r"beyond_range: .* scores lie beyond those that the map has seen, 1 to 3"):
        narrow.apply(both[0])
    unsaid = both[0].assign(scale="")
    with pytest.raises(TableError, match="scores were 1 to 5 and are 10 to 50"):
        calib.calibrate(unsaid, both[1]).apply(unsaid.assign(score=unsaid["score"] * 10))


def test_a_guessed_scale_of_other_items_is_no_other_scale(tmp_path):
    """Decimals without a label look like 1..5; with whole labels beside them the scale was 1|2|3|4|5."""
    judge = [1.2, 2.4, 3.1, 4.7, 1.9, 4.1] * 5
    seen = calib.calibrate({"judge": judge, "human": [1, 2, 3, 5, 2, 4] * 5})
    labels = {"id": range(30), "human": [1, 2, 3, 5, 2, 4] * 5}
    apart = calib.calibrate({"id": range(30), "judge": judge}, labels)
    for found in (seen, apart):
        again = calib.Calibration.read(found.save(tmp_path / "map.json"))
        assert again.apply({"judge": [1.4, 4.6, 2.2]})["score"].is_unique
        with pytest.raises(TableError, match=r"scores were 1\.2 to 4\.7 and are 10 to 90"):
            again.apply({"judge": [10, 40, 90]})
        with pytest.raises(TableError, match=r"scale was '1.2.3.4.5' and is '0\.\.10'"):
            again.apply({"judge": [1.4, 4.6, 2.2]}, scale="0..10")


def test_calibrated_scores_are_not_calibrated_again_in_silence(both, calibration):
    with pytest.warns(CalibWarning, match="calibrated_again: .*; give the judge's own scores"):
        calib.calibrate(calibration.apply(both[0]), both[1])


def test_of_several_maps_that_are_as_near_one_has_to_be_taken(both):
    scores, people = both
    two = check_scores(pd.concat([scores, scores.assign(rater="claude")], ignore_index=True))
    maps = calib.calibrate(two, people)
    with pytest.raises(TableError, match="several maps are as near"):
        maps.apply(scores.assign(rater="other"), allow_stale=True)
    assert set(maps.apply(two)["rater"]) == {"gpt (calibrated)", "claude (calibrated)"}


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_file_gives_the_same_scores_to_the_last_digit(both, calibration, tmp_path):
    again = calib.Calibration.read(calibration.save(tmp_path / "c.json"))
    pd.testing.assert_frame_equal(again.apply(both[0]), calibration.apply(both[0]), check_exact=True)
    assert str(again) == str(calibration) and again.labels == calibration.labels
    text = (tmp_path / "c.json").read_text()
    assert not any(f'"{name}"' in text for name in (*both[0]["item"], *both[0]["group"].unique())), "hashes alone"
    with pytest.raises(ArgumentError, match=r"`path` must be a file to write, but .* is a folder"):
        calibration.save(tmp_path)


def test_a_file_of_one_map_keeps_the_schema(calibration, tmp_path):
    """Reference: the schema that gates read, kept beside this test."""
    jsonschema = pytest.importorskip("jsonschema")
    record = json.loads(calibration.save(tmp_path / "c.json").read_text())
    jsonschema.validate(record, json.loads(SCHEMA.read_text()))
    assert record["labels"]["n"] == 60 and record["labels"]["n_groups"] == 15 and record["labels"]["raters"] == 2
    assert [one["system"] for one in record["builds"]] == ["new", "old"]
    gaps = np.array([pair["y"] - pair["f"] for pair in record["pairs"]])
    assert record["summary"]["bias"] == pytest.approx(gaps.mean())
    assert len(record["summary"]["judge_deciles"]) == 9


OTHER_TABLES = {
    "method": lambda scores, people: (scores.assign(method="given"), people),
    "temperature": lambda scores, people: (scores.assign(temperature=np.nan), people),
    "no system": lambda *tables: [table.drop(columns="system") for table in tables],
    "one annotator": lambda scores, people: (scores, people[people["rater"] == "person 1"]),
    "no group": lambda *tables: [table.drop(columns="group") for table in tables],
}


@pytest.mark.parametrize("change", OTHER_TABLES)
def test_other_tables_keep_the_schema_too(both, tmp_path, change):
    jsonschema = pytest.importorskip("jsonschema")
    record = json.loads(calib.calibrate(*OTHER_TABLES[change](*both)).save(tmp_path / "c.json").read_text())
    jsonschema.validate(record, json.loads(SCHEMA.read_text()))


def test_several_maps_stand_in_one_file(two_criteria, tmp_path):
    path = calib.calibrate(*two_criteria).save(tmp_path / "c.json")
    assert json.loads(path.read_text())["schema"] == "calib/calibrations/v1"
    again = calib.Calibration.read(path)
    assert [label["criterion"] for label in again.labels] == ["tone", "style"]
    assert len(again.apply(two_criteria[0])) == len(two_criteria[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_data(both, tmp_path, name):
    scores, people = (
        table.astype(dict.fromkeys(["item", "group", "system", "criterion"], object)).assign(
            item=table["item"].astype(str) + name, group=table["group"].astype(str) + name, system=name, criterion=name
        )
        for table in both
    )
    scores = scores.assign(rater=name)
    made = calib.calibrate(scores, people)
    path = made.save(tmp_path / "c.json")
    pd.testing.assert_frame_equal(calib.Calibration.read(path).apply(scores), made.apply(scores), check_exact=True)
    assert "<script>" not in made._repr_html_()
    assert scores["item"].iloc[0] not in json.loads(path.read_text())["pairs"][0].values()


def test_the_id_is_of_the_content_and_not_of_the_day(calibration, both, tmp_path):
    path = calibration.save(tmp_path / "c.json")
    record = json.loads(path.read_text()) | {"created": "2001-01-01"}
    path.write_text(json.dumps(record))
    assert calib.Calibration.read(path).record["id"] == calibration.record["id"]
    assert calib.calibrate(*both).record["id"] == calibration.record["id"]


BROKEN = {
    "edited": (lambda it: it["summary"]["map"].update(slopes=[9.0]), "is damaged or was edited: its id is sha256:"),
    "newer": (lambda it: it.update(schema="calib/calibration/v2"), "'calib/calibration/v2'; a later calib wrote it"),
    "another kind": (lambda it: it.update(schema="something"), "must have the schema 'calib/calibration/v1'"),
    "without a map": (lambda it: it["summary"].pop("map"), "is damaged or was edited"),
}


@pytest.mark.parametrize("change", BROKEN)
def test_a_file_that_was_changed_is_refused(calibration, tmp_path, change):
    path, (edit, message) = calibration.save(tmp_path / "c.json"), BROKEN[change]
    record = json.loads(path.read_text())
    edit(record)
    path.write_text(json.dumps(record))
    with pytest.raises(TableError, match=message) as error:
        calib.Calibration.read(path)
    assert str(path) in str(error.value)


MALFORMED = {
    "without a part": lambda held: held.pop("thresholds"),
    "of other sizes": lambda held: held.update(levels=[1.0, 2.0]),
    "no numbers": lambda held: held.update(thresholds="none"),
    "without folds": lambda held: held.update(fold_slopes=[], fold_thresholds=[]),
    "levels that fall": lambda held: held.update(levels=held["levels"][::-1]),
    "without inputs": lambda held: held.update(inputs=[]),
    "other folds": lambda held: held.update(fold_slopes=held["fold_slopes"][:1]),
}


@pytest.mark.parametrize("change", MALFORMED)
def test_a_map_whose_parts_do_not_hang_together_is_refused(calibration, tmp_path, change):
    """Its id says that nobody edited it: another program may have written it."""
    path = calibration.save(tmp_path / "c.json")
    record = json.loads(path.read_text())
    MALFORMED[change](record["summary"]["map"])
    path.write_text(json.dumps(record | {"id": id_of(record)}))
    with pytest.raises(TableError, match="has a map that cannot be read: make it again"):
        calib.Calibration.read(path)


def test_no_number_of_json_is_refused(calibration, tmp_path):
    path = calibration.save(tmp_path / "c.json")
    path.write_text(path.read_text().replace('"pseudo": 1.0', '"pseudo": NaN'))
    with pytest.raises(TableError, match=r"is no JSON .NaN is no number of JSON"):
        calib.Calibration.read(path)


@pytest.mark.parametrize("scores", [(), (np.nan,), (None, 1), ([2, 3],)])
def test_at_needs_numbers(calibration, scores):
    with pytest.raises(ArgumentError, match="`at` must be one or several finite numbers"):
        calibration["tone"].at(*scores)
    with pytest.warns(CalibWarning, match="beyond_range: .* 1 of 2 scores lie beyond"):
        calibration["tone"].at(3, 99)
    with pytest.raises(ArgumentError, match=r"got a number: write \[3\]"):
        calibration["tone"].predict(3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("verb", [calib.calibrate, calib.score_sets, calib.escalate, calib.forecast_quality])
def test_scores_on_a_criterion_without_labels_are_not_lost_in_silence(both, two_criteria, verb):
    with pytest.warns(CalibWarning, match="unlabelled: no label is of 'style'; the scores on it are left out"):
        verb(two_criteria[0], both[1], **({"within": 1} if verb is calib.escalate else {}))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[1, 2]", "\xff", '{"schema": ["calib"]}', "[" * 100_000])
def test_what_is_no_calibration_is_refused(tmp_path, text):
    path = tmp_path / "c.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(TableError, match=r"c\.json"):
        calib.Calibration.read(path)


@pytest.mark.slow
def test_the_file_is_bound_to_prompt_and_judge(tmp_path):
    items, people = calib.load_planted()
    prompt, judge = calib.geval_prompt("coherence"), calib.Judge("offline", method="logprob")
    scores = calib.summarize(calib.rate(items, prompt, judge, progress=False), items)
    few = calib.summarize(people[people["item"].isin(set(items["item"][::5]))], items)
    bound = calib.calibrate(scores, few, prompt=prompt, judge=judge).record
    assert bound["prompt"]["sha256"] == prompt.sha256 and bound["judge"]["model"] == "offline"
    alone = calib.calibrate(scores, few).record
    assert alone["prompt"]["sha256"] != prompt.sha256 and "the id of the prompt" in alone["prompt"]["known_by"]
    cooler = calib.calibrate(scores, few, judge=calib.Judge("offline", method="logprob", max_tokens=9)).record
    assert cooler["judge"]["settings_sha256"] != bound["judge"]["settings_sha256"]
    with pytest.raises(ArgumentError, match="`prompt` must be what the scores were asked with"):
        calib.calibrate(scores, few, prompt=calib.geval_prompt("fluency"))
    with pytest.raises(ArgumentError, match=r"`prompt` must be a calib\.Prompt"):
        calib.calibrate(scores, few, prompt="coherence")


def test_how_labels_were_drawn_and_when_is_kept(both):
    drawn = calib.choose(both[0], 60, rng=1)
    chosen = set(drawn.loc[drawn["chosen"].astype(bool), "item"])
    extra = tables(n_docs=60)[1]
    labels = check_scores(extra[extra["item"].isin(chosen)].reset_index(drop=True))
    dated = labels.assign(time=np.where(labels.index % 2, "2026-10-02T10:00:00Z", "2026-11-10T09:00:00Z"))
    record = calib.calibrate(drawn, dated).record
    assert record["labels"]["drawn"] == "simple" and record["pairs"][0]["inclusion"] == pytest.approx(0.5)
    assert (record["labels"]["first"], record["labels"]["last"]) == ("2026-10-02", "2026-11-10")
