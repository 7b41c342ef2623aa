"""What a name leaves open is refused with the option that says it, and never read as something else in silence."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib import cli
from calib.core.check import CalibWarning
from calib.inputs.names import no_score, read_name

RNG = np.random.default_rng(5)
TRUTH = np.repeat(RNG.normal(3, 1, 30), 3)


def grades(noise):
    return np.clip(np.round(TRUTH + RNG.normal(0, noise, 90)), 1, 5)


ONE = pd.DataFrame({
    "id": [f"d{k // 3}-m{k % 3}" for k in range(90)],
    "document": [f"d{k // 3}" for k in range(90)],
    "model": [f"m{k % 3}" for k in range(90)],
    "output": ["word " * (5 + k * 7 % 30) for k in range(90)],
    "judge": grades(0.6),
    "human": np.where(np.arange(90) < 56, grades(0.5), np.nan),
})  # fmt: skip
FULL = ONE[["id", "document"]].assign(gpt4=grades(0.5), claude=grades(0.8), ann=grades(0.5), bob=grades(0.6))
HUMAN = ONE[["id", "human"]].assign(human=grades(0.4))
JUDGE = ONE.drop(columns="human")
DRAWS = pd.DataFrame({
    "id": np.repeat(ONE["id"], 8).to_numpy(),
    "wording": np.tile(np.repeat(["p1", "p2"], 4), 90),
    "judge": np.clip(np.round(np.repeat(TRUTH, 8) + RNG.normal(0, 0.7, 720)), 1, 5),
})  # fmt: skip


def roles(*frames, **columns):
    return {one.column: one.role for one in calib.look(*frames, **columns).columns}


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main(list(map(str, arguments)))
    said = capsys.readouterr()
    return ended.value.code, said.out, " ".join(said.err.split())


# --- names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["n_labels", "min_labels", "label_threshold", "labels_alone", "label_seconds", "labels_needed", "labels_saved",
     "n_labels_unmatched", "price_label", "judge_threshold", "judge_sd", "label_factor"],
)  # fmt: skip
def test_columns_of_results_are_no_scores(name):
    assert no_score(name)
    assert roles(ONE.assign(**{name: 3}))[name] == "other"
    assert calib.interval(ONE.assign(**{name: 3})).estimate == calib.interval(ONE).estimate


@pytest.mark.parametrize(
    ("side", "name"),
    [("label", "label_mean"), ("label", "label_rate"), ("label", "human_foo"), ("judge", "judge_strict"),
     ("judge", "judge_human")],
)  # fmt: skip
def test_a_column_beside_the_one_of_that_name_may_be_more_of_it_or_not(side, name, tmp_path, capsys):
    frame, own = ONE.assign(**{name: 2.0}), {"label": "human", "judge": "judge"}[side]
    said = f"`{side}` must name all columns of .* but `{name}`, beside `{own}`, may be more of them or not"
    with pytest.raises(calib.table.TableError, match=said):
        calib.interval(frame)
    assert calib.interval(frame, **{side: own}).estimate == calib.interval(ONE).estimate
    assert f"`{name}`, beside `{own}`" in " ".join(str(calib.look(frame)).split())
    frame.to_csv(tmp_path / "one.csv")
    assert f"--{side} must name all columns" in run(capsys, "interval", tmp_path / "one.csv")[2]


@pytest.mark.parametrize("name", ["human_2", "annotator_b", "human_gpt-4o", "judge_2", "judge_gpt-4o"])
def test_numbers_persons_and_models_are_raters(name):
    assert roles(ONE.assign(**{name: grades(0.5)}))[name] == name.partition("_")[0].replace("human", "label").replace(
        "annotator", "label"
    )


@pytest.mark.parametrize(
    ("name", "side"),
    [("judge_label", "judge"), ("llm_label", "judge"), ("label_llm", "judge"), ("llm_annotator_1", "judge"),
     ("gpt-4o_label", "judge"), ("predicted_label", "judge"), ("human_label", "label"), ("human_judge", "label"),
     ("label_gpt-4o", "label"), ("label_model_a", "label"), ("expert_annotation", "label")],
)  # fmt: skip
def test_a_word_for_a_judge_comes_before_one_for_labels(name, side):
    assert read_name(name).side == side
    assert roles(ONE[["id", "output"]].assign(**{name: grades(0.5)}, score=grades(0.5)))[name] == side


def test_an_llm_is_no_annotator():
    found = calib.agreement(ONE.assign(judge_label=ONE["judge"]))
    assert found[0].estimate == calib.agreement(ONE).estimate
    with pytest.raises(ValueError, match="must have 2 raters"):
        calib.reliability(ONE.rename(columns={"judge": "llm_label", "human": "human_label"}))


# --- two files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [JUDGE, HUMAN, FULL, ONE])
def test_a_file_is_not_held_against_itself(frame, tmp_path, capsys):
    with pytest.raises(calib.table.TableError, match=r"`labels` must be another file or frame.*given once, alone"):
        calib.agreement(frame, frame.copy())
    path = tmp_path / "one.csv"
    frame.to_csv(path, index=False)
    code, _, said = run(capsys, "interval", path, path)
    assert code == 2
    assert "LABELS must be another file or frame, but has the rows of FILE (one.csv)" in said
    assert "must be another file" in str(calib.look(path, path)).replace("\n    ", " ")


def test_a_judges_column_is_not_taken_for_labels_nor_people_for_the_judge():
    with pytest.raises(calib.table.TableError, match=r"`label` must name .* but `judge` says that it holds a judge's"):
        calib.agreement(JUDGE, JUDGE.assign(judge=grades(0.9)))
    with pytest.raises(calib.table.TableError, match=r"`judge` must name .* but `human` says that it holds people's"):
        calib.agreement(HUMAN, HUMAN.assign(human=grades(0.9)))
    with pytest.raises(calib.table.TableError, match=r"`label` must name .* but `judge` says that it holds a judge's"):
        calib.reliability(ONE[["id", "judge"]])
    said = calib.agreement(JUDGE, JUDGE.assign(judge=ONE["human"]), label="judge")
    assert said.estimate == pytest.approx(calib.agreement(ONE).estimate)


@pytest.mark.parametrize("verb", [calib.rank_judges, calib.agreement, calib.compare])
def test_people_in_the_first_file_are_no_judges(verb):
    with pytest.raises(calib.table.TableError, match=r"`judge` must name all .* but `ann` and `bob`, beside `gpt4`"):
        verb(FULL, HUMAN)
    assert verb(FULL, HUMAN, judge=["gpt4", "claude"]).to_frame() is not None
    assert roles(FULL)["ann"] == "label"


# --- readings ---------------------------------------------------------------------------------------------------


def test_a_column_that_may_say_the_prompt_is_warned_of():
    with pytest.warns(CalibWarning, match="readings of one item differ in `wording` and are taken as alike"):
        calib.convergence(DRAWS, rng=1)
    with pytest.warns(CalibWarning, match="differ in `prompt_id`"):
        calib.convergence(DRAWS.assign(prompt_id=(DRAWS["wording"] == "p1") * 1).drop(columns="wording"), rng=1)
    again = DRAWS.assign(judge=RNG.permutation(DRAWS["judge"]))
    with pytest.warns(CalibWarning, match="`wording`"):
        calib.drift(DRAWS, again)


@pytest.mark.filterwarnings("default")
def test_what_counts_the_readings_is_no_prompt(recwarn):
    calib.convergence(DRAWS.rename(columns={"wording": "run"}), rng=1)
    calib.sensitivity(DRAWS, prompt="wording")
    assert not [one for one in recwarn if "taken as alike" in str(one.message)]


@pytest.mark.filterwarnings("default")
def test_commands_of_readings_say_how_columns_were_read(tmp_path, capsys):
    one = DRAWS[DRAWS["wording"] == "p1"].drop(columns="wording")
    two = DRAWS[DRAWS["wording"] == "p2"].drop(columns="wording")
    paths = [tmp_path / name for name in ("draws.csv", "then.csv", "now.csv", "human.csv")]
    for path, frame in zip(paths, (DRAWS, one, two, HUMAN), strict=True):
        frame.to_csv(path, index=False)
    read = ": `id` as ids, `judge` as the judge; scale 1|2|3|4|5 (guessed)"
    _, _, said = run(capsys, "convergence", paths[1], "--labels", paths[3])
    assert f"then.csv{read}" in said
    assert "human.csv: `id` as ids, `human` as labels; scale" in said
    assert f"draws.csv{read}" in run(capsys, "sensitivity", paths[0], "--prompt", "wording")[2]
    _, _, said = run(capsys, "drift", *paths[1:3])
    assert f"then.csv{read}" in said
    assert f"now.csv{read}" in said


# --- reports, columns, folders, tables of items -----------------------------------------------------------------


def test_a_frame_alone_is_no_report(tmp_path):
    with pytest.raises(calib.ArgumentError, match=r"`results` must say what a frame is for.*calib\.look\(frame\)"):
        calib.report(ONE)
    ONE.to_csv(tmp_path / "one.csv", index=False)
    assert "How the columns were read" in calib.report(tmp_path / "one.csv").text
    assert "word word" in calib.report([ONE]).text


@pytest.mark.parametrize("argument", ["by", "groups", "strata", "weights", "features", "choose"])
def test_columns_are_named_as_in_the_file(argument):
    calls = {
        "choose": lambda: calib.choose(ONE, 5, by="topic"),
        "features": lambda: calib.bias(ONE, features=["topic"]),
    }
    with pytest.raises(calib.table.TableError, match=r"got 'topic'; there are 'document', 'model'\."):
        calls.get(argument, lambda: calib.interval(ONE, **{argument: "topic"}))()


@pytest.mark.parametrize("verb", [calib.interval, calib.agreement])
def test_a_folder_of_other_files_is_no_table(verb, tmp_path):
    ONE.to_csv(tmp_path / "one.csv")
    with pytest.raises(calib.ArgumentError, match=r"`scores` must be a file, .* is a folder without \.parquet files"):
        verb(tmp_path)


@pytest.mark.filterwarnings("ignore:one_annotator")
def test_a_file_of_ones_own_is_a_table_of_items(tmp_path, capsys):
    path = tmp_path / "one.csv"
    ONE.to_csv(path, index=False)
    plain = calib.bias(ONE, features=["length"])
    assert calib.bias(ONE, features=["length"], items=path).to_frame().equals(plain.to_frame())
    for command in (("bias", path), ("gate", path, "--system", "m1", "--threshold", "3")):
        code, _, said = run(capsys, *command, "--items", path)
        assert code != 2, said
        assert "is missing" not in said


@pytest.mark.parametrize("option", ["--n-labels", "--n-items", "--rho", "--sd"])
def test_what_is_for_a_plan_is_refused_without_it(option, tmp_path, capsys):
    ONE.to_csv(tmp_path / "one.csv", index=False)
    command = ("gate", tmp_path / "one.csv", "--system", "m1", "--threshold", "3", option, "1")
    assert f"{option} is for --plan" in run(capsys, *command)[2]
