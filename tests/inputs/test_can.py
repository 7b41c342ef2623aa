"""What tables that were taken in can answer: each verdict where it turns, and that the verbs agree with it."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.calibration.conformal import least_labels
from calib.inputs.availability import beside, possibilities
from calib.inputs.look import calls_of, copied_labels, suspicions
from calib.inputs.names import InferredTables


def scored(rater, score, criterion="quality", **more):
    score = np.asarray(score, dtype=float)
    frame = pd.DataFrame({"item": [f"i{k}" for k in range(len(score))], "score": score, **more})
    return calib.table.check_scores(
        frame.assign(rater=rater, criterion=criterion, scale="1|2|3|4|5").dropna(subset="score")
    )


def taken(scores=None, gold=None, people=None, **more):
    fields = {"sources": (), "columns": (), "scale": "", "guessed_scale": False, "items": None,
              "pairwise": False, "words": (), "notes": (), "options": {}}  # fmt: skip
    return InferredTables(scores=scores, labels=gold, annotations=gold if people is None else people, **fields | more)


def asked(intake):
    return {one.what: one for one in possibilities(intake, beside(intake))}


def judge(n=80, rater="judge", **more):
    return scored(rater, np.random.default_rng(0).integers(1, 6, n), **more)


def labels(n, of=80, **more):
    values = np.random.default_rng(1).integers(1, 6, of).astype(float)
    values[n:] = np.nan
    return scored("ann", values, **more)


MEAN, SYSTEMS, PAIRS = "human mean, with interval", "mean of each system", "difference of systems"
ITEMS, GROUPS, OVER = "agreement over items", "agreement within groups", "agreement over systems"
JUDGES, CEILING, NEEDED, CHOICE = ("judges compared", "reliability of people, ceiling of a judge", "labels needed",
    "items to label")  # fmt: skip


@pytest.mark.parametrize(("n", "possible"), [(9, False), (10, True)])
def test_an_interval_needs_ten_labels(n, possible):
    found = asked(taken(judge(), labels(n)))[MEAN]
    assert (found.possible, found.why) == (
        possible, "10 of 80 items have a label" if possible else "9 items with a label, at least 10 needed"
    )  # fmt: skip


def test_labels_for_all_items_leave_nothing_to_buy():
    found = asked(taken(judge(), labels(80)))
    assert "the judge adds nothing" in found[MEAN].why
    assert not found[NEEDED].possible


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
def test_labels_that_do_not_vary_say_nothing_of_the_judge_and_of_the_mean_only_on_a_known_scale():
    constant = labels(40).assign(score=4.0)
    found = asked(taken(judge(), constant))
    assert [found[name].possible for name in (MEAN, ITEMS, NEEDED)] == [True, False, False]
    assert found[ITEMS].why == "every label is 4"
    assert np.isfinite(calib.interval(judge(), constant).one().interval.low)
    unknown = taken(judge().assign(scale=""), constant.assign(scale=""))
    assert asked(unknown)[MEAN].why == "every label is 4"
    assert next(suspicions(beside(unknown))).startswith("all 40 labels beside judge are 4")


def design(n, systems, per_group=True):
    names = [f"s{k % systems}" for k in range(n)]
    return {"system": names} | ({"group": [f"g{k // systems}" for k in range(n)]} if per_group else {})


@pytest.mark.slow
def test_systems_with_ten_labels_each_have_means_and_differences():
    found = asked(taken(judge(**design(80, 2)), labels(20, **design(80, 2))))
    assert found[SYSTEMS].possible
    assert found[PAIRS].why == "s0 and s1, paired by 40 groups"
    assert found[OVER].why == "2 systems with labels, at least 3 needed"
    short = asked(taken(judge(**design(80, 2)), labels(19, **design(80, 2))))
    assert short[SYSTEMS].why == "at least 10 labels of each needed: s1 has 9 labels"
    assert not short[PAIRS].possible


def test_without_groups_nothing_is_paired():
    found = asked(taken(judge(**design(80, 4, per_group=False)), labels(80)))
    assert (
        found[PAIRS].why
        == "4 systems, each against the others, nothing paired, as no column says what both answered (group=, --group)"
    )
    assert found[OVER].possible
    assert "--group" in found[GROUPS].why


def test_many_systems_are_held_against_the_first():
    found = asked(taken(judge(**design(80, 8)), labels(80)))
    assert found[PAIRS].why.startswith("8 systems, s0 against the others")


def test_a_system_that_answered_a_group_twice_cannot_be_compared():
    twice = {"system": ["s0", "s1"] * 40, "group": [f"g{k // 4}" for k in range(80)]}
    found = asked(taken(judge(**twice), labels(80)))
    assert found[PAIRS].why == "a system has several items in a group"
    assert found[SYSTEMS].possible


@pytest.mark.slow
def test_one_judge_has_no_rival_and_two_have():
    assert asked(taken(judge(), labels(40)))[JUDGES].why == "one judge"
    two = pd.concat([judge(), scored("other", np.random.default_rng(5).integers(1, 6, 80))])
    assert asked(taken(two, labels(40)))[JUDGES].why == "2 judges"
    constant = pd.concat([judge(), scored("other", np.full(80, 3))])
    assert not asked(taken(constant, labels(40)))[JUDGES].possible


@pytest.mark.slow
def test_one_annotator_sets_no_ceiling():
    assert asked(taken(judge(), labels(40)))[CEILING].why == "only one annotator: at least two needed"
    bob = labels(40).assign(rater="bob")
    assert asked(taken(judge(), labels(40), pd.concat([labels(40), bob])))[CEILING].why == "2 annotators"
    apart = bob.assign(item=[f"other{k}" for k in range(40)])
    found = asked(taken(judge(), labels(40), pd.concat([labels(40), apart])))[CEILING]
    assert (found.possible, found.why) == (False, "no items with two annotators, at least 4 needed")


@pytest.mark.slow
def test_a_criterion_that_falls_short_is_named_and_left_out():
    scores = pd.concat([judge(), judge(criterion="style")])
    gold = pd.concat([labels(40), labels(5, criterion="style")])
    intake = taken(scores, gold)
    found = asked(intake)[MEAN]
    assert (found.possible, found.whole, found.criteria) == (True, False, ("quality",))
    assert found.why.endswith("; not for style: 5 items with a label, at least 10 needed")
    assert calls_of(intake, [found])[1][1] == 'calib.interval(criterion="quality")'


def test_what_is_missing_is_said_of_its_side():
    assert asked(taken(judge()))[MEAN].why == "there are no labels of people"
    assert asked(taken(None, labels(40)))[MEAN].why == "there are no scores of a judge"
    strangers = labels(40).assign(item=[f"x{k}" for k in range(40)])
    assert asked(taken(judge(), strangers))[MEAN].why == "no item has both a score of the judge and a label"


def test_items_are_drawn_where_nothing_is_labelled():
    found = asked(taken(judge()))[CHOICE]
    assert (found.possible, dict(found.options)) == (True, {"n": 50})
    assert asked(taken(judge(12)))[CHOICE].options == {"n": 12}
    assert not asked(taken(judge(), labels(10)))[CHOICE].possible
    assert asked(taken(pd.concat([judge(), judge(rater="other")])))[CHOICE].options == {"n": 50}
    assert "the same items" in asked(taken(pd.concat([judge(), judge(12, rater="other")])))[CHOICE].why


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "of"), [(10, 20), (10, 1000), (40, 100), (30, 60)])
def test_the_width_that_is_asked_for_can_be_reached(seed, n, of):
    values = np.random.default_rng(seed).integers(1, 6, of).astype(float)
    values[n:] = np.nan
    scores, gold = judge(of), scored("ann", values)
    found = asked(taken(scores, gold))[NEEDED]
    plan = calib.labels_needed(scores, gold, **found.options).one()
    now = calib.interval(scores, gold, estimator="classical").one().interval
    assert found.options["half_width"] < (now.high - now.low) / 2
    assert plan.n_labels_alone > n


@pytest.mark.slow
def test_what_nobody_means_is_said():
    copied = labels(40).assign(rater="judge")
    notes = list(suspicions(beside(taken(copied, labels(40)))))
    assert notes == ["judge says what people say of all 40 labelled items: is it a copy of the labels?"]
    constant = judge().assign(score=3.0)
    assert list(suspicions(beside(taken(constant, labels(40))))) == [
        "judge gives 3 to every item: it does not distinguish them."
    ]
    assert not list(suspicions(beside(taken(judge(), labels(40)))))
    twice = taken(judge(), labels(40), pd.concat([labels(40), labels(40).assign(rater="bob")]))
    assert list(copied_labels(twice)) == ["ann and bob say the same of all 40 items of quality: is one a copy?"]
    assert not list(copied_labels(taken(judge(), labels(40), pd.concat([labels(40), judge(rater="bob")]))))


@pytest.mark.slow
def test_a_judge_that_lacks_the_labelled_items_stands_in_the_way():
    other = scored("other", np.random.default_rng(5).integers(1, 6, 80))
    late = other[~other["item"].isin(labels(40)["item"])]
    found = asked(taken(pd.concat([judge(), late]), labels(40)))
    assert (found[MEAN].possible, found[MEAN].why) == (False, "no items with a label, at least 10 needed")
    assert not found[ITEMS].possible
    few = other[~other["item"].isin(labels(20)["item"])]
    assert asked(taken(pd.concat([judge(), few]), labels(40)))[MEAN].why == "20 to 40 of 60 to 80 items have a label"


def test_nothing_to_type_where_nothing_can_be_computed():
    intake = taken(judge(2), labels(2, of=2))
    assert calls_of(intake, ()) == ((), ())


# --- one item's score -------------------------------------------------------------------------------------------


MEANT, SETS = "what people would say of each item", "set of labels for each item"
ALONE = "what the judge may decide alone"
LEAST = {MEANT: 10, SETS: least_labels(0.9)}


@pytest.mark.slow
@pytest.mark.parametrize(("what", "least"), LEAST.items())
def test_what_is_said_of_each_item_needs_the_labels_of_its_law(what, least):
    few, enough = (asked(taken(judge(), labels(n)))[what] for n in (least - 1, least))
    assert (few.possible, few.why) == (False, f"{least - 1} items with a label, at least {least} needed")
    assert enough.possible


def test_labels_of_all_items_leave_none_to_decide():
    found = asked(taken(judge(), labels(80)))
    assert [found[name].possible for name in (MEANT, SETS, ALONE)] == [True, False, False]
    assert found[SETS].why == found[ALONE].why == "all items have a label"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
def test_labels_drawn_with_unlike_chances_are_for_the_map_alone():
    scores = judge().assign(entropy=np.linspace(0.1, 1, 80))
    drawn = calib.choose(scores, 40, design="active", rng=3)
    gold = labels(80).loc[drawn["chosen"].to_numpy()]
    found = asked(taken(drawn, gold))
    assert [found[name].possible for name in (MEANT, SETS, ALONE)] == [True, False, False]
    assert found[SETS].why == "the labelled items were drawn with chances that differ"
    for refused, options in ((calib.score_sets, {}), (calib.escalate, {"label_threshold": 4})):
        with pytest.raises(calib.table.TableError, match=r"same chance|with one probability"):
            refused(drawn, gold, **options)


def test_labels_of_very_many_values_are_on_no_scale():
    values = scored("ann", np.r_[np.linspace(1, 5, 60), np.full(20, np.nan)]).assign(scale="")
    found = asked(taken(judge().assign(scale=""), values))[MEANT]
    assert (found.possible, found.why) == (False, "labels have 60 values, at most 25 allowed (scale=, --scale)")
    with pytest.raises(calib.table.TableError, match="2 to 25 values"):
        calib.calibrate(judge().assign(scale=""), values)


def test_a_judge_of_one_score_says_nothing_of_single_items():
    constant = judge().assign(score=3.0)
    found = asked(taken(constant, labels(30)))
    assert [found[name].why for name in (MEANT, SETS, ALONE)] == ["every score of judge is 3"] * 3


def test_of_preferences_it_is_said_which_are_for_people():
    pair = {"system": ["a", "b"] * 40, "group": [f"g{k // 2}" for k in range(80)]}
    found = asked(taken(judge(**pair), labels(40), pairwise=True))
    assert MEANT not in found
    assert SETS not in found
    assert found[ALONE].possible


@pytest.mark.slow
def test_the_calls_of_one_item_are_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judge().to_csv("judge.csv", index=False)
    labels(30).to_csv("people.csv", index=False)
    seen = str(calib.look("judge.csv", "people.csv"))
    for line in ("calib calibrate", "calib score-sets"):
        assert f"  {line} judge.csv people.csv\n" in seen
    assert "what the judge may decide alone: people's scale has 5 values: give label_threshold=" in " ".join(
        seen.split()
    )
    for line in ("calibrate", "score_sets"):
        assert f'  calib.{line}("judge.csv", "people.csv")\n' in seen
