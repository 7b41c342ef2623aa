"""The shell on the commonest study: sixty labels at random over four systems, and three judges in one file."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib import cli, table


@pytest.fixture
def study(tmp_path):
    """Scores of three judges on a hundred texts by four systems; labels of sixty of the answers."""
    rng = np.random.default_rng(0)
    design = pd.DataFrame([(f"{g}/{s}", f"g{g}", s) for g in range(100) for s in "ABCD"])
    design.columns = ["item", "group", "system"]
    truth = np.clip(np.rint(rng.normal(3, 1, len(design)) + 0.3 * (design["system"] == "A")), 1, 5)
    said = {f"judge {k}": np.clip(truth + rng.normal(size=len(truth)), 1, 5) for k in range(3)}
    whole = {"criterion": "tone", "scale": "1|2|3|4|5"}
    judges = pd.concat([design.assign(rater=name, score=score, **whole) for name, score in said.items()])
    people = design[["item"]].assign(rater="ann", score=truth, **whole).sample(60, random_state=3)
    return {name: table.write(frame, tmp_path / f"{name}.csv") for name, frame in (("s", judges), ("g", people))}


def said(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return ended.value.code, " ".join(out.split()), err


def test_sixty_labels_over_four_systems_give_a_difference(capsys, study, tmp_path):
    code, out, err = said(
        capsys, "difference", *study.values(), "A", "B", "--pool", "rater", "--out", tmp_path / "d.csv"
    )
    assert (code, err[:6]) == (0, "next: ")
    frames = [table.read(path, "scores") for path in study.values()]
    expected = calib.difference(*frames, "A", "B", pool="rater").one()
    assert f"from {expected.labels_in_words} and judge scores of 100 inputs" in out
    row = table.read_frame(tmp_path / "d.csv").iloc[0]
    assert (row["n_paired"], row["n_a_only"], row["n_b_only"]) == (2, 13, 11)
    assert row["estimate"] == expected.estimate


@pytest.mark.filterwarnings("ignore:labels_alone")
def test_judges_are_pooled_with_one_word(capsys, study, tmp_path):
    code, out, err = said(capsys, "interval", *study.values(), "--by", "system", "--pool", "rater")
    assert code == 0, err
    assert "mean of 3 raters" in out
    code, out, err = said(capsys, "interval", *study.values(), "--by", "system", "--pool", "item")
    assert code == 2
    assert "--pool must be one of 'rater', but got 'item'" in err
