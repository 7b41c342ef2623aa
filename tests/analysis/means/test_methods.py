"""The table of estimators: each can be asked for or is what "auto" becomes, and says what it needs by itself."""

from itertools import product

import numpy as np
import pytest
from specimens import MADE

from calib.analysis.means.methods import ESTIMATORS, METHODS, PEERS, kind_of
from calib.core.check import ArgumentError
from calib.stats import Design, mean_interval, ppi_difference, ppi_mean, ppi_proportion

RNG = np.random.default_rng(0)
Y = RNG.integers(1, 6, 30).astype(float)
F, U = np.clip(Y + RNG.normal(0, 0.7, 30), 1, 5), RNG.uniform(1, 5, 200)
X, X_U = np.ones((30, 1)), np.ones((200, 1))
SEQUENCE = "ConfidenceSequence"
KINDS = [
    kind_of(bounded=bounded, binary=binary, conservative=conservative, judged=judged)
    for bounded, binary, conservative in [(False,) * 3, *((True, *rest) for rest in product((False, True), repeat=2))]
    for judged in (True, False)
]


def test_the_table_holds_what_one_can_ask_for_and_what_auto_becomes():
    assert set(METHODS) == {*ESTIMATORS, *KINDS}
    assert len(KINDS) == 10


@pytest.mark.parametrize("name", METHODS)
def test_the_measure_of_each_is_an_interval_of_the_labels_alone(name):
    method = METHODS[name]
    assert method.judged == (method.alone != name)
    if method.alone:
        assert METHODS[method.alone].alone == method.alone
        assert METHODS[method.alone].words.startswith("people alone")


@pytest.mark.parametrize("name", KINDS)
def test_what_auto_becomes_needs_what_auto_needs(name):
    assert METHODS[name].needs == METHODS["auto"].needs


@pytest.mark.parametrize("name", ESTIMATORS)
def test_few_labels_are_refused_as_the_table_says(name):
    needs = METHODS[name].needs
    few = max(needs.labels, 2)
    if needs.min_labels:
        with pytest.raises(ValueError, match=r"^`y` must have 10 labels at least"):
            ppi_mean(Y[:9], F[:9], U, estimator=name)
    assert ppi_mean(Y[:few], F[:few], U, estimator=name, min_labels=2).n_labels in (few, 0)


CALLS = {
    "mean": lambda **o: ppi_mean(Y, F, U, **o),
    "difference": lambda **o: ppi_difference(
        np.append(Y, np.nan), np.append(F, 3), np.append(F, 3), np.append(Y, 2), **o
    ),
    "labels": lambda **o: mean_interval(Y, **o),
    "share": lambda **o: ppi_proportion(Y, F, U, above=4, **o),
}


@pytest.mark.parametrize("program", PEERS)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_other_programs_compute_is_not_here(call, program):
    with pytest.raises(ArgumentError, match=rf"but got '{program}': .*`paper_repro/oracles.py`") as caught:
        call(estimator=program)
    assert caught.value.argument == "estimator"


# --- results ----------------------------------------------------------------------------------------------------

RESULTS = [name for name in MADE if name.partition(",")[0].endswith("Estimate") or name in ("RoganGladen", SEQUENCE)]


@pytest.mark.parametrize("name", RESULTS)
def test_the_ends_of_an_interval_are_attributes_by_the_names_of_their_columns(name):
    pytest.importorskip("pandas")
    result = MADE[name]()
    frame = result.to_frame()
    for end in ("conf_low", "conf_high"):
        np.testing.assert_array_equal(np.ravel(getattr(result, end)), frame[end])


# --- how the labels were drawn ----------------------------------------------------------------------------------

DESIGNS = {
    "groups": {"groups": np.arange(30) // 3, "groups_unlabeled": 10 + np.arange(200) // 4},
    "strata": {"strata": np.arange(30) % 2, "strata_unlabeled": np.arange(200) % 2},
    "weights": {"weights": 1 + np.arange(30) % 3, "weights_unlabeled": np.ones(200), "inclusion": np.full(30, 0.2)},
    "ids": {"items": np.arange(30), "items_unlabeled": 29 + np.arange(200), "tuned_on_labels": True},
}


@pytest.mark.parametrize("drawn", DESIGNS.values(), ids=DESIGNS)
def test_a_design_is_its_fields(drawn):
    for call in (CALLS["mean"], CALLS["share"]):
        whole, parts = call(design=Design(**drawn)), call(**drawn)
        assert repr(whole._rows()) == repr(parts._rows())
        assert whole.warnings == parts.warnings
    assert repr(CALLS["mean"](**drawn)._rows()) != repr(CALLS["mean"]()._rows())


def test_a_difference_knows_its_design():
    y, f = np.append(Y, [np.nan] * 20), np.append(F, U[:20])
    groups = np.arange(50) // 2
    result = ppi_difference(y, y[::-1], f, f[::-1], design=Design(groups=groups), min_labels=2)
    assert result.design == "groups"
    assert result.interval == ppi_difference(y, y[::-1], f, f[::-1], groups=groups, min_labels=2).interval


def test_a_design_comes_once():
    with pytest.raises(ValueError, match=r"^`design` must come without `groups`, but both came\.$"):
        ppi_mean(Y, F, U, design=Design(), groups=np.arange(30))
    with pytest.raises(ArgumentError, match="`design` must be a `Design`, but got dict"):
        CALLS["mean"](design={"groups": [1]})
    with pytest.raises(TypeError, match="'grups' is no argument of this function and no field of `Design`"):
        CALLS["mean"](grups=[1])
