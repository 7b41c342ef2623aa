"""Scores that were calibrated with the very labels of an interval: folds, slope 1, what is warned of, coverage."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats as laws

import calib
from calib.core.check import CalibWarning
from calib.stats import calibration_map, ppi_difference, ppi_mean
from calib.table import read, write

LEVELS, SHARES = np.arange(1.0, 6.0), (0.05, 0.10, 0.20, 0.40, 0.25)
TRUTH = float(np.dot(SHARES, LEVELS))


def on_five(latent):
    return 1.0 + np.searchsorted(laws.norm.ppf(np.cumsum(SHARES)[:-1]), latent)


# --- the estimator ------------------------------------------------------------------------------------------------


def cross_fitted(rng, n=40, rest=300, folds=5):
    """Labels, a line fitted without each fold, and the mean of the lines for the items without a label."""
    x = rng.normal(size=n + rest)
    y, fold = np.clip(3 + x[:n] + rng.normal(size=n), 1, 5), np.arange(n) % folds
    lines = [np.polyfit(x[:n][fold != k], y[fold != k], 1) for k in range(folds)]
    own = np.array([np.polyval(lines[k], at) for k, at in zip(fold, x, strict=False)])
    return y, own, np.mean([np.polyval(line, x[n:]) for line in lines], axis=0)


def test_it_is_cross_prediction():
    """Zrnic and Candes (2024), section 2: the mean of the folds' predictions, and of what they get wrong."""
    y, own, rest = cross_fitted(np.random.default_rng(1))
    published = rest.mean() + (y - own).mean()
    assert ppi_mean(y, own, rest, estimator="ppi", calibrated_folds=5).estimate == pytest.approx(published, abs=1e-12)
    found = ppi_mean(y, own, rest, calibrated_folds=5)
    everywhere = np.concatenate([own, rest]).mean()
    assert found.estimate == pytest.approx(everywhere + (y - own).mean(), abs=1e-6)
    assert found.lam == pytest.approx(300 / 340)
    error = np.var(y - own, ddof=1) / 40 + np.var(np.concatenate([own, rest]), ddof=1) / 340
    assert found.std_error >= np.sqrt(error) * (1 - 1e-6)


@pytest.mark.parametrize("bounds", [None, (1, 5)])
@pytest.mark.parametrize("groups", [None, np.arange(340) // 5])
def test_the_slope_is_known(bounds, groups):
    y, own, rest = cross_fitted(np.random.default_rng(2))
    both, blank = np.concatenate([own, rest]), np.concatenate([y, np.full(300, np.nan)])
    options = {"bounds": bounds, "groups": groups, "same_scale": True}
    known, tuned = (ppi_mean(blank, both, **options, calibrated_folds=k) for k in (5, 0))
    if not known.lam:
        assert "labels_alone" in str(known)
        return
    assert known.lam != pytest.approx(tuned.lam, abs=1e-4)
    slope = known.lam if groups is not None else known.lam * 340 / 300
    assert slope == pytest.approx(1, abs=1e-6)


def test_a_judge_who_says_nothing_is_not_turned_against_the_labels():
    """Its map is the mean of the other folds' labels: a slope fitted to that is -4 and explains away their spread."""
    y = np.random.default_rng(3).integers(1, 6, 20).astype(float)
    fold = np.arange(20) % 5
    own = np.array([y[fold != k].mean() for k in fold])
    rest = np.full(480, y.mean())
    known, tuned = (ppi_mean(y, own, rest, calibrated_folds=k) for k in (5, 0))
    alone = ppi_mean(y, own, rest, estimator="classical")
    assert tuned.lam < -2
    assert tuned.std_error < 0.95 * alone.std_error
    assert alone.std_error <= known.std_error < 1.15 * alone.std_error
    assert known.estimate == pytest.approx(alone.estimate, abs=1e-6)


def test_a_difference_has_it_paired_or_not():
    rng = np.random.default_rng(4)
    quality = rng.normal(size=60)
    y_a, y_b = (on_five(quality + rng.normal(size=60)) for _ in "ab")
    f_a, f_b = (np.clip(3 + 0.8 * quality + rng.normal(0, 0.3, 60), 1, 5) for _ in "ab")
    y_a[40:] = np.nan
    for y in (np.where(np.isnan(y_a), np.nan, y_b), np.roll(np.where(np.isnan(y_a), np.nan, y_b), 20)):
        known, tuned = (ppi_difference(y_a, y, f_a, f_b, bounds=(1, 5), calibrated_folds=k) for k in (5, 0))
        assert known.calibrated_folds == 5
        assert known.interval != tuned.interval


def test_folds_are_counted():
    with pytest.raises(ValueError, match="`calibrated_folds` must be"):
        ppi_mean([1, 2, 3], [1, 2, 3], [1, 2], calibrated_folds=-1)


# --- tables -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables():
    """A judge on 0 to 100 of 40 documents by 6 systems; 60 labels of 12 of the documents."""
    rng = np.random.default_rng(5)
    document, system = (part.ravel() for part in np.indices((40, 6)))
    latent = 0.5 * rng.normal(size=40)[document] + rng.normal(size=240)
    said = np.round(100 * laws.norm.cdf(latent + 0.7 * rng.normal(size=240)))
    frame = pd.DataFrame({
        "item": [f"i{k}" for k in range(240)],
        "group": [f"d{k}" for k in document],
        "system": [f"s{k}" for k in system],
        "criterion": "coherence",
    })  # fmt: skip
    judge = frame.assign(rater="judge", method="given", score=said, scale="0..100")
    gold = frame.assign(rater="ann", method="human", score=on_five(latent), scale="1|2|3|4|5")
    return judge, gold[document < 12].sample(60, random_state=1), gold


@pytest.fixture(scope="module")
def calibrated(tables):
    judge, gold, _ = tables
    return calib.calibrate(judge, gold).apply(judge)


def names(result):
    return {text.partition(":")[0] for text in result.warnings}


def test_an_interval_knows_the_folds(tables, calibrated):
    result = calib.interval(calibrated, tables[1]).one()
    assert result.calibrated_folds == calibrated["fold"].nunique()
    assert f"|folds:{result.calibrated_folds}|" in result.signature
    assert any("without its fold" in text for text in result.assumptions)
    assert not names(result)
    item = calibrated.set_index("item")["score"]
    gold = tables[1].set_index("item")["score"]
    corrected = item.mean() + (gold - item[gold.index]).mean()
    assert result.estimate == pytest.approx(corrected, abs=1e-6)


def test_the_judge_may_be_on_its_own_scale_and_calibrated_it_is_on_that_of_people(tables, calibrated):
    assert {calib.interval(scores, tables[1]).one().interval.high <= 5 for scores in (tables[0], calibrated)} == {True}


@pytest.mark.parametrize("name", ["scores.csv", "scores.parquet"])
def test_a_file_keeps_them(tables, calibrated, tmp_path, name):
    pytest.importorskip("pyarrow") if name.endswith("parquet") else None
    write(calibrated, tmp_path / name)
    again = read(tmp_path / name, "scores")
    one, two = (calib.interval(scores, tables[1]).one() for scores in (calibrated, again))
    assert one == two


def test_a_saved_calibration_has_the_same_folds(tables, calibrated, tmp_path):
    path = calib.calibrate(tables[0], tables[1]).save(tmp_path / "judge.json")
    again = calib.Calibration.read(path).apply(tables[0])
    assert calib.interval(again, tables[1]).one() == calib.interval(calibrated, tables[1]).one()


def test_other_labels_need_no_folds(tables, calibrated):
    """Of documents of which no label was used: the map was fixed before, and its slope is looked at as ever."""
    others = tables[2][~tables[2]["group"].isin(tables[1]["group"])].sample(60, random_state=2)
    result = calib.interval(calibrated, others).one()
    assert result.calibrated_folds == 0
    assert "folds:" not in result.signature


def test_a_lost_column_is_said(tables, calibrated):
    result = calib.interval(calibrated.drop(columns="fold"), tables[1]).one()
    assert names(result) == {"tuned_on_labels"}
    assert "`fold` is missing" in result.warnings[0]


def test_one_fold_has_seen_its_labels(tables, calibrated):
    assert "tuned_on_labels" in names(calib.interval(calibrated.assign(fold=0.0), tables[1]).one())


@pytest.mark.parametrize("other", ["0123456789ab", None])
def test_two_calibrations_are_said(tables, calibrated, other):
    mixed = calibrated["calibration"].where(np.arange(len(calibrated)) % 2 == 0, other)
    result = calib.interval(calibrated.assign(calibration=mixed), tables[1]).one()
    assert names(result) == {"several_calibrations"}


def test_folds_are_numbers(tables, calibrated):
    with pytest.raises(calib.table.TableError, match="column `fold`: must be the numbers"):
        calib.interval(calibrated.assign(fold="first"), tables[1])
    whole = calibrated.assign(fold=calibrated["fold"].astype("Int64"))
    assert calib.interval(whole, tables[1]).one() == calib.interval(calibrated, tables[1]).one()


def test_groups_that_are_in_several_folds_are_said(tables):
    judge, gold, _ = tables
    alone = calib.calibrate(judge, gold, groups=None).apply(judge)
    assert "split_groups" in names(calib.interval(alone, gold).one())
    assert "split_groups" not in names(calib.interval(alone, gold, groups=None).one())
    systems = calib.interval(alone, gold, groups="system").one()
    assert "split_groups" in names(systems)


def test_a_column_that_is_called_fold_is_no_calibration(tables):
    judge = tables[0].assign(score=tables[0]["score"] / 25 + 1, scale="1..5", fold=1)
    result = calib.interval(judge, tables[1]).one()
    assert result.calibrated_folds == 0
    assert not names(result)


def test_a_difference_and_parts_and_a_pool_have_them(tables, calibrated):
    judge, gold, people = tables
    many = people[people["group"].isin(gold["group"])]
    whole = calib.calibrate(judge, many).apply(judge)
    one = calib.difference(whole, many, "s0", "s1").one()
    assert one.calibrated_folds > 1
    assert "folds:" in one.signature
    assert [r.calibrated_folds > 1 for r in calib.interval(whole, many, by="system")] == [True] * 6
    lost = calib.difference(whole.drop(columns="fold"), many, "s0", "s1").one()
    assert "tuned_on_labels" in names(lost)
    second = whole.assign(rater="other (calibrated)", score=whole["score"].clip(2, 4))
    pooled = calib.interval(pd.concat([whole, second]), many, pool="rater").one()
    assert pooled.calibrated_folds > 1


def test_a_correlation_with_these_labels_is_said_to_be_low(tables, calibrated):
    judge, gold, people = tables
    own, theirs = (calib.agreement(scores, gold).one() for scores in (judge, calibrated))
    assert theirs.estimate < own.estimate
    assert "folds_apart" in names(theirs)
    assert "folds_apart" not in names(own)
    assert "folds_apart" in names(calib.will_it_help(calibrated, gold).one())
    assert "folds_apart" in names(calib.compare(judge, calibrated, people).one())
    assert "folds_apart" in names(calib.rank_judges(pd.concat([judge, calibrated]), people).one())
    others = people[~people["group"].isin(gold["group"])]
    assert "folds_apart" not in names(calib.agreement(calibrated, others).one())


def test_labels_can_be_drawn_for_them(calibrated, tables):
    drawn = calib.choose(calibrated, 40, design="strata", rng=1)
    people = tables[2][tables[2]["item"].isin(drawn.loc[drawn["chosen"], "item"])]
    assert calib.interval(drawn, people).one().design == "strata"


# --- coverage -----------------------------------------------------------------------------------------------------


def held(rng, n, r, documents=0, size=400):
    """Whether t's interval, which has nothing to spare, holds: with slope 1, with a slope that is fitted once more."""
    latent = rng.normal(size=size)
    group = None if not documents else np.arange(size) % documents
    if documents:
        latent = np.sqrt(0.3) * rng.normal(size=documents)[group] + np.sqrt(0.7) * latent
    y, x = on_five(latent), np.full(size, 4.0)
    if r:
        x = on_five(r * latent + np.sqrt(1 - r * r) * rng.normal(size=size))
    blank = np.full(size, np.nan)
    chosen = rng.choice(size, n, replace=False)
    blank[chosen] = y[chosen]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)  # of the judges who say nothing
        found = calibration_map(x, blank, levels=LEVELS, groups=group, n_resamples=2)
    f = found.predict(x, fold=found.fold) @ LEVELS
    each = [ppi_mean(blank, f, groups=group, calibrated_folds=k).interval for k in (found.n_folds, 0)]
    return [low <= TRUTH <= high for low, high in each]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("n, r, documents", [(20, 0.0, 0), (25, 0.8, 0), (50, 0.6, 25)])
def test_it_holds_as_often_as_it_says(n, r, documents):
    rng, sets = np.random.default_rng(6), 1500
    known = np.sum([held(rng, n, r, documents)[0] for _ in range(sets)])
    assert laws.binomtest(int(known), sets, 0.95).pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.long
def test_a_slope_that_is_fitted_once_more_does_not_hold():
    rng, sets = np.random.default_rng(7), 1000
    tuned = np.sum([held(rng, 20, 0.0)[1] for _ in range(sets)])
    assert laws.binomtest(int(tuned), sets, 0.93, alternative="less").pvalue < 0.01
