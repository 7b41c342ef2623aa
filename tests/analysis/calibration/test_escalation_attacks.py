"""Judges that add nothing, systems that are worse, thresholds that were picked afterwards, and escalation."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as laws

import calib
from calib.core.check import CalibWarning
from calib.stats import accept_threshold
from calib.table import TableError

ATTACKED = pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
SHARES = [0.04, 0.06, 0.1, 0.4, 0.4]  # of the labels 1 to 5


def files(score, label, labelled, **columns):
    """Scores of all items and labels of the first ones, which come in no order."""
    facts = {"item": np.arange(len(score)), "criterion": "c", "scale": "1|2|3|4|5"} | columns
    judge = pd.DataFrame(facts | {"rater": "judge", "method": "given", "score": np.asarray(score, dtype=float)})
    people = judge.assign(score=np.asarray(label, dtype=float), rater="ann", method="human")
    return judge, people.head(labelled)


def scored(kind, label, rng):
    """A judge's score of each label."""
    n = len(label)
    return {
        "anything": lambda: rng.integers(1, 6, n),
        "1 or 2": lambda: rng.integers(1, 3, n),
        "always 4": lambda: np.full(n, 4),
        "upside down": lambda: np.clip(6 - label + rng.integers(-1, 2, n), 1, 5),
        "weak": lambda: np.clip(np.round(3 + 0.35 * (label - 3) + rng.normal(0, 1, n)), 1, 5),
        "good": lambda: np.clip(label + rng.choice([-1, 0, 0, 0, 1], n), 1, 5),
    }[kind]()


def wrong(found, label, threshold=4):
    """Whether the verdict of each accepted item is not that of its true label."""
    accepted = (found.items["decided_by"] != "").to_numpy()
    return ((label >= threshold) != (found.items["verdict"].to_numpy() > 0))[accepted]


# --- labels that are no random sample ---------------------------------------------------------------------------------


def sure_of_itself(n=400):
    """A judge that errs where it is unsure, its confidence, and the labels of all items."""
    rng = np.random.default_rng(1)
    label, sure = rng.integers(1, 6, n), rng.random(n)
    return np.where(rng.random(n) < np.sqrt(sure), label, rng.integers(1, 6, n)), sure, label


@pytest.mark.parametrize("drawn_by_choose", [False, True])
def test_labels_of_the_surest_items_say_nothing_of_the_others(drawn_by_choose):
    score, sure, label = sure_of_itself()
    judge, people = files(score, label, 400, sure=sure)
    asked = {"label_threshold": 4, "confidence": "sure", "risk": 0.15}
    if drawn_by_choose:
        judge = calib.choose(judge, 200, rng=1)
        assert calib.escalate(judge, people[judge["chosen"]], **asked).one().accepted_share < 0.8
    there = judge["chosen"] if drawn_by_choose else judge["sure"] >= 0
    surest = judge[there].sort_values("sure").index[-100:]
    with pytest.raises(TableError, match=r"random sample .* confidence of 0\.\d+ on average, the others of 0\.\d+"):
        calib.escalate(judge, people.loc[surest], **asked)


def test_labels_that_are_the_judges_scores_are_named():
    score, sure, label = sure_of_itself()
    for labels, named in ((score, True), (label, False)):
        found = calib.escalate(*files(score, labels, 100, sure=sure), label_threshold=4, confidence="sure").one()
        texts = [text for text in found.warnings if text.startswith("labels_like_scores: all 100 labels are the judge")]
        assert bool(texts) == named


# --- one verdict for all items --------------------------------------------------------------------------------------


@ATTACKED
def test_whose_verdict_it_is_stands_before_what_it_may_decide(loaded):
    """GPT-4o scores 709 of the 1,600 summaries 1 or 2 for relevance, which the map makes a 3."""
    items, ratings = loaded("load_summeval_judges")
    people = calib.summarize(ratings[(ratings["method"] == "human") & (ratings["criterion"] == "relevance")], items)
    own = calib.summarize(ratings[(ratings["rater"] == "gpt-4o") & (ratings["criterion"] == "relevance")], items)
    result = calib.escalate(own, people, within=1, risk=0.04)
    found = result.one()
    low = found.items["score"] <= 2
    assert (found.items.loc[low, "verdict"] == 3).all()
    assert low.sum() == 709 <= found.n_not_own
    assert found.whose == "what the calibration map makes of the judge's score"
    assert found.n_accepted
    assert f"What the calibration map makes of gpt-4o's score may decide {100 * found.accepted_share:.3g} %" in (
        result.conclusion
    )
    assert f"on {found.n_not_own} of them not gpt-4o's own verdict" in result.conclusion
    errors = (np.abs(found.items["label"].to_numpy()[:, None] - np.arange(1, 6)) > 1).mean(axis=0)
    assert found.constant_error == pytest.approx(errors.min())
    assert found.constant == str(1 + errors.argmin())
    assert f"One verdict for all items ({found.constant}) differs from {100 * errors.min():.3g} % of" in str(found)
    assert "(which label, give or take 1)" in calib.plot.accept_risk(result).get_title(loc="left") + result.conclusion


@ATTACKED
@pytest.mark.parametrize("kind", ["anything", "1 or 2", "always 4"])
def test_a_risk_that_one_verdict_keeps_takes_no_judge(kind):
    rng = np.random.default_rng(1)
    label = rng.choice(5, 1000, p=SHARES) + 1
    for options in ({"label_threshold": 3, "risk": 0.2}, {"within": 1, "risk": 0.3}):
        result = calib.escalate(*files(scored(kind, label, rng), label, 200), **options)
        found = result.one()
        assert found.accepted_share == 0
        assert found.test.needless
        assert found.constant_bound <= options["risk"]
        assert (
            "may decide none of the 1000 items alone, as it adds nothing: one verdict for all items"
            in result.conclusion
        )
        assert f"set it below {100 * found.constant_error:.3g} %" in str(found)


@ATTACKED
def test_a_judge_that_is_not_shown_to_err_less_than_one_verdict_decides_nothing():
    """All items are sure and 3 of 60 verdicts wrong, which keeps the risk; one verdict errs in 5, which does not."""
    label = np.r_[np.full(55, 5), np.full(5, 1), np.full(940, 5)]
    score = np.r_[np.full(55, 5), 1, 1, 5, 5, 5, np.full(940, 5)]
    asked = {"label_threshold": 4, "risk": 0.12, "confidence": "sure"}
    judge, people = files(score, label, 60, sure=1.0)
    result = calib.escalate(judge, people, **asked)
    found = result.one()
    assert found.accepted_share == 0
    assert not found.test.needless
    assert found.test.unbeaten.errors == 3
    assert "meet the risk (3 errors in 60 labels), but may err as often as no judge" in str(found)
    assert accept_threshold([1.0] * 60, np.r_[np.zeros(57), np.ones(3)], risk=0.12).accepted == 1


def test_the_chance_of_no_gain_is_about_that_of_the_sign_test():
    """Where all is accepted only labels on which one of both errs say which is better: exact, by McNemar."""
    for b, c in ((1, 12), (3, 14), (10, 30)):  # the judge alone errs, the one verdict alone errs
        judge, rival = np.zeros(200), np.zeros(200)
        judge[:b], rival[b : b + c] = 1, 1
        point = accept_threshold(np.ones(200), judge, rivals=rival[:, None], risk=0.3).curve[0]
        exact = laws.binom.cdf(b, b + c, 0.5)
        assert exact / 3 < point.p_rival < 3 * exact
    nothing = accept_threshold(np.ones(200), judge, rivals=judge[:, None], risk=0.3).curve[0]
    assert nothing.p_rival == 1


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [pytest.param(False, marks=pytest.mark.long), True])
def test_confidences_that_say_nothing_are_accepted_no_more_often_than_promised(grouped):
    """Verdicts that err as often as a rival does, at a risk that neither breaks, in drawings of 200 labels."""
    rng, runs, taken = np.random.default_rng(3), 60 if grouped else 1000, 0
    groups = np.repeat(np.arange(50), 4) if grouped else None
    for _ in range(runs):
        sure, both = rng.integers(1, 6, 200) / 5, rng.random((200, 2)) < 0.19
        taken += accept_threshold(sure, both[:, 0], rivals=both[:, 1:], risk=0.2, groups=groups).accepted > 0
    assert laws.binomtest(taken, runs, 0.1, alternative="greater").pvalue > 0.001


@ATTACKED
@pytest.mark.slow
@pytest.mark.parametrize("n", [pytest.param(30, marks=pytest.mark.long), 100])
@pytest.mark.parametrize(
    ("kind", "often"),
    [("anything", 0), ("1 or 2", 0), ("always 4", 0), ("upside down", 0.4), ("weak", 0), ("good", 0.4)],
)
def test_no_judge_decides_beyond_the_risk_more_often_than_promised(kind, often, n):
    """One verdict errs in 20 % of the items, the risk is 18 %; a judge that knows something is let in all the same."""
    rng, runs, broken, decided = np.random.default_rng(n), 100, 0, 0
    labels = [rng.choice(5, 1500, p=SHARES) + 1 for _ in range(runs)]
    drawn = [files(scored(kind, one, rng), one, n, criterion=f"c{k:02}") for k, one in enumerate(labels)]
    tables = (pd.concat(each, ignore_index=True) for each in zip(*drawn, strict=True))  # each criterion is for itself
    for found, label in zip(calib.escalate(*tables, label_threshold=4, risk=0.18), labels, strict=True):
        off = wrong(found, label)
        broken += bool(len(off) and off.mean() > 0.18)
        decided += len(off) > 0
    assert laws.binomtest(broken, runs, 0.1, alternative="greater").pvalue > 0.001
    if kind in ("anything", "1 or 2", "always 4"):  # of these nothing is true but that they add nothing
        assert laws.binomtest(decided, runs, 0.1, alternative="greater").pvalue > 0.001
    assert decided / runs >= (often if n > 30 else often / 4)


# --- within systems, and the best of several thresholds ---------------------------------------------------------------


def of_systems(rng, n, errors, labelled):
    """Yes and no of a judge that is as sure of all items, of systems in which it errs with these chances."""
    system = rng.integers(0, len(errors), n)
    label = rng.integers(0, 2, n)
    score = np.where(rng.random(n) < np.array(errors)[system], 1 - label, label)
    return label, *files(score, label, labelled, scale="0|1", system=np.char.add("s", system.astype(str)), sure=1.0)


@pytest.mark.slow
@pytest.mark.long
@ATTACKED
def test_the_promise_holds_within_each_system_where_it_is_asked_by_system():
    runs, broken, inside, accepted = 80, 0, np.zeros(4), 0.0
    for run in range(runs):
        rng = np.random.default_rng(run)
        label, judge, people = of_systems(rng, 2400, [0.02, 0.02, 0.02, 0.13], 400)
        asked = {"confidence": "sure", "risk": 0.1}
        together = calib.escalate(judge, people, **asked).one().items
        by = calib.escalate(judge, people, by="system", **asked)
        worse = (together["system"] == "s3").to_numpy() & (together["decided_by"] != "").to_numpy()
        broken += bool(worse.any() and (together["verdict"].to_numpy() != label)[worse].mean() > 0.1)
        for one in by:
            rows = one.accepted
            place = int(one.items["system"].iloc[0][1:])
            inside[place] += (
                len(rows) > 0 and (rows["verdict"].to_numpy() != label[rows["item"].astype(int)]).mean() > 0.1
            )
            accepted += len(rows) / 2400 / runs
    assert broken / runs > 0.5, "together the worse system is let through"
    for one in inside:
        assert laws.binomtest(int(one), runs, 0.1, alternative="greater").pvalue > 0.001
    assert accepted > 0.6


def test_a_system_without_enough_labels_decides_nothing_and_says_so():
    rng = np.random.default_rng(1)
    _, judge, people = of_systems(rng, 400, [0.02, 0.02], 160)
    people = people[(judge["system"].head(160) == "s0") | (np.arange(160) < 20)]
    found = calib.escalate(judge, people, confidence="sure", by="system")
    (much,), (none,) = found.select(system="s0"), found.select(system="s1")
    assert much.n_accepted == much.n > none.n_accepted == 0
    assert "few_labels: a risk of 0.1 takes 22 labels without an error among the accepted; there are" in str(
        none.warnings
    )


def test_systems_that_differ_are_named_with_the_level_of_the_test():
    _, judge, people = of_systems(np.random.default_rng(5), 2400, [0.01, 0.01, 0.01, 0.25], 400)
    found = calib.escalate(judge, people, confidence="sure", risk=0.15).one()
    (text,) = [text for text in found.warnings if text.startswith("systems_differ")]
    assert "of 's3' (" in text and "'s1'" not in text
    assert "Fisher's test at 5 % over all systems" in text and "by='system'" in text
    assert not any(
        "systems_differ" in str(one.warnings)
        for one in calib.escalate(judge, people, confidence="sure", risk=0.15, by="system")
    )


def test_labels_of_other_systems_than_are_decided_are_no_sample():
    _, judge, people = of_systems(np.random.default_rng(5), 2400, [0.01] * 4, 400)
    asked = {"confidence": "sure", "risk": 0.2}
    of_s2 = judge["system"].head(400) == "s2"
    one_of_s2 = ~of_s2 | (of_s2.cumsum() == 1)
    for labels in (people[~of_s2], people[judge["system"].head(400) == "s1"], people[one_of_s2]):
        with pytest.raises(TableError, match=r"labels must be of a random sample .* only .* of 's2'.*by='system'"):
            calib.escalate(judge, labels, **asked)
        assert [one.n_accepted for one in calib.escalate(judge, labels, by="system", **asked).select(system="s2")] == [
            0
        ]
    rare = judge.assign(system=np.where(np.arange(2400) == 2399, "rare", "s1"))
    found = calib.escalate(rare, people.assign(system="s1"), **asked).one()
    assert "labels_of_some_systems: no label is of 'rare', whose items are decided too" in found.warnings


@pytest.mark.slow
@pytest.mark.long
@ATTACKED
def test_systems_that_are_alike_are_seldom_named():
    runs, named = 150, 0
    for run in range(runs):
        _, judge, people = of_systems(np.random.default_rng(run), 800, [0.08] * 5, 300)
        found = calib.escalate(judge, people, confidence="sure", risk=0.2).one()
        assert found.n_accepted
        named += "systems_differ" in str(found.warnings)
    assert laws.binomtest(named, runs, 0.05, alternative="greater").pvalue > 0.001
    assert named


@pytest.mark.slow
def test_the_best_of_four_thresholds_needs_a_quarter_of_the_error_each():
    """Each of four verdicts errs a little more often than the risk allows: to take what passes breaks the promise."""
    rng, runs, broken = np.random.default_rng(2), 2000, {0.9: 0, 0.975: 0}
    for _ in range(runs):
        errors = rng.random((200, 4)) < 0.105
        for level in broken:
            let = [accept_threshold(np.ones(200), one, risk=0.1, confidence_level=level).accepted for one in errors.T]
            broken[level] += any(let)
    assert broken[0.9] / runs > 0.15
    assert laws.binomtest(broken[0.975], runs, 0.1, alternative="greater").pvalue > 0.001


# --- calibration of a judge without skill -----------------------------------------------------------------------------


def one_column(kind, n, seed):
    rng = np.random.default_rng(seed)
    label = rng.choice(5, n, p=SHARES) + 1
    return files(scored(kind, label, rng), label, n)


@ATTACKED
def test_a_judge_without_skill_has_no_table_of_what_its_scores_mean(tmp_path, capsys):
    from calib.cli import main

    for kind, folded in (("1 or 2", True), ("good", False)):
        judge, people = one_column(kind, 120, 2)
        calibration = calib.calibrate(judge, people)
        fit = calibration.one()
        quality = calib.forecast_quality(calibration).one()
        assert (fit.skill, *fit.skill_interval) == pytest.approx((quality.skill, *quality.interval))
        assert fit.without_skill == folded == (fit.skill_interval.low <= 0)
        assert calibration.conclusion.startswith(f"c, judge: skill {fit.skill:.4g} beside no judge, 95 % CI")
        assert {"skill", "skill_low", "skill_high", "p_3"} <= set(calibration.to_frame())
        assert len(calibration.to_frame()) == len(np.unique(judge["score"]))
        again = calib.Calibration.read(calibration.save(tmp_path / "c.json")).one()
        assert (again.skill, again.skill_interval) == (fit.skill, fit.skill_interval)
        path = tmp_path / "judge.csv"
        pd.DataFrame({"id": judge["item"], "judge": judge["score"], "people": people["score"]}).to_csv(
            path, index=False
        )
        with pytest.raises(SystemExit) as stopped:
            main(["calibrate", str(path), "--scale", "1|2|3|4|5"])
        assert stopped.value.code == 0
        shown = capsys.readouterr().out
        assert shown.index("skill") < (shown.index("label_mean") if not folded else len(shown))
        assert ("label_mean" in shown) != folded
        assert (".to_frame()" in shown and "--at 1 --at 2" in " ".join(shown.split())) == folded
        assert ("mean label" in calib.report(calibration).text) != folded


@ATTACKED
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["anything", "1 or 2"])
def test_the_skill_of_a_judge_that_guesses_reaches_no_skill(kind):
    runs = 60
    shown = sum(not calib.calibrate(*one_column(kind, 40, seed)).one().without_skill for seed in range(runs))
    assert laws.binomtest(shown, runs, 0.025, alternative="greater").pvalue > 0.001


def test_a_map_for_each_system_is_learned_from_its_own_labels(tmp_path):
    rng = np.random.default_rng(4)
    label = rng.choice(5, 200, p=[0.2] * 5) + 1
    system = np.where(np.arange(200) % 2, "new", "old")
    score = np.where(system == "new", label, np.clip(label + 1, 1, 5))
    judge, people = files(score, label, 200, system=system)
    by = calib.calibrate(judge, people, by="system")
    assert [one["system"] for one in by.labels] == ["old", "new"]
    for name in ("old", "new"):
        alone = calib.calibrate(judge[system == name], people[system == name])
        (mine,) = by.select(system=name)
        np.testing.assert_allclose(mine.thresholds, alone.thresholds)
        np.testing.assert_allclose(mine.fold, alone.fold)
    for calibration in (by, calib.Calibration.read(by.save(tmp_path / "c.json"))):
        out = calibration.apply(judge)
        assert len(out) == 200
        means = out.astype({"system": str}).groupby(["system", "judge"], observed=True)["score"].mean()
        assert means["old", 4] < means["new", 4] - 0.5
    with pytest.warns(CalibWarning, match="not_calibrated: no map is of system 'next'"):
        by.apply(judge.assign(system=["next", *system[1:]]))
    few = people[(system == "new") | (np.arange(200) < 0)]
    with pytest.warns(CalibWarning, match=r"left_out: .*old"):
        assert len(calib.calibrate(judge, few, by="system")) == 1
