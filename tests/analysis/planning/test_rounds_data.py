"""Labels bought in rounds: `choose(drawn, n, more=True)`, in tables, in files and in the shell."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

import calib
from calib import cli, stats
from calib.table.pairs import DESIGN

pytestmark = pytest.mark.slow

FIVE = "1|2|3|4|5"


def world(m=240, documents=80):
    rng = np.random.default_rng(0)
    f = rng.uniform(1, 5, m)
    judge = pd.DataFrame(
        {
            "item": [f"i{k}" for k in range(m)],
            "criterion": "coherence",
            "rater": "judge",
            "score": f,
            "scale": FIVE,
            "entropy": np.where(f > 3.5, 1.0, 0.1),
            "group": [f"d{k % documents}" for k in range(m)],
            "system": np.where(np.arange(m) < m * 3 // 4, "big", "small"),
        }
    )
    human = judge[["item", "criterion"]].assign(rater="ann", scale=FIVE, score=np.round(f + rng.normal(0, 0.5, m)))
    return judge, human.assign(score=human["score"].clip(1, 5))


JUDGE, HUMAN = world()


def said(function, *args, **options):
    with pytest.raises(ValueError) as caught:
        function(*args, **options)
    return str(caught.value)


def run(*arguments):
    with pytest.raises(SystemExit) as done:
        cli.main([str(a) for a in arguments])
    return done.value.code


@pytest.mark.parametrize(
    ("design", "options"),
    [("simple", {}), ("groups", {}), ("strata", {}), ("strata", {"on": "entropy"}), ("active", {})],
)
def test_a_further_round_is_that_of_the_arrays_and_interval_reads_both(design, options):
    drawn = calib.choose(JUDGE, 40, design=design, rng=3, **options)
    both = calib.choose(drawn, 20, more=True, rng=4, **options)
    assert list(both.columns) == list(drawn.columns)
    assert both.drop(columns=list(DESIGN)).equals(drawn.drop(columns=list(DESIGN)))
    assert (both["chosen"] >= drawn["chosen"]).all()
    pd.testing.assert_series_equal(both["stratum"].astype(int), drawn["stratum"].astype(int))
    first = stats.Choice(
        chosen=drawn["chosen"].to_numpy(),
        inclusion=drawn["inclusion"].to_numpy(),
        stratum=drawn["stratum"].to_numpy() if design == "strata" else None,
        design=design,
        n_chosen=int(drawn["chosen"].sum()),
        n=len(drawn),
        seed=None,
    )
    told = {"entropy": JUDGE["entropy"]} if design == "active" or options else {}
    told |= {"groups": JUDGE["group"].to_numpy()} if design == "groups" else {}
    wanted = stats.choose(JUDGE["score"], 20, after=first, rng=np.random.default_rng(4), **told)
    assert both["chosen"].tolist() == wanted.chosen.tolist()
    assert both["inclusion"].tolist() == pytest.approx(wanted.inclusion.tolist(), rel=1e-12)
    found = calib.interval(both, HUMAN[both["chosen"].to_numpy()]).one()
    assert found.n_labels == both["chosen"].sum()
    assert not [text for text in found.warnings if "gold_" in text]


def test_a_drawing_for_each_system_goes_on_for_each():
    drawn = calib.choose(JUDGE, 20, by="system", rng=1)
    both = calib.choose(drawn, 10, by="system", more=True, rng=1)
    assert both[both["chosen"]]["system"].value_counts().to_dict() == {"big": 30, "small": 30}
    assert both.groupby("system", observed=True)["inclusion"].first().to_dict() == {"big": 30 / 180, "small": 0.5}
    assert (both["stratum"] == drawn["stratum"]).all()
    # without `by` ten in all, by size, so that the small system, which has more than its share, gets none
    all_in_all = calib.choose(drawn, 10, more=True, rng=1)
    assert all_in_all[all_in_all["chosen"]]["system"].value_counts().to_dict() == {"big": 30, "small": 20}
    whole = calib.choose(JUDGE, 20, design="groups", by="system", rng=1)
    assert said(calib.choose, whole, 10, more=True).startswith("`by` must name the column within whose values")
    again = calib.choose(whole, 10, by="system", more=True, rng=1)
    assert set(again.groupby(["system", "group"], observed=True)["chosen"].nunique()) == {1}


def test_what_cannot_go_on_is_refused():
    drawn = calib.choose(JUDGE, 200, rng=1)
    assert "`scores` must have been drawn by `choose` before" in said(calib.choose, JUDGE, 5, more=True)
    assert "not chosen yet (40 of 240), but got 41" in said(calib.choose, drawn, 41, more=True)
    text = said(calib.choose, calib.choose(drawn, 40, more=True), 1, more=True)
    assert text.endswith("nothing is left to choose.")
    assert "must be that of `scores`, but got 'strata' after 'simple'" in said(
        calib.choose, drawn, 5, more=True, design="strata"
    )
    odd = drawn.assign(chosen=drawn["chosen"].astype(object).where(drawn.index != 3, "perhaps"))
    assert "column `chosen`, row 3: must be true or false, but got 'perhaps'" in said(calib.choose, odd, 5, more=True)
    gaps = drawn.assign(inclusion=drawn["inclusion"].where(drawn.index != 3))
    assert "must come whole from one drawing" in said(calib.choose, gaps, 5, more=True)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_shell_chooses_more(tmp_path, capsys, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    calib.table.write(JUDGE, tmp_path / "judge.csv")
    first, second = tmp_path / f"chosen.{ending}", tmp_path / f"chosen-2.{ending}"
    assert run("choose", tmp_path / "judge.csv", 40, "--out", first, "--design", "strata") == 0
    assert run("choose", first, 20, "--more", "--out", second) == 0
    assert "60 of 240 items to label (strata)" in capsys.readouterr().out
    calib.table.write(HUMAN, tmp_path / "human.csv")
    drawn = calib.table.read(second, "scores")
    in_memory = calib.choose(calib.choose(JUDGE, 40, design="strata", rng=1), 20, design="strata", more=True, rng=1)
    assert drawn["chosen"].astype(str).tolist() == in_memory["chosen"].astype(str).tolist()
    assert run("choose", second, 200, "--more", "--out", tmp_path / "x.csv") == 2
    assert "N must be at most the number of items that are not chosen yet (180 of 240)" in capsys.readouterr().err


# --- simulations ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("design", ["simple", "strata", "active"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_an_interval_after_two_rounds_holds_as_often_as_it_says(design, missing):
    """Of a judge that is too kind, in a design of its own uncertainty; some labels are missing by chance."""
    rng, number, held, m = np.random.default_rng(20261122), 400, 0, 400
    for _ in range(number):
        entropy, y = rng.uniform(0.05, 1, m), rng.normal(3, 0.6, m)
        f = y + 0.8 + rng.normal(0, 1, m) * entropy
        told = {} if design == "simple" else {"entropy": entropy}
        first = stats.choose(f, 40, design=design, rng=rng, **told)
        both = stats.choose(f, 40, after=first, rng=rng, **told)
        labels = np.where(both.chosen & (rng.random(m) >= missing), y, np.nan)
        how = {"active": {"inclusion": both.inclusion}, "strata": {"strata": both.stratum}}.get(design, {})
        found = stats.ppi_mean(labels, f, **how)
        held += found.interval.low <= 3 <= found.interval.high
    assert binomtest(held, number, 0.95).pvalue > 1e-3
