"""One result of every class, of small seeded arrays: their frames and signatures are pinned by `specimens.json`."""

import numpy as np

from calib import stats


def quality(n=60, seed=0):
    """Labels and scores from 1 to 5 of n items."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(1, 6, n).astype(float)
    return labels, np.clip(labels + np.round(rng.normal(0.3, 0.8, n), 1), 1, 5)


def partly_labelled(n=60, n_labels=25, seed=0):
    labels, scores = quality(n, seed)
    labels[n_labels:] = np.nan
    return labels, scores


def annotated(n=40, raters=3, seed=1):
    """Labels of several annotators, one missing."""
    rng = np.random.default_rng(seed)
    labels = np.clip(rng.integers(1, 6, (n, 1)) + rng.integers(-1, 2, (n, raters)), 1, 5).astype(float)
    labels[3, 1] = np.nan
    return labels


def draws(items=50, prompts=4, n=3, seed=2):
    rng = np.random.default_rng(seed)
    item, prompt = rng.normal(size=(items, 1, 1)), 0.4 * rng.normal(size=(1, prompts, 1))
    return 3 + item + prompt + 0.5 * rng.normal(size=(items, prompts, n))


def chances(n=60, seed=3):
    """Chances of three levels, and what came."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1, 1, 1], n)
    return p, np.array([rng.choice([1, 2, 3], p=row) for row in p])


def groups(n=60, size=5):
    return np.arange(n) // size


def design(n=300, seed=4):
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), rng.normal(size=n)])
    return x, x @ [1.0, 0.5] + rng.normal(size=n), rng.normal(size=n) / 2


def battles():
    a, b = list("xxyyzz") * 10, list("yzxzxy") * 10
    return a, b, [1, 1, 0.5, 1, 0, 0.5, 1, 0, 1, 1, 0, 0] * 5


def _regression(function, cut=None):
    x, y, noise = design()
    f = y + noise
    if cut is not None:
        y, f = (y > cut).astype(float), (f > cut).astype(float)
    return function(x[:80], y[:80], f[:80], x[80:], f[80:])


def _instrumented():
    rng = np.random.default_rng(0)
    true, noise = rng.normal(size=200), rng.normal(size=(200, 3))
    x = 0.3 * true + rng.normal(size=200)
    return stats.instrumented(
        0.6 * true + 0.2 * x + rng.normal(size=200) / 2, true[:, None] + 0.8 * noise, x, groups=groups(200, 4)
    )


def _drifted(**options):
    rng = np.random.default_rng(0)
    true = rng.uniform(1, 9, size=(40, 1))
    then, now = (np.rint(true - lower + rng.normal(0, 0.6, (40, 4))) for lower in (0, 0.5))
    return stats.reading_change(then, now, n_permutations=199, **options)


def _annotators():
    rng = np.random.default_rng(1)
    score, who = rng.integers(1, 6, 80), np.arange(80) % 4
    label = score + 2 * np.linspace(-1, 1, 4)[who] + rng.logistic(size=80)
    return stats.annotator_logit(score, np.digitize(label, [1, 3, 5]), [f"annotator {one}" for one in who])


def _compared(level="item"):
    labels, scores = quality(80)
    other = np.clip(labels + np.random.default_rng(5).normal(0, 2, 80), 1, 5)
    more = {} if level == "item" else {"groups": groups(80, 8), "level": "group"}
    return stats.compare(scores, other, labels, names=("near", "far"), rng=0, n_resamples=99, **more)


def _ranked():
    labels, scores = quality(80)
    noise = np.random.default_rng(6).normal(size=(2, 80))
    judges = {"a": scores, "b": scores + noise[0], "c": labels + 2 * noise[1]}
    return stats.rank_judges(judges, labels)


def _unequal_chances():
    labels, scores = partly_labelled()
    return stats.ppi_mean(labels, scores, bounds=(1, 5), step=1, strata=np.arange(60) % 2)


def _paired():
    (y_a, f_a), (y_b, f_b) = partly_labelled(seed=0), partly_labelled(seed=7)
    return y_a, y_b, f_a, f_b


def trials(n=40, per_task=3, seed=5):
    """Passes of the tasks of two runs."""
    rng = np.random.default_rng(seed)
    p = rng.random((n, 1))
    return tuple((rng.random((n, per_task)) < p + more).astype(float) for more in (0.0, 0.15))


MADE = {
    "AcceptThreshold": lambda: stats.accept_threshold([0.9] * 60 + [0.7] * 60 + [0.5] * 30, [0] * 116 + [1, 0] * 17),
    "Agreement": lambda: stats.agreement(*quality()),
    "Agreement, groups": lambda: stats.agreement(
        *quality(), groups=groups(), level="group", method="kendall", n_resamples=99, rng=0
    ),
    "Agreement, kappa": lambda: stats.agreement(np.rint(quality()[0]), np.rint(quality()[1]), coefficient="kappa"),
    "Alpha": lambda: stats.krippendorff_alpha(annotated()),
    "AltTest": lambda: stats.alternative_annotator_test(np.nanmean(annotated(), axis=1).round(), annotated()),
    "AnnotatorLogit": _annotators,
    "BootstrapEstimate": lambda: stats.ppi_bootstrap(
        np.mean, quality()[0][:20], quality()[1][:20], quality()[1][20:], n_resamples=100, rng=0
    ),
    "BradleyTerry": lambda: stats.bradley_terry(*battles()),
    "BudgetPlan": lambda: stats.budget_plan(
        rho=0.6,
        item=0.5,
        item_prompt=0.2,
        draw=0.3,
        n_labels=40,
        n_items=400,
        prices={"label": 2, "judge": 0.01},
        budget=200,
    ),
    "BudgetPlan, out of reach": lambda: stats.budget_plan(
        rho=0.6, n_labels=40, n_items=400, prices={"label": 2, "judge": 0.01}, half_width=0.05, max_items=400
    ),
    "CalibrationMap": lambda: stats.calibration_map(quality()[1].round(), quality()[0], levels=[1, 2, 3, 4, 5]),
    "Ceiling": lambda: stats.label_ceiling(annotated(), judge=np.nanmean(annotated(), axis=1)),
    "ChanceCorrected": lambda: stats.gwet_ac(annotated()),
    "Choice": lambda: stats.choose(quality()[1], 12, design="strata", n_strata=3, rng=0),
    "Comparison": _compared,
    "Comparison, groups": lambda: _compared("group"),
    "ConfidenceSequence": lambda: stats.confidence_sequence(
        quality()[0][:30], quality()[1][:30], quality()[1], bounds=(1, 5)
    ),
    "Convergence": lambda: stats.convergence(
        draws()[:, 0], exact=draws()[:, 0].mean(axis=1), sizes=[1, 2], n_subsets=20, rng=2
    ),
    "Corp": lambda: stats.corp(chances()[0][:, 2], chances()[1] == 3),
    "DStudy": lambda: stats.g_study(draws()).d_study(prompts=[1, 8], draws=[8, 1]),
    "DifferenceEstimate": lambda: stats.ppi_difference(*_paired(), bounds=(1, 5), step=1),
    "Disattenuated": lambda: stats.disattenuated(np.nanmean(annotated(), axis=1).round(), annotated()),
    "ForecastQuality": lambda: stats.forecast_quality(*chances(), [1, 2, 3]),
    "GStudy": lambda: stats.g_study(draws()),
    "GatePlan": lambda: stats.gate_plan(3.7, n_labels=40, n_items=100, rho=0.5, sd=0.99, bounds=(1, 5), step=1),
    "ICC": lambda: stats.icc(annotated(40, 3)),
    "Instrumented": _instrumented,
    "JudgeCheck": lambda: stats.judge_bar([1] * 36 + [0] * 24, [1] * 32 + [0] * 28, "kappa", 0.5),
    "JudgeHelp": lambda: stats.will_it_help(*quality(30)),
    "LabelsNeeded": lambda: stats.labels_needed(*partly_labelled(), half_width=0.4),
    "LengthControlled": lambda: stats.length_controlled(
        battles()[2], np.random.default_rng(0).normal(size=60), groups=groups()
    ),
    "MeanEstimate": lambda: stats.ppi_mean(*partly_labelled(), bounds=(1, 5), step=1),
    "MeanEstimate, strata": _unequal_chances,
    "MeanEstimate, groups": lambda: stats.ppi_mean(*partly_labelled(), groups=groups()),
    "MeanEstimate, labels alone": lambda: stats.mean_interval(quality()[0], bounds=(1, 5)),
    "MeanEstimate, ratio": lambda: stats.ppi_ratio(*_paired()),
    "OrderedLogit": lambda: stats.ordered_logit(quality()[0].astype(int), quality()[1]),
    "PairwiseAgreement": lambda: stats.pairwise_agreement([1, 1, 0, 0.5, 1, 0] * 10, [1, 1, 0, 0, 0.5, 0] * 10),
    "PassFail": lambda: stats.pass_fail(
        ["pass"] * 60 + ["fail"] * 40, ["pass"] * 36 + ["fail"] * 4 + [""] * 30 + ["fail"] * 26 + ["pass"] * 4
    ),
    "PassFail, one outcome": lambda: stats.pass_fail(
        ["pass"] * 60 + ["fail"] * 40, ["pass"] * 36 + [""] * 60 + ["pass"] * 4
    ),
    "PositionBias": lambda: stats.position_bias(
        [1] * 60 + [0] * 40 + [1] * 20 + [0] * 10, [1] * 60 + [0] * 40 + [0] * 20 + [1] * 10
    ),
    "Profile": lambda: stats.profile(chances()[0], chances()[1], levels=[1, 2, 3], top=2),
    "PromptMean": lambda: stats.prompt_mean(draws()[:, :, 0]),
    "QuantileEstimate": lambda: stats.ppi_quantile(*partly_labelled(), bounds=(1, 5), step=1),
    "RankSets": lambda: stats.rank_sets([2.0, 1.0, 0.9], 0.01 * np.eye(3)),
    "Ranking": _ranked,
    "RaterEffects": lambda: stats.rater_effects(np.nanmean(annotated(), axis=1).round(), annotated()),
    "ReadingChange": _drifted,
    "ReadingChange, sessions": lambda: _drifted(sessions=[[0, 0, 1, 2], [0, 0, 1, 1]]),
    "RegressionEstimate": lambda: _regression(stats.ppi_ols),
    "RegressionEstimate, logistic": lambda: _regression(stats.ppi_logistic, cut=1.0),
    "Reliability": lambda: stats.reliability(annotated(), np.nanmean(annotated(), axis=1)),
    "Roc": lambda: stats.roc([1, 2, 3, 4, 5, 2, 4, 5], [0, 0, 0, 1, 1, 1, 0, 1]),
    "RoganGladen": lambda: stats.rogan_gladen(
        [1] * 400 + [0] * 600, [1] * 200 + [0] * 200, [1] * 180 + [0] * 20 + [1] * 60 + [0] * 140
    ),
    "ScoreSets": lambda: stats.full_conformal(np.rint(quality()[1]), quality()[0].astype(int), x_new=[1, 3, 5]),
    "ScoreSets, split": lambda: stats.split_conformal(np.rint(quality(200)[1]), quality(200)[0].astype(int)),
    "Temperature": lambda: stats.temperature_curve(chances()[0], [1, 2, 3]),
    "Transport": lambda: stats.transport_test(*quality(30)),
    "VarianceComponents": lambda: stats.variance_components(draws()[:, 0]),
    "NestedComponents": lambda: stats.nested_components(draws()),
    "PassAtK": lambda: stats.compare_runs(*trials()).attempts,
    "RunComparison": lambda: stats.compare_runs(*trials()),
    "RunComparison, groups": lambda: stats.compare_runs(*trials(), groups=groups(40), null=0.1),
    "RunPlan": lambda: stats.cheapest_runs(0.05, task=0.02, trial=0.3, draw=0.1, price_task=2),
    "RunRanks": lambda: stats.rank_runs(draws()[:, :, 0], names=["w", "x", "y", "z"]),
    "TaskChanges": lambda: stats.compare_runs(*trials()).changes,
}
