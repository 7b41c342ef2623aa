"""CPU time of calibration, sets and CORP at a million labels, beside other packages where this Python has them.

Run: python tests/bench/calibration_speed.py. README.md says how to read the table.
"""

import os

# before numpy is imported
os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

import argparse
import importlib
import platform
import time
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import NamedTuple

import numpy as np

MANY, SOME, FEW = 1_000_000, 100_000, 10_000
PACKAGES = ("mapie", "crepes", "netcal", "venn-abers", "scikit-learn", "statsmodels", "model-diagnostics")


class Peer(NamedTuple):
    package: str
    what: str
    n: int
    call: Callable[["Data"], object]


class Task(NamedTuple):
    title: str
    ours: Callable[["Data"], object]
    at_most: float  # milliseconds
    peers: tuple[Peer, ...] = ()


class Data(NamedTuple):
    """A judge's digits, labels, a true pmf for each digit, and a chance with 1e6 values beside yes and no."""

    x: np.ndarray
    y: np.ndarray
    pmf: np.ndarray  # (5, 5)
    chance: np.ndarray
    yes: np.ndarray

    @property
    def table(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        cells = np.bincount((self.x - 1) * 5 + self.y - 1, minlength=25)
        return np.repeat(np.arange(1, 6), 5), np.tile(np.arange(1, 6), 5), cells


def data() -> Data:
    rng = np.random.default_rng(0)
    from scipy.special import expit

    below = expit(np.array([0.7, 2.9, 4.5, 5.8]) - 1.4 * np.arange(1, 6)[:, None])
    pmf = np.diff(below, axis=1, prepend=0.0, append=1.0)
    x = rng.integers(1, 6, MANY)
    y = 1 + (rng.random(MANY)[:, None] > np.cumsum(pmf, axis=1)[x - 1, :-1]).sum(axis=1)
    chance = rng.beta(2, 2, MANY)
    return Data(x, y, pmf, chance, (rng.random(MANY) < chance).astype(int))


# --- ours -------------------------------------------------------------------------------------------------------


def tasks() -> list[Task]:
    from calib import stats

    scale = np.arange(1, 6)

    def counts(d: Data) -> object:
        x, y, n = d.table
        return stats.ordered_logit(x, y, levels=scale, weights=n)

    fits = (
        Peer("statsmodels", "OrderedModel, logit", FEW, _ordered_model),
        Peer("netcal", "TemperatureScaling of chances", SOME, _temperature),
        Peer("netcal", "BetaCalibration of chances", FEW, _beta),
        Peer("venn-abers", "fit and predict_proba", SOME, _venn_abers),
        Peer("scikit-learn", "LogisticRegression of one label", MANY, _logistic),
    )
    sets = (
        Peer("mapie", "split, lac: conformalize and predict_set", SOME, _mapie("lac")),
        Peer("mapie", "the same, aps", SOME, _mapie("aps")),
        Peer("crepes", "hinge: fit and predict_set", FEW, _crepes),
    )
    corp = (
        Peer("model-diagnostics", "decompose, Brier", MANY, _decompose),
        Peer("scikit-learn", "IsotonicRegression alone", MANY, _isotonic),
        Peer("netcal", "ECE(15)", MANY, _ece),
    )
    few = slice(0, 200)
    return [
        Task("ordered_logit, counts of 1,000,000 labels", counts, 50, fits),
        Task("ordered_logit, 1,000,000 labels one by one", lambda d: stats.ordered_logit(d.x, d.y, levels=scale), 50),
        Task("calibration_map, 1,000,000 labels (10 folds, 200 resamples)",
             lambda d: stats.calibration_map(d.x, d.y, levels=scale, ridge=1.0), np.inf),
        Task("full_conformal, n = 200",
             lambda d: stats.full_conformal(d.x[few], d.y[few], levels=scale, x_new=scale), 60, sets),
        Task("full_conformal, n = 200, sets for 1,000,000",
             lambda d: stats.full_conformal(d.x[few], d.y[few], levels=scale, x_new=d.x), 1000),
        Task("split_conformal, n = 100,000, sets for 1,000,000",
             lambda d: stats.split_conformal(d.x[:SOME], d.y[:SOME], levels=scale, x_new=d.x), 1000),
        Task("corp, 1,000,000 chances, all distinct", lambda d: stats.corp(d.chance, d.yes), 800, corp),
        Task("corp, 1,000,000 forecasts of five levels", lambda d: stats.corp(d.pmf[d.x - 1], d.y, scale), 800),
    ]  # fmt: skip


# --- the others, each loaded where it is called -------------------------------------------------------------------


def _ordered_model(d: Data) -> object:
    import pandas as pd
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    labels = pd.Series(pd.Categorical(d.y, ordered=True))
    return OrderedModel(labels, d.x[:, None].astype(float), distr="logit").fit(method="bfgs", disp=0)


def _temperature(d: Data) -> object:
    from netcal.scaling import TemperatureScaling

    scaling = TemperatureScaling()
    scaling.fit(d.chance, d.yes)
    return scaling.transform(d.chance)


def _beta(d: Data) -> object:
    from netcal.scaling import BetaCalibration

    scaling = BetaCalibration()
    scaling.fit(d.chance, d.yes)
    return scaling.transform(d.chance)


def _venn_abers(d: Data) -> object:
    from venn_abers import VennAbers

    model, p = VennAbers(), np.stack([1 - d.chance, d.chance], axis=1)
    model.fit(p, d.yes)
    return model.predict_proba(p)


def _logistic(d: Data) -> object:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression().fit(d.x[:, None], d.y > 3)


def _isotonic(d: Data) -> object:
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(out_of_bounds="clip").fit(d.chance, d.yes).predict(d.chance)


def _mapie(score: str) -> Callable[[Data], object]:
    def call(d: Data) -> object:
        from mapie.classification import SplitConformalClassifier
        from sklearn.base import BaseEstimator, ClassifierMixin

        class Known(ClassifierMixin, BaseEstimator):
            """A judge whose pmf is known."""

            classes_ = np.arange(1, 6)
            is_fitted_ = True

            def fit(self, x: np.ndarray, y: np.ndarray) -> "Known":
                return self

            def predict(self, x: np.ndarray) -> np.ndarray:
                return self.classes_[self.predict_proba(x).argmax(axis=1)]

            def predict_proba(self, x: np.ndarray) -> np.ndarray:
                return d.pmf[np.asarray(x)[:, 0] - 1]

        model = SplitConformalClassifier(Known(), confidence_level=0.9, conformity_score=score, prefit=True)
        model.conformalize(d.x[:, None], d.y)
        return model.predict_set(d.x[:, None])

    return call


def _crepes(d: Data) -> object:
    from crepes import ConformalClassifier
    from crepes.extras import hinge

    p, classes = d.pmf[d.x - 1], np.arange(1, 6)
    model = ConformalClassifier().fit(hinge(p, classes, d.y))
    return model.predict_set(hinge(p), confidence=0.9)


def _decompose(d: Data) -> object:
    from model_diagnostics.scoring import SquaredError, decompose

    return decompose(d.yes, d.chance, scoring_function=SquaredError())


def _ece(d: Data) -> object:
    from netcal.metrics import ECE

    return ECE(15).measure(d.chance, d.yes)


# --- the table --------------------------------------------------------------------------------------------------


def cpu_ms(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return 1000 * (time.process_time() - start)


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def theirs(peer: Peer, given: Data) -> str:
    """Milliseconds, after a call with few rows that is not counted; what went wrong, if it did."""
    if installed(peer.package) == "absent":
        return "absent"
    part = Data(*(v if v is given.pmf else v[: peer.n] for v in given))
    warm = Data(*(v if v is given.pmf else v[:500] for v in given))
    try:
        peer.call(warm)
        return f"{cpu_ms(lambda: peer.call(part)):,.0f}"
    except Exception as error:  # noqa: BLE001 - another package's, whatever it is: said in the table
        return f"{type(error).__name__}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="of ours; the median is shown")
    options = parser.parse_args()
    import calib

    importlib.import_module("calib.stats")
    given = data()
    print(f"calib {calib.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, ", end="")
    print(", ".join(f"{name} {installed(name)}" for name in PACKAGES), end="; ")
    print(f"one thread, load average {os.getloadavg()[0]:.1f}. CPU milliseconds.\n")
    print("| task | n | ms | limit | ok |\n| --- | ---: | ---: | ---: | --- |")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for task in tasks():
            task.ours(given)
            ours = median(cpu_ms(lambda task=task: task.ours(given)) for _ in range(options.repeats))
            limit = "" if np.isinf(task.at_most) else f"{task.at_most:g}"
            kept = "" if not limit else "yes" if ours <= task.at_most else "**no**"
            print(f"| **{task.title}** | | {ours:,.1f} | {limit} | {kept} |", flush=True)
            for peer in task.peers:
                print(f"| {peer.package}: {peer.what} | {peer.n:,} | {theirs(peer, given)} | | |", flush=True)


if __name__ == "__main__":
    main()
