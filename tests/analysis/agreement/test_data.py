"""Agreement on recorded judges: what coefficient and tie rule do to the comparison of mean and mode."""

import os
from statistics import multimode

import numpy as np
import pandas as pd
import pytest

import calib
from calib.stats import CalibWarning, agreement, compare

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif(not os.environ.get("CALIB_DATA"), reason="needs the real data: set CALIB_DATA")


@pytest.fixture(scope="module")
def cells(twenty_draws):
    """Mean and mode of 20 draws and the label, for 7 prompts x 4 criteria; several modes are averaged."""
    modes = ([np.mean(multimode(draws)) for draws in cell] for cell, _, _ in twenty_draws)
    return [(cell.mean(axis=1), np.array(m), y) for (cell, y, _), m in zip(twenty_draws, modes, strict=True)]


@needs_data
@pytest.mark.parametrize(
    ("method", "mean", "mode", "wins"),
    [
        # an independent computation from the same replies
        ("pearson", 0.517, 0.459, 0), ("spearman", 0.525, 0.458, 0), ("kendall_a", 0.348, 0.263, 0),
        ("kendall", 0.408, 0.398, 11), ("kendall_c", 0.419, 0.345, 0), ("gamma", 0.472, 0.584, 28),
        ("pairs", 0.576, 0.473, 3),
    ],
)  # fmt: skip
def test_whether_the_mode_beats_the_mean_depends_on_the_coefficient(cells, method, mean, mode, wins):
    pairs = np.array([[agreement(v, y, method=method, interval="none").estimate for v in two] for *two, y in cells])
    assert len(pairs) == 28
    assert pairs.mean(axis=0) == pytest.approx([mean, mode], abs=6e-4)
    assert (pairs[:, 1] > pairs[:, 0]).sum() == wins


@needs_data
def test_tau_b_of_mean_and_mode_warns(cells):
    mean, mode, labels = cells[0]
    with pytest.warns(CalibWarning, match="mode ties .* tau-b favours the one that ties more"):
        result = compare(mean, mode, labels, method="kendall", names=("mean", "mode"))
    assert result.ties_second > 2 * result.ties_first
    assert compare(mean, mode, labels, method="spearman").warnings == ()


@needs_data
def test_the_six_judges_of_summeval_within_documents():
    items, ratings = calib.load_summeval_judges()
    people = ratings["method"] == "human"
    labels = calib.summarize(ratings[people], items, pool="rater")
    ranked = calib.rank_judges(calib.summarize(ratings[~people], items), labels, level="group")
    first = {label["criterion"]: result.names[0] for label, result in zip(ranked.labels, ranked.results, strict=True)}
    assert first == dict.fromkeys(("coherence", "consistency", "fluency"), "gpt-4o") | {"relevance": "gpt-4o-mini"}
    assert {result.names[-1] for result in ranked} == {"mistral-v03"}
    # the same annotations, computed elsewhere: mean over documents of Spearman, documents that count
    coherence = ranked.select(criterion="coherence").one()
    assert coherence.agreements[0].estimate == pytest.approx(0.5417, abs=5e-5)
    consistency = ranked.select(criterion="consistency").one().agreements[0]
    assert (consistency.n_groups, consistency.n_skipped) == (96, 4)
    assert isinstance(ranked.to_frame(), pd.DataFrame)
