"""Files of one's own: what they are taken for, the same numbers as from tables made by hand, and what is refused."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import calib
from calib import cli, table
from calib.core.check import ArgumentError, CalibWarning
from calib.inputs.resolve import in_words
from calib.inputs.tables import infer_tables

MODELS = ("gpt-4o", "llama", "claude", "mistral")
SCALE = "1|2|3|4|5"
N, LABELLED = 120, 40


@pytest.fixture(scope="module")
def truth():
    """What people would say of the outputs of four models on 120 questions, and what a judge says."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({m: rng.integers(1, 6, N) for m in MODELS}, index=[f"q{k}" for k in range(N)])
    judge = (people + rng.integers(-1, 2, people.shape)).clip(1, 5)
    return people, judge


def wide_of(frame, rows=N):
    return frame.head(rows).rename_axis("id").reset_index()


def long(frame, value, rows=N):
    return wide_of(frame, rows).melt("id", var_name="model", value_name=value)


def by_hand(frame, rater, rows=N):
    """The table of scores that a user would make with `scores_from`."""
    rows = long(frame, "score", rows)
    rows = rows.assign(item=rows["id"] + "/" + rows["model"])
    return calib.scores_from(rows, group="id", system="model", rater=rater, scale=SCALE)


def numbers(results):
    found = results.to_frame()
    return found[["estimate", "conf_low", "conf_high"]].to_numpy().tolist()


def shell(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return ended.value.code, " ".join(out.split()), err


def by_shell(capsys, folder, *arguments):
    """The estimates that a command writes, and what it says of the columns."""
    code, _, err = shell(capsys, *arguments, "--out", folder / "out.csv")
    assert code == 0, err
    return table.read_frame(folder / "out.csv")["estimate"].tolist(), err


def firsts(rows):
    return [row[0] for row in rows]


def roles(found):
    return {one.column: one.role for one in found.columns}


@pytest.fixture
def write(tmp_path):
    def to_file(frame, name):
        path = tmp_path / name
        frame.to_csv(path, index=False)
        return path

    return to_file


# --- the recipes: the same numbers as by hand -----------------------------------------------------------------------


LABELS = {
    "wide": lambda people: wide_of(people, LABELLED),
    "long": lambda people: long(people, "label", LABELLED),
    "wide with another order": lambda people: wide_of(people, LABELLED)[["id", *reversed(MODELS)]].iloc[::-1],
    "long, spelled otherwise": lambda people: long(people, "label", LABELLED).replace({"gpt-4o": "GPT_4o"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.filterwarnings("ignore:the labels spell")
def test_a_a_column_of_scores_for_each_model(truth, write, capsys, tmp_path, kind):
    people, judge = truth
    scores, labels = write(wide_of(judge), "judge.csv"), write(LABELS[kind](people), "labels.csv")
    tables = by_hand(judge, "judge"), by_hand(people, "human", LABELLED)
    expected = numbers(calib.interval(*tables, by="system"))
    assert numbers(calib.interval(scores, labels, by="system", scale=SCALE)) == expected
    written, err = by_shell(capsys, tmp_path, "interval", scores, labels, "--by", "system", "--scale", SCALE)
    assert written == firsts(expected)
    assert "judge.csv: `id` as ids, `gpt-4o`, `llama`, `claude` and `mistral` as the judge" in err
    apart = numbers(calib.difference(*tables, "gpt-4o", "llama"))
    assert numbers(calib.difference(scores, labels, "gpt-4o", "llama")) == apart
    assert by_shell(capsys, tmp_path, "difference", scores, labels, "gpt-4o", "llama")[0] == firsts(apart)
    assert numbers(calib.interval(long(judge, "score"), LABELS[kind](people), by="model", scale=SCALE)) == expected


@pytest.mark.slow
def test_a_one_file_of_two_stems_for_each_model(truth, write, capsys):
    people, judge = truth
    blank = people.head(LABELLED).reindex(people.index)
    both = judge.add_prefix("judge_").join(blank.add_prefix("human_")).rename_axis("id").reset_index()
    expected = numbers(calib.difference(by_hand(judge, "judge"), by_hand(people, "human", LABELLED), "llama"))
    assert numbers(calib.difference(both, "llama")) == expected
    path = write(both, "results.csv")
    code, out, err = shell(capsys, "difference", path, "llama", "gpt-4o")
    assert code == 0, err
    assert "llama - gpt-4o" in out


@pytest.fixture
def one_file(truth):
    people, judge = (frame["llama"].to_numpy() for frame in truth)
    label = np.where(np.arange(N) < LABELLED, people, np.nan)
    return pd.DataFrame({"id": [f"q{k}" for k in range(N)], "gpt4": judge, "label": label})


def one_by_hand(frame, scale=SCALE):
    plain = frame.rename(columns={"id": "item"})
    return [
        calib.scores_from(plain[["item", name]], score=name, rater=f"by {name}", scale=scale)
        for name in ("gpt4", "label")
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no_scale")
def test_one_file_with_judge_and_labels(one_file, write, capsys, tmp_path):
    expected, path = numbers(calib.interval(*one_by_hand(one_file))), write(one_file, "results.csv")
    for given in (one_file, path, str(path)):
        assert numbers(calib.interval(given, scale=SCALE)) == expected
        assert calib.agreement(given).one().estimate == calib.agreement(*one_by_hand(one_file)).one().estimate
    code, out, err = shell(capsys, "interval", path, "--out", tmp_path / "out.csv")
    assert code == 0
    assert table.read_frame(tmp_path / "out.csv")["conf_low"].tolist() == [numbers(calib.interval(one_file))[0][1]]
    told = "results.csv: `id` as ids, `gpt4` as the judge, `label` as labels (40 of 120); scale 1|2|3|4|5 (guessed)"
    assert err.splitlines()[0] == f"calib: {told}"
    assert "scale 1|2|3|4|5, guessed." in out
    assert shell(capsys, "agreement", path)[0] == 0


WORDS = {1: "poor", 2: "poor", 3: "fair", 4: "good", 5: "good"}


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["poor|fair|good", "poor=0|fair=1|good=2"])
def test_b_words_as_labels_with_blanks_and_case(one_file, write, capsys, scale):
    said = one_file.assign(gpt4=one_file["gpt4"].map(WORDS), label=one_file["label"].map(WORDS))
    values = {"poor": 0, "fair": 1, "good": 2}
    valued = said.assign(**{name: said[name].map(values) for name in ("gpt4", "label")})
    expected = numbers(calib.interval(*one_by_hand(valued, "0|1|2")))
    messy = said.assign(label=said["label"].mask(said.index < 3, said["label"].str.upper() + " "))
    with pytest.warns(CalibWarning, match="`label`: 3 cells were read in spite of blanks"):
        assert numbers(calib.interval(messy, scale=scale)) == expected
    read_as = [pytest.warns(CalibWarning, match=f"`{name}`: words are read as poor = 0") for name in ("gpt4", "label")]
    with read_as[0], read_as[1]:
        assert numbers(calib.interval(said)) == expected
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, _, err = shell(capsys, "interval", write(messy, "words.csv"), "--scale", scale)
    assert code == 0
    assert "3 cells were read" in err


@pytest.mark.slow
@pytest.mark.parametrize("pair", [("no", "yes"), ("False", "True"), ("fail", "pass"), (False, True), (0, 1)])
def test_c_yes_and_no_in_any_words(one_file, pair):
    passed = one_file.assign(gpt4=one_file["gpt4"] > 2, label=(one_file["label"] > 2).where(one_file["label"].notna()))
    valued = passed.assign(gpt4=passed["gpt4"].astype(float), label=passed["label"].astype(float))
    expected = numbers(calib.interval(*one_by_hand(valued, "0|1")))
    said = passed.assign(
        gpt4=[pair[int(v)] for v in passed["gpt4"]],
        label=[None if pd.isna(v) else pair[int(v)] for v in passed["label"]],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert numbers(calib.interval(said)) == expected


@pytest.fixture
def pairs(truth):
    won = {name: np.sign(frame["gpt-4o"] - frame["llama"]).to_numpy() for name, frame in zip("hj", truth, strict=True)}
    return pd.DataFrame(
        {
            "id": range(N),
            "judge_winner": [{1: "A", -1: "B", 0: "tie"}[v] for v in won["j"]],
            "human_winner": [{1: "A", -1: "B", 0: "tie"}[v] if k < 60 else None for k, v in enumerate(won["h"])],
        }
    )


def by_arrays(pairs):
    value = {"A": 1.0, "B": 0.0, "tie": 0.5}
    sides = (pairs[name].map(value) for name in ("human_winner", "judge_winner"))
    return calib.stats.ppi_mean(*sides, bounds=(0, 1), step=0.5)


@pytest.mark.slow
def test_d_win_rate_of_the_first(pairs, write, capsys):
    result, expected = calib.interval(pairs).one(), by_arrays(pairs)
    assert (result.estimate, *result.interval) == pytest.approx((expected.estimate, *expected.interval), rel=1e-12)
    assert result.estimand == "human win rate"
    code, out, err = shell(capsys, "interval", write(pairs, "pairs.csv"))
    assert code == 0, err
    assert f"Human win rate of A is {expected.estimate:.4g}, 95 % CI" in out
    assert "Mean" not in out


@pytest.mark.slow
def test_d_two_models_in_either_order_are_one_win_rate(pairs):
    swapped = np.arange(N) % 2 == 1
    turn = {"A": "model_b", "B": "model_a", "tie": "tie (bothbad)"}
    keep = {"A": "model_a", "B": "model_b", "tie": "tie"}
    shown = pairs.assign(
        model_a=np.where(swapped, "llama", "gpt-4o"),
        model_b=np.where(swapped, "gpt-4o", "llama"),
        **{
            name: [None if pd.isna(v) else (turn if s else keep)[v] for v, s in zip(pairs[name], swapped, strict=True)]
            for name in ("judge_winner", "human_winner")
        },
    )
    result, expected = calib.interval(shown).one(), by_arrays(pairs)
    assert (result.estimate, *result.interval) == pytest.approx((expected.estimate, *expected.interval), rel=1e-12)
    assert calib.interval(shown).labels[0]["system"] == "gpt-4o"
    named = pairs.replace({"A": "gpt-4o", "B": "llama"})
    assert calib.interval(named).one().interval == result.interval


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:weak_judge")
def test_d_a_win_rate_for_each_of_several_models(pairs):
    names = np.array(["gpt-4o", "llama", "claude"])
    many = pairs.assign(model_a=names[np.arange(N) % 3], model_b=names[(np.arange(N) + 1) % 3])
    results = calib.interval(many)
    assert [label["system"] for label in results.labels] == list(names)
    value = {"A": 1.0, "B": 0.0, "tie": 0.5}
    one = many[(many["model_a"] == "llama") | (many["model_b"] == "llama")]
    sides = [one[name].map(value) for name in ("human_winner", "judge_winner")]
    y, f = (side.where(one["model_a"] == "llama", 1 - side) for side in sides)
    expected = calib.stats.ppi_mean(y, f, bounds=(0, 1), step=0.5)
    assert results.select(system="llama").one().estimate == pytest.approx(expected.estimate)


@pytest.fixture
def annotated(one_file):
    rng = np.random.default_rng(1)
    said = {}
    for k in (1, 2, 3):
        moved = (one_file["label"] + rng.integers(-1, 2, N)).clip(1, 5)
        said[f"annotator_{k}"] = moved.mask(rng.random(N) < 0.1)
    return one_file.drop(columns="label").assign(**said)


def people_by_hand(frame):
    names = [name for name in frame if name.startswith("annotator")]
    rows = frame.melt("id", names, "rater", "score").dropna().rename(columns={"id": "item"})
    return rows.assign(criterion="quality", scale=SCALE)


@pytest.mark.slow
def test_e_annotators_as_columns_or_in_a_column(annotated, write, capsys, tmp_path):
    judge = one_by_hand(annotated.assign(label=1))[0]
    people = people_by_hand(annotated)
    expected = numbers(calib.interval(judge, calib.summarize(people, pool="rater")))
    assert numbers(calib.interval(annotated, scale=SCALE)) == expected
    rows = people[["item", "rater", "score"]].rename(columns={"item": "id", "rater": "annotator"})
    scores = annotated[["id", "gpt4"]]
    assert numbers(calib.interval(scores, rows, scale=SCALE)) == expected
    reliable = calib.reliability(calib.summarize(people)).one()
    for given in ((annotated,), (rows,), (rows, scores)):
        found = calib.reliability(*given)
        assert (found.one().alpha.estimate, found.labels[0]["n_raters"]) == (reliable.alpha.estimate, 3)
    path = write(annotated, "three.csv")
    assert by_shell(capsys, tmp_path, "interval", path, "--scale", SCALE)[0] == firsts(expected)
    assert shell(capsys, "reliability", path)[0] == 0
    assert len(calib.alternative_annotator_test(annotated).one().annotators) == 3


# --- what columns are taken for -------------------------------------------------------------------------------------


def frame(n=40, labelled=15, **more):
    rng = np.random.default_rng(2)
    people = rng.integers(1, 6, n)
    judge = (people + rng.integers(-1, 2, n)).clip(1, 5)
    label = np.where(np.arange(n) < labelled, people, np.nan)
    return pd.DataFrame({"id": [f"q{k}" for k in range(n)], "judge": judge, "label": label, **more})


RECOGNISED = [
    ({"judge": "grade", "label": "expert"}, {"grade": "judge", "expert": "label"}),
    ({"judge": "gpt-4o", "label": "alice"}, {"gpt-4o": "judge", "alice": "label"}),
    ({"judge": "score", "label": "alice"}, {"score": "judge", "alice": "label"}),
    ({"judge": "LLM Score", "label": "Human Rating"}, {"LLM Score": "judge", "Human Rating": "label"}),
    ({"judge": "prediction", "label": "ground_truth"}, {"prediction": "judge", "ground_truth": "label"}),
    ({"id": "example_id"}, {"example_id": "item"}),
]


@pytest.mark.parametrize(("called", "expected"), RECOGNISED)
def test_columns_are_recognised_by_name_and_by_what_is_blank(called, expected):
    found = roles(infer_tables(frame().rename(columns=called)))
    assert {name: found[name] for name in expected} == expected


def test_what_else_a_file_has_is_recognised_or_left():
    n = 40
    texts = {"question": [f"What is {k}?" for k in range(n)], "answer": [f"It is {k}." for k in range(n)]}
    design = {"doc_id": [k // 2 for k in range(n)], "model": ["a", "b"] * (n // 2)}
    found = infer_tables(frame(**design, **texts, latency_ms=range(n)))
    expected = {"doc_id": "group", "model": "system", "question": "source", "answer": "output", "latency_ms": "other"}
    assert {name: role for name, role in roles(found).items() if name in expected} == expected
    assert list(found.items) == ["item", "source", "output", "group", "system"]
    assert found.scores["latency_ms"].tolist() == list(range(n))


def test_each_guess_can_be_said_otherwise():
    mine = frame().rename(columns={"judge": "one", "label": "two"}).assign(three=1, judge=2, label=3, z=["a", "b"] * 20)
    found = infer_tables(mine, item="id", judge="one", label="two", system="z", scale="1|2|3|4|5")
    assert {name: roles(found)[name] for name in ("one", "two", "z")} == {"one": "judge", "two": "label", "z": "system"}
    assert (len(found.scores), len(found.labels), found.guessed_scale) == (40, 15, False)
    assert set(found.scores["rater"]) == {"one"}
    both = infer_tables(mine, judge=["one", "three"], label="two")
    assert set(both.scores["rater"]) == {"one", "three"}


@pytest.mark.parametrize("kind", ["system", "rater", "criterion"])
def test_what_several_columns_stand_for_can_be_said(truth, kind):
    people, judge = truth
    found = infer_tables(wide_of(judge), wide_of(people, LABELLED), wide=kind)
    assert set(found.scores[kind]) == set(MODELS)
    assert f"as {'judges' if kind == 'rater' else 'the judge of several'}" in in_words(found)[0]


@pytest.mark.slow
def test_several_judges_beside_one_label_are_judges():
    found = infer_tables(frame().rename(columns={"judge": "gpt-4o"}).assign(claude=3))
    assert set(found.scores["rater"]) == {"gpt-4o", "claude"}
    assert calib.rank_judges(frame().rename(columns={"judge": "gpt-4o"}).assign(claude=[3, 4] * 20)).one().names


@pytest.mark.slow
def test_criteria_on_both_sides_by_their_stems():
    mine = frame().rename(columns={"judge": "judge_tone", "label": "human_tone"})
    mine = mine.assign(judge_depth=mine["judge_tone"], human_depth=mine["human_tone"])
    found = infer_tables(mine)
    assert (set(found.scores["criterion"]), set(found.labels["criterion"])) == ({"tone", "depth"},) * 2
    assert set(infer_tables(mine, criterion="tone").scores["criterion"]) == {"tone"}


@pytest.mark.slow
def test_a_guess_of_the_scale_is_said_with_the_number():
    results = calib.interval(frame())
    assert results.labels[0]["scale"] == "1|2|3|4|5, guessed"
    assert calib.conclusions(results)[0].endswith("; scale 1|2|3|4|5, guessed.")
    said = calib.interval(frame(), scale=SCALE)
    assert "scale" not in said.labels[0]
    (_, *narrow), (_, *wide) = numbers(results)[0], numbers(said)[0]
    assert np.diff(narrow) <= np.diff(wide)  # a guess does not widen
    crowded = frame().assign(label=[5.0] * 11 + [1.0, 2.0, 3.0, 4.0] + [np.nan] * 25)
    assert numbers(calib.interval(crowded)) == numbers(calib.interval(crowded, scale=SCALE))


# --- nothing wrong passes silently ----------------------------------------------------------------------------------


def split(mine):
    return mine[["id", "judge"]], mine[["id", "label"]].dropna()


def tables_of(mine):
    """The judge's scores and the labels as tables of calib's."""
    sides = zip(split(mine), ("judge", "label"), strict=True)
    return [calib.scores_from(one, item="id", score=name, rater=f"by {name}") for one, name in sides]


def refused(match, *given, **said):
    with pytest.raises(ValueError, match=match):
        calib.interval(*given, **said)


@pytest.mark.slow
def test_swapped_files_are_turned_by_name_or_refused_by_size():
    scores, labels = split(frame())
    expected = numbers(calib.interval(scores, labels))
    with pytest.warns(CalibWarning, match="by the names of their columns: taken in that order"):
        assert numbers(calib.interval(labels, scores)) == expected
    plain = [one.set_axis(["id", "score"], axis=1) for one in (labels, scores)]
    refused("labels 40 items and `scores` scores 15 of a judge: the judge's file comes first", *plain)
    with pytest.warns(CalibWarning) as said:
        calib.interval(*plain, judge="score", label="score")
    assert any("the wrong way round" in str(one.message) for one in said)


def test_swapped_tables_of_calibs_are_warned_of_or_refused():
    scores, labels = tables_of(frame())
    with pytest.warns(CalibWarning, match="40 items are labelled, 25 of them without a score, and 15 are scored"):
        calib.interval(labels, scores)
    judged, people = scores.assign(method="sample"), labels.assign(method="human")
    refused("`labels` must be people's labels, but these are a judge's", people, judged)
    assert calib.interval(judged, people).one().n_labels == 15


@pytest.mark.slow
def test_labels_without_a_score_are_in_the_sentence():
    scores, labels = split(frame())
    more = pd.concat([labels, pd.DataFrame({"id": ["x1", "x2"], "label": [3, 4]})])
    with pytest.warns(CalibWarning, match="2 of 17 labelled items have no score of the judge.*'x1' and 'x2'"):
        results = calib.interval(scores, more)
    assert results.labels[0]["n_unmatched"] == 2
    assert "; 2 labels of items without a judge score were left out" in calib.conclusions(results)[0]
    most = labels.assign(id=[f"x{k}" if k > 3 else one for k, one in enumerate(labels["id"])])
    with pytest.warns(CalibWarning, match="11 of 15 labelled items have no score of the judge.*'x4' and 'x5'"):
        taken = calib.interval(scores, most, min_labels=2)
    assert taken.labels[0]["n_unmatched"] == 11


@pytest.mark.slow
def test_scores_that_are_missing_are_counted(truth):
    mine = frame().assign(judge=lambda rows: rows["judge"].where(rows.index != 3))
    results = calib.interval(mine)
    assert results.labels[0]["n_unread"] == 1
    assert "; 1 item whose judge score is missing was left out" in calib.conclusions(results)[0]
    people, judge = truth
    gap = judge.astype(float)
    gap.loc["q0"] = np.nan
    apart = calib.difference(wide_of(gap), wide_of(people, LABELLED), "gpt-4o", "llama")
    assert apart.labels[0]["n_unread"] == 2
    assert "2 items whose judge score is missing were left out" in calib.conclusions(apart)[0]


@pytest.mark.slow
def test_ids_that_do_not_match_are_shown_from_both_sides():
    scores, labels = split(frame())
    other = labels.assign(id="r" + labels["id"])
    refused("no id is in both: `id` of `scores` has 'q0' and 'q1', `id` of `labels` has 'rq0' and 'rq1'", scores, other)
    upper = labels.assign(id=labels["id"].str.upper())
    expected = numbers(calib.interval(scores, labels))
    with pytest.warns(CalibWarning, match="ids of 15 of 15 labelled items are spelled otherwise"):
        assert numbers(calib.interval(scores, upper)) == expected
    with pytest.warns(CalibWarning, match="`id`: 15 ids were read without the blanks around them"):
        assert numbers(calib.interval(scores, labels.assign(id=labels["id"] + " "))) == expected
    number = [one.assign(id=one["id"].str[1:].astype(int)) for one in (scores, labels)]
    assert numbers(calib.interval(number[0], number[1].assign(id=number[1]["id"].astype(float)))) == expected
    with pytest.warns(CalibWarning, match="ids such as '0.0' are taken as '0'"):
        pointed = number[1].assign(id=number[1]["id"].astype(float).astype(str))
        assert numbers(calib.interval(number[0], pointed)) == expected


@pytest.mark.slow
def test_rows_that_are_there_twice(write):
    scores, labels = split(frame())
    expected = numbers(calib.interval(scores, labels))
    with pytest.warns(CalibWarning, match="1 rows repeat others"):
        assert numbers(calib.interval(scores, pd.concat([labels, labels.head(1)]))) == expected
    other = pd.concat([labels, labels.head(1).assign(label=6 - labels["label"].iloc[0])])
    path = write(other, "labels.csv")
    refused("labels.csv: column `id`: 'q0'.* several scores by 'human', in line 2 .* and line 17", scores, path)


def test_a_wide_file_against_a_long_one_without_systems(truth):
    people, judge = truth
    one = wide_of(people, LABELLED)[["id", "llama"]].rename(columns={"llama": "label"})
    refused("`system` must be a column of `labels` as well", long(judge, "score"), one)
    refused(
        "`system` must be a column of `scores` as well",
        wide_of(judge)[["id", "llama"]].rename(columns={"llama": "score"}),
        long(people, "label", LABELLED).replace({"gpt-4o": "first"}),
    )


def test_a_column_of_who_labelled_that_nobody_named():
    scores, labels = split(frame())
    two = pd.concat([labels.assign(initials="kl"), labels.assign(initials="mn", label=6 - labels["label"])])
    refused("name it: system, criterion, annotator, rater", scores, two)
    assert infer_tables(scores, two, annotator="initials").annotations["rater"].nunique() == 2


def test_messages_name_the_users_column_and_line(write):
    path = write(frame().assign(label=lambda rows: rows["label"].mask(rows.index == 4, 9)), "results.csv")
    refused("results.csv: column `label`, line 6: must lie on the scale 1|2|3|4|5, but got '9'", path, scale=SCALE)
    refused(
        "`label` must be a column, but got 'lable' .did you mean 'label'..: results.csv has 'id', 'judge', 'label'",
        path,
        label="lable",
    )
    refused("`label` must name people's labels", frame().drop(columns="label"))
    refused("`judge` must name the judge's scores", split(frame())[1], estimator="ppi")
    refused("`labels` must be given", calib.scores_from(split(frame())[0], item="id", score="judge"))
    theirs = "`label` describes your own file, but the files are tables of calib's"
    refused(theirs, *tables_of(frame()), label="label")
    with pytest.raises(TypeError, match="unexpected keyword argument 'judges'"):
        calib.interval(frame(), judges="label")


def test_a_judge_on_another_scale_is_said_and_a_slip_refused():
    scores, labels = split(frame())
    with pytest.warns(CalibWarning, match=r"the judge's scores of quality \(20 to 100\) are on another scale"):
        results = calib.interval(scores.assign(judge=scores["judge"] * 20), labels)
    assert results.labels[0]["scale"] == "1|2|3|4|5, guessed"
    slip = scores.assign(judge=scores["judge"].mask(scores.index == 7, 55))
    refused("column `judge`, row 7: must lie on the scale", slip, labels, scale=SCALE)


@pytest.mark.slow
@pytest.mark.parametrize(("judge", "label"), [("p_good", "rating"), ("auto_eval", "quality"), ("judge", "score")])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")
def test_labels_beside_a_judge_of_chances_are_found_where_the_judge_is_named(judge, label, full):
    rng = np.random.default_rng(1)
    grades = pd.Series(rng.integers(1, 6, 80)).where((np.arange(80) < 40) | full)
    frame = pd.DataFrame({"id": range(80), judge: rng.random(80).round(3), label: grades, "tokens": range(100, 180)})
    found = calib.look(frame, judge=judge)
    assert {one.column: one.role for one in found.columns} == {
        "id": "item", judge: "judge", label: "label", "tokens": "other",
    }  # fmt: skip
    assert found.intake.scale == "1|2|3|4|5"
    assert calib.calibrate(frame, judge=judge).one().levels.tolist() == [1, 2, 3, 4, 5]


def test_what_else_stands_beside_a_judge_is_no_label():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"id": range(80), "judge": rng.random(80), "heat": rng.normal(50, 9, 80)})
    frame["notes"] = range(3, 83)
    assert not [one.column for one in calib.look(frame, judge="judge").columns if one.role == "label"]


@pytest.mark.slow
def test_a_table_of_calibs_beside_a_file_of_ones_own():
    scores, labels = split(frame())
    table_of = calib.scores_from(scores, item="id", score="judge", rater="gpt", criterion="tone", scale=SCALE)
    expected = numbers(
        calib.interval(table_of, calib.scores_from(labels, item="id", score="label", criterion="tone", scale=SCALE))
    )
    results = calib.interval(table_of, labels)
    assert numbers(results) == expected
    assert (results.labels[0]["criterion"], results.labels[0]["rater"]) == ("tone", "gpt")
    assert "scale" not in results.labels[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no_scale")
def test_hostile_names_are_shown_harmless(write, capsys):
    mine = frame().rename(columns={"judge": "judge\x1b[31m", "label": "=label<b>"})
    code, _, err = shell(capsys, "interval", write(mine, "results.csv"))
    assert code == 0
    assert "\x1b" not in err
    refused(re.escape("\\x1b"), mine, judge="x\x1b")


@pytest.mark.parametrize(
    ("name", "meant"), [("accuracy", "exact"), ("rho", "spearman"), ("tau", "kendall"), ("r", "pearson")]
)
def test_a_coefficient_by_another_name_leads_to_the_right_one(name, meant):
    with pytest.raises(ArgumentError, match=f"got '{name}', which is called '{meant}' here"):
        calib.agreement(frame(), method=name)


@pytest.mark.slow
def test_frames_of_every_type_of_column():
    mine = frame()
    expected = numbers(calib.interval(mine))
    label, n = mine["label"].astype("Int64"), len(mine)
    typed = mine.assign(id=mine["id"].astype("category"), judge=mine["judge"].astype("Int64"), label=label)
    typed = typed.assign(tags=[[1, 2]] * n, when=pd.Timestamp("2026-01-01"), note=pd.array(["x"] * n, dtype="string"))
    assert numbers(calib.interval(typed)) == expected
    assert numbers(calib.interval(mine.set_index("id"))) == expected
    assert numbers(calib.interval(mine.assign(judge=mine["judge"].astype(str).astype("category")))) == expected


def test_two_files_of_one_name_are_called_by_their_folders(tmp_path):
    paths = [tmp_path / name / "scores.csv" for name in ("judge", "people")]
    for path, column in zip(paths, ("gpt-4o", "label"), strict=True):
        path.parent.mkdir()
        pd.DataFrame({"id": ["a", "b", "c"], column: [4, 2, 5]}).to_csv(path, index=False)
    assert [source.name for source in infer_tables(*paths).sources] == [str(path) for path in paths]
