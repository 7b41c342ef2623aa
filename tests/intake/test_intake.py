"""Files of one's own: what they are taken for, the same numbers as from tables made by hand, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest

import calib
from calib import cli, table
from calib.core.check import CalibWarning

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


def wide(frame, rows=N):
    return frame.head(rows).rename_axis("id").reset_index()


def long(frame, value, rows=N):
    return wide(frame, rows).melt("id", var_name="model", value_name=value)


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
    "wide": lambda people: wide(people, LABELLED),
    "long": lambda people: long(people, "label", LABELLED),
    "wide with another order": lambda people: wide(people, LABELLED)[["id", *reversed(MODELS)]].iloc[::-1],
    "long, spelled otherwise": lambda people: long(people, "label", LABELLED).replace({"gpt-4o": "GPT_4o"}),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.filterwarnings("ignore:the labels spell")
def test_a_a_column_of_scores_for_each_model(truth, write, capsys, tmp_path, kind):
    people, judge = truth
    scores, labels = write(wide(judge), "judge.csv"), write(LABELS[kind](people), "labels.csv")
    tables = by_hand(judge, "judge"), by_hand(people, "human", LABELLED)
    expected = numbers(calib.interval(*tables, by="system"))
    assert numbers(calib.interval(scores, labels, by="system")) == expected
    code, _, err = shell(capsys, "interval", scores, labels, "--by", "system", "--out", tmp_path / "out.csv")
    assert code == 0, err
    assert table.read_frame(tmp_path / "out.csv")["estimate"].tolist() == [row[0] for row in expected]
    assert "judge.csv: `id` as ids, `gpt-4o`, `llama`, `claude` and `mistral` as the judge" in err
    apart = numbers(calib.difference(*tables, "gpt-4o", "llama"))
    assert numbers(calib.difference(scores, labels, "gpt-4o", "llama")) == apart
    code, _, err = shell(capsys, "difference", scores, labels, "gpt-4o", "llama", "--out", tmp_path / "d.csv")
    assert code == 0, err
    assert table.read_frame(tmp_path / "d.csv")["estimate"].tolist() == [apart[0][0]]


def test_a_long_scores_and_wide_labels(truth):
    people, judge = truth
    expected = numbers(calib.interval(by_hand(judge, "judge"), by_hand(people, "human", LABELLED), by="system"))
    assert numbers(calib.interval(long(judge, "score"), wide(people, LABELLED), by="model")) == expected


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


def test_one_file_with_judge_and_labels(one_file, write, capsys, tmp_path):
    expected, path = numbers(calib.interval(*one_by_hand(one_file))), write(one_file, "results.csv")
    for given in (one_file, path, str(path)):
        assert numbers(calib.interval(given)) == expected
        assert calib.agreement(given).one().estimate == calib.agreement(*one_by_hand(one_file)).one().estimate
    code, out, err = shell(capsys, "interval", path, "--out", tmp_path / "out.csv")
    assert code == 0
    assert table.read_frame(tmp_path / "out.csv")["conf_low"].tolist() == [expected[0][1]]
    told = "results.csv: `id` as ids, `gpt4` as the judge, `label` as labels (40 of 120); scale 1|2|3|4|5 (guessed)"
    assert err == f"calib: {told}\n"
    assert "scale 1|2|3|4|5, guessed." in out
    assert shell(capsys, "agree", path)[0] == 0


WORDS = {1: "poor", 2: "poor", 3: "fair", 4: "good", 5: "good"}


@pytest.mark.parametrize("scale", ["poor|fair|good", "poor=0|fair=1|good=2"])
def test_b_words_as_labels_with_blanks_and_case(one_file, write, capsys, scale):
    said = one_file.assign(gpt4=one_file["gpt4"].map(WORDS), label=one_file["label"].map(WORDS))
    values = {"poor": 0, "fair": 1, "good": 2}
    valued = said.assign(**{name: said[name].map(values) for name in ("gpt4", "label")})
    expected = numbers(calib.interval(*one_by_hand(valued, "0|1|2")))
    messy = said.assign(label=said["label"].mask(said.index < 3, said["label"].str.upper() + " "))
    with pytest.warns(CalibWarning, match="`label`: 3 cells were read in spite of blanks"):
        assert numbers(calib.interval(messy, scale=scale)) == expected
    assert numbers(calib.interval(said)) == expected
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, _, err = shell(capsys, "interval", write(messy, "words.csv"), "--scale", scale)
    assert code == 0
    assert "3 cells were read" in err


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
    return calib.stats.ppi_win_rate(pairs["human_winner"].map(value), pairs["judge_winner"].map(value))


def test_d_win_rate_of_the_first(pairs, write, capsys):
    result, expected = calib.interval(pairs).one(), by_arrays(pairs)
    assert (result.estimate, *result.interval) == pytest.approx((expected.estimate, *expected.interval), rel=1e-12)
    assert result.estimand == "human win rate"
    code, out, err = shell(capsys, "interval", write(pairs, "pairs.csv"))
    assert code == 0, err
    assert f"Human win rate of A is {expected.estimate:.4g}, 95 % CI" in out
    assert "Mean" not in out


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
    assert results.select(system="llama").one().estimate == pytest.approx(calib.stats.ppi_win_rate(y, f).estimate)


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


def test_e_annotators_as_columns_or_in_a_column(annotated, write, capsys, tmp_path):
    judge = one_by_hand(annotated.assign(label=1))[0]
    people = people_by_hand(annotated)
    expected = numbers(calib.interval(judge, calib.summarize(people, pool="rater")))
    assert numbers(calib.interval(annotated)) == expected
    rows = people[["item", "rater", "score"]].rename(columns={"item": "id", "rater": "annotator"})
    scores = annotated[["id", "gpt4"]]
    assert numbers(calib.interval(scores, rows)) == expected
    reliable = calib.reliability(calib.summarize(people)).one()
    for given in ((annotated,), (rows,), (rows, scores)):
        found = calib.reliability(*given)
        assert (found.one().alpha.estimate, found.labels[0]["n_raters"]) == (reliable.alpha.estimate, 3)
    path = write(annotated, "three.csv")
    assert shell(capsys, "interval", path, "--out", tmp_path / "out.csv")[0] == 0
    assert table.read_frame(tmp_path / "out.csv")["estimate"].tolist() == [expected[0][0]]
    assert shell(capsys, "reliability", path)[0] == 0
    assert len(calib.alternative_annotator_test(annotated).one().annotators) == 3


def test_f_frames_of_other_packages_and_sheets(one_file, tmp_path):
    expected = numbers(calib.interval(one_file))
    pa = pytest.importorskip("pyarrow")
    assert numbers(calib.interval(pa.Table.from_pandas(one_file))) == expected
    one_file.to_parquet(tmp_path / "results.parquet")
    assert numbers(calib.interval(tmp_path / "results.parquet")) == expected
    assert numbers(calib.interval(one_file.to_dict("list"))) == expected
    polars = pytest.importorskip("polars")
    assert numbers(calib.interval(polars.from_pandas(one_file))) == expected
    pytest.importorskip("openpyxl")
    one_file.to_excel(tmp_path / "results.xlsx", index=False)
    assert numbers(calib.interval(tmp_path / "results.xlsx")) == expected
