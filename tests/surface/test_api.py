"""Every public name says what it is and shows its use; arrays have their verb."""

import inspect

import pytest
from gather import FACES, public

# functions on arrays that no verb of the same name in `calib` brings to tables, by the reason why
WITHOUT_VERB = {
    "`calib.summarize` takes them of each item": (
        *("entropy", "expectation", "expectation_bounds", "mode", "variance"),
    ),
    "`calib.interval` and `calib.difference` choose among them": ("mean_interval", "ppi_difference", "ppi_mean"),
    "`calib.reliability` reports them together": ("disattenuated", "label_ceiling", "icc", "krippendorff_alpha"),
    "`calib.bias` computes it of each claim, `calib.pass_fail` these of each judge": (*("instrumented", "roc"),),
    "`calib.leaderboard` reports them together": ("bradley_terry", "ppi_bradley_terry", "rank_sets"),
    "for arrays: agreement of several raters on names": ("gwet_ac",),
    "the verb has the name of the question: `calib.sensitivity`, `calib.plan`": (*("budget_plan", "g_study"),),
    "numbers in, a number out: there is no table to take": (
        *("attenuation", "draws_needed", "judge_correlation"),
        *("precision_gain", "spearman_brown"),
    ),
    "`calib.calibrate` fits them": ("annotator_logit", "calibration_map", "ordered_logit"),
    "`calib.forecast_quality` takes scores apart by it": ("corp",),
    "`calib.score_sets` and `calib.escalate` choose by them": ("accept_threshold", "full_conformal", "split_conformal"),
    "`calib.compare_runs` reports them together": (
        *("flip_rate", "nested_components", "pass_at_k", "pass_hat_k", "rank_runs"),
    ),
    "its result plans with them: `needed`, `power`": ("cheapest_runs", "run_power"),
    "about single distributions or replies, which a table of scores no longer holds": (
        *("expected_entropy", "median", "ranked_probability_score", "temper"),
    ),
    "`calib.drift` asks it of each judge": ("reading_change",),
    "`calib.gate` puts them together": ("gate_outcomes",),
    "`calib.gate_judge` asks it of each bar": ("judge_bar",),
    "takes what tables have no column for: covariates, outcomes, an own statistic, an order of arrival": (
        *("confidence_sequence", "ppi_bootstrap", "ppi_logistic", "ppi_ols", "rogan_gladen", "shift_weights"),
    ),
    "another estimand than the mean: for arrays so far": (*("ppi_proportion", "ppi_quantile", "ppi_ratio"),),
}


def documented(value: object) -> str:
    """The docstring that was written for it; a constant has none, and a dataclass one that Python makes."""
    doc = inspect.getdoc(value) or ""
    if not inspect.isclass(value):
        return doc if inspect.isfunction(value) else ""
    return doc if value.__doc__ and not doc.startswith(f"{value.__name__}(") else ""


NAMES = [f"{face}.{name}" for face in FACES for name in public(face)]


def value_of(name: str) -> object:
    face, _, last = name.rpartition(".")
    return public(face)[last]


@pytest.mark.parametrize("name", [name for name in NAMES if callable(value_of(name))])
def test_each_name_says_what_it_is(name):
    doc = documented(value_of(name))
    assert doc and doc.splitlines()[0].endswith("."), "the first line is a sentence"


def shows_its_use(name: str) -> bool:
    """Whether a name needs an example: functions, but for sets that are downloaded, and classes that users make.

    Other classes are what functions return or raise.
    """
    face, _, last = name.rpartition(".")
    value = value_of(name)
    if inspect.isclass(value):
        return face == "calib" and not issubclass(value, Exception)
    downloaded = last.startswith("load_") and last != "load_planted"
    return inspect.isfunction(value) and not downloaded


@pytest.mark.parametrize("name", [*filter(shows_its_use, NAMES)])
def test_each_function_and_each_class_that_users_make_has_an_example(name):
    assert ">>> " in documented(value_of(name))


def test_each_function_on_arrays_has_its_verb_or_is_known_to_have_none():
    arrays = {name for name, value in public("calib.stats").items() if inspect.isfunction(value)}
    verbs = {name for name, value in public("calib").items() if inspect.isfunction(value)}
    listed = [name for names in WITHOUT_VERB.values() for name in names]
    assert len(listed) == len(set(listed)), "a name has one reason"
    assert arrays - verbs - set(listed) == set(), "give these a verb in calib, or a reason in WITHOUT_VERB"
    assert set(listed) - (arrays - verbs) == set(), "these have a verb, or are gone: out of WITHOUT_VERB"
