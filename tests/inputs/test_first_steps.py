"""What files answer before there are labels, several criteria side by side, and what notes say of cells."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib import cli
from calib.inputs.tables import infer_tables

RNG = np.random.default_rng(35)
IDS = [f"q{k}" for k in range(60)]
JUDGE = pd.DataFrame({"id": IDS, "gpt-4o": RNG.integers(1, 6, 60)})
CRITERIA = pd.DataFrame({"id": IDS, "coherence": RNG.integers(1, 6, 60), "fluency": RNG.integers(1, 6, 60)})


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main(list(map(str, arguments)))
    said = capsys.readouterr()
    return ended.value.code, " ".join(said.out.split()), " ".join(said.err.split())


@pytest.fixture
def written(tmp_path):
    def path_of(frame, name="judge.csv"):
        frame.to_csv(tmp_path / name, index=False)
        return tmp_path / name

    return path_of


def test_a_plan_needs_no_labels_and_no_numbers(written, capsys):
    code, said, _ = run(capsys, "plan")
    assert code == 0
    assert "25 0.4128 0.3676" in said
    assert "1,000 items" in said
    code, said, _ = run(capsys, "plan", written(JUDGE))
    assert code == 0
    sd = JUDGE["gpt-4o"].std()
    assert f"50 {2.009575 * sd / np.sqrt(50):.4g}"[:8] in said
    for option in ("--half-width", "--price-label"):
        code, _, err = run(capsys, "plan", written(JUDGE), option, 1)
        assert code == 2
        assert f"{option} needs a pilot" in err


def test_unlabelled_rows_are_no_unmatched_labels():
    frame = JUDGE.assign(human=JUDGE["gpt-4o"].where(JUDGE.index < 20))
    label = calib.agreement(frame).labels[0]
    assert (label["n_unlabelled"], label["n_unmatched"]) == (40, 0)


def test_a_note_names_what_was_forgiven():
    words = np.where(JUDGE["gpt-4o"] > 3, "pass", "fail")
    frame = pd.DataFrame({"id": IDS, "judge": words, "human": np.char.upper(words)})
    frame.loc[:9, "human"] = words[:10]
    (note,) = [note for note in infer_tables(frame).notes if "in spite of" in note]
    assert "`human`: 10 cells were read in spite of upper and lower case or" in note
