"""Skill of the default calibration on SummEval, held-out documents, in few draws.

paper_repro/calibration compares the same with the reference in 100, at every run of the gate.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[3] / "paper_repro" / "calibration"
DRAWS = 30
# RPS skill of proportional odds with ridge 1, 100 draws, n = 25, 50, 100, 200: computed independently
REFERENCE = {
    "coherence": (0.118, 0.139, 0.152, 0.159),
    "consistency": (0.300, 0.372, 0.411, 0.424),
    "fluency": (0.126, 0.179, 0.206, 0.221),
    "relevance": (0.052, 0.084, 0.099, 0.107),
}
SIZES = (25, 50, 100, 200)

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")]


@pytest.fixture
def skills(monkeypatch):
    """The skills of one criterion and number of labels, as the reproduction has them."""
    pytest.importorskip("pandas")
    from calib.datasets import DatasetError, load_summeval_judges

    try:
        load_summeval_judges()
    except DatasetError as error:
        pytest.skip(str(error))
    if not FOLDER.is_dir():
        pytest.skip("paper_repro comes with the repository, not with the package")
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    spec = importlib.util.spec_from_file_location("skills", FOLDER / "skills.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("criterion", REFERENCE)
def test_skill_of_the_default(skills, criterion, n):
    found = skills.skills(criterion, n, DRAWS, fewer=1)
    ours = found["calib"]

    def error(value):
        return value.std(ddof=1) / np.sqrt(len(value))

    reference = found["PO, ridge 1"]
    printed = REFERENCE[criterion][SIZES.index(n)]
    assert abs(reference.mean() - printed) < 3 * error(reference) * np.sqrt(1 + DRAWS / 100)
    assert ours.mean() > reference.mean() - 0.02  # paired: the same draws
    for name in ("histogram by digit", "IDR", "IDR shrunk", "Venn-Abers by threshold", "PO, no penalty"):
        gain = ours - found[name]
        assert gain.mean() > -2.5 * error(gain), name
    assert ours.mean() > found["raw digit"].mean() + 0.2
