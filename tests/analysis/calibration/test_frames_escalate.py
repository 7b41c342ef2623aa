"""What judges decide and what goes to people, on tables: votes, calibrated confidences, designs, costs."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as laws

import calib
from calib.stats import ArgumentError
from calib.table import TableError


def study(n=600, seed=0, spread=0.6, levels=5):
    """Scores of a judge, and labels of all items; a document has four items."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=n)
    judged = latent + rng.normal(size=n) * spread
    ends = np.linspace(-1.2, 1.2, levels - 1)
    facts = {"item": [f"i{i:04}" for i in range(n)], "group": [f"d{i // 4}" for i in range(n)], "criterion": "c"}
    scale = "|".join(str(level) for level in range(1, levels + 1))
    judge = pd.DataFrame(facts | {"rater": "judge", "score": np.digitize(judged, ends) + 1.0, "scale": scale})
    people = pd.DataFrame(facts | {"rater": "ann", "method": "human", "score": np.digitize(latent, ends) + 1.0})
    return judge.assign(method="given"), people.assign(scale=scale)


def juries(n=600, seed=0, raters=5, right=0.85):
    """Yes and no of several judges, each right as often, and of people."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    facts = {"item": [f"i{i:04}" for i in range(n)], "criterion": "c", "scale": "0|1"}
    easy = np.where(rng.random(n) < 0.7, 0.99, right - 0.3)
    judges = [
        pd.DataFrame(facts | {"rater": f"r{j}", "score": np.where(rng.random(n) < easy, truth, 1 - truth) * 1.0})
        for j in range(raters)
    ]
    people = pd.DataFrame(facts | {"rater": "ann", "method": "human", "score": truth * 1.0})
    return pd.concat(judges, ignore_index=True).assign(method="given"), people


def some(people, n, seed=1):
    return people.sample(n, random_state=seed)


def test_what_is_accepted_and_what_goes_to_people_are_all_items():
    judge, people = study()
    labels = some(people, 200)
    found = calib.escalate(judge, labels, label_threshold=4, risk=0.15).one()
    assert 0 < found.n_accepted < found.n == 600
    assert len(found.accepted) == found.n_accepted
    assert found.accepted["confidence"].is_monotonic_decreasing
    assert found.escalated["confidence"].is_monotonic_increasing
    rest = found.items[found.items["decided_by"] == ""]
    assert set(found.accepted["item"]) | set(rest["item"]) == set(judge["item"])
    assert set(found.escalated["item"]) == set(rest["item"]) - set(labels["item"])
    assert found.n_escalated == len(found.escalated)
    labelled = found.n - found.n_accepted - found.n_escalated
    assert labelled and f"{found.n_escalated} are for people, {labelled} more have a label already" in str(found)
    assert found.items.groupby("score")["decided_by"].nunique().max() == 1, "items of one score are never split"
    assert found.items.groupby("score")["confidence"].nunique().max() == 1
    assert set(found.items["verdict"]) == {0.0, 1.0}
    of_people = found.items.set_index("item")["label"].dropna()
    pd.testing.assert_series_equal(
        of_people.sort_index(),
        labels.set_index("item")["score"].sort_index(),
        check_names=False,
        check_index_type=False,
    )


def test_the_list_for_people_goes_on_to_choose_items_and_a_page(tmp_path):
    judge, people = study()
    found = calib.escalate(judge, some(people, 200), label_threshold=4, risk=0.15).one()
    drawn = calib.choose(found.escalated, 10, rng=1)
    assert drawn["chosen"].sum() == 10
    texts = pd.DataFrame({"item": judge["item"], "output": "a text of " + judge["item"]})
    calib.label(texts, found.escalated.head(5), path=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert all(item in page for item in found.escalated["item"].head(5))


def test_votes_of_several_judges_are_the_confidence_and_no_label_is_asked():
    judges, people = juries()
    found = calib.escalate(judges, some(people, 100), inputs="raters").one()
    votes = judges.groupby("item")["score"].mean().reindex(found.items["item"])
    np.testing.assert_allclose(found.items["confidence"], np.maximum(votes, 1 - votes))
    np.testing.assert_array_equal(found.items["verdict"], votes >= 0.5)
    assert found.exact
    assert found.confidence == "votes"
    other = calib.escalate(judges, some(people, 100, seed=2), inputs="raters").one()
    np.testing.assert_array_equal(found.items["confidence"], other.items["confidence"])


def test_draws_of_one_judge_are_votes():
    items, people = calib.load_planted()
    judge = calib.Judge("offline", method="sample", draws=5)
    ratings = calib.rate(items, calib.geval_prompt("coherence"), judge, progress=False)
    human = calib.summarize(people, items, pool="rater")
    asked = {"risk": 0.3, "within": 1}
    voted = calib.escalate(ratings, human, **asked).one()
    assert (voted.confidence, voted.exact) == ("votes", True)
    assert calib.escalate(ratings, human, confidence="calibrated", **asked).one().confidence == "calibrated"
    assert calib.escalate(calib.summarize(ratings, items), human, **asked).one().confidence == "calibrated"


def test_a_lenient_judge_on_another_scale_is_calibrated():
    judge, people = study()
    labels = some(people, 200)
    lenient = judge.assign(score=judge["score"] * 10 + 50, scale="0..100")
    plain, other = (calib.escalate(one, labels, label_threshold=4, risk=0.15).one() for one in (judge, lenient))
    assert other.n_accepted == plain.n_accepted
    np.testing.assert_array_equal(other.items["verdict"], plain.items["verdict"])


def test_within_says_how_far_off_a_verdict_may_be():
    judge, people = study(spread=0.4)
    labels = some(people, 300)
    shares = [calib.escalate(judge, labels, within=within, risk=0.1).one().accepted_share for within in (0, 1, 2)]
    assert shares[0] < shares[1]
    assert shares[2] == 0, "3 is never farther than 2 off: that takes no judge"
    two, labels = study(levels=3)
    assert calib.escalate(two, labels).one().verdict == "which label"


def test_on_a_scale_of_many_values_what_is_wrong_has_to_be_said():
    judge, people = study()
    message = r"`label_threshold` must say.*or `within` how far.*people's scale has 5 values"
    with pytest.raises(ArgumentError, match=message):
        calib.escalate(judge, some(people, 200))


def test_what_a_verdict_is_stands_wherever_its_errors_are_promised():
    judge, people = study(spread=0.4)
    rules = [({"within": 1}, "which label, give or take 1"), ({"label_threshold": 4}, "whether people say 4 or more")]
    for options, words in rules:
        for n in (15, 300):  # nothing is accepted, and much
            found = calib.escalate(judge, some(people, n), risk=0.1, **options)
            assert bool(found.one().n_accepted) == (n == 300)
            assert f"verdicts ({words}) differ from people's" in str(found.one())
            assert f"verdicts ({words}) differ from people's" in found.conclusion
            assert set(found.to_frame()["verdict"]) == {words}


def test_a_column_of_confidences_stands_beside_the_judges_own_verdicts():
    judge, people = study()
    judge["sure"] = np.abs(judge["score"] - 3.5)
    found = calib.escalate(judge, some(people, 150), label_threshold=4, confidence="sure", risk=0.2).one()
    assert found.exact
    np.testing.assert_array_equal(found.items["verdict"], found.items["score"] >= 4)
    np.testing.assert_allclose(found.items["confidence"], judge["sure"])


def test_a_number_between_two_levels_is_a_verdict_for_the_nearest():
    """A judge that gives .86 for a yes is right where people say yes."""
    judges, people = juries(raters=1)
    chance = np.where(judges["score"] == 1, 0.86, 0.14)
    sure = np.random.default_rng(3).random(600)
    asked = {"confidence": "sure", "risk": 0.3}
    chances, labels = judges.assign(score=chance, scale="0..1", sure=sure), some(people, 200)
    plain = calib.escalate(judges.assign(sure=sure), labels, **asked).one()
    for options in ({}, {"label_threshold": 1}):
        found = calib.escalate(chances, labels, **options, **asked).one()
        np.testing.assert_array_equal(found.items["verdict"], judges["score"])
        assert options or found.n_accepted == plain.n_accepted > 0
    judge, labels = study()
    scores = (judge["score"] + np.tile([-0.5, 0.49], 300)).clip(1, 5)
    between = judge.assign(score=scores, scale="1..5", sure=1.0)
    found = calib.escalate(between, labels.head(9), confidence="sure", within=0).one()
    np.testing.assert_array_equal(found.items["verdict"], judge["score"])


def test_labels_of_whole_documents_count_as_documents():
    judge, people = study()
    whole = people[people["group"].isin([f"d{i}" for i in range(25)])]
    found = calib.escalate(judge, whole, label_threshold=4, risk=0.15).one()
    assert "whole_groups" in str(found)
    assert (found.n_labels, found.n_groups) == (100, 25)
    spread = calib.escalate(judge, some(people, 100), label_threshold=4, risk=0.15).one()
    assert "whole_groups" not in str(spread)
    assert spread.n_groups == 100
    page = calib.report(calib.escalate(judge, some(people, 100), label_threshold=4, risk=0.15)).text
    assert "labels 100, independent ones 100" in page
    assert calib.escalate(judge, whole, label_threshold=4, risk=0.15, groups=None).one().n_groups == 100


@pytest.mark.parametrize("design", ["simple", "groups"])
def test_choose_items_draws_labels_for_it(design):
    judge, people = study()
    drawn = calib.choose(judge, 120, design=design, rng=3)
    labels = people[people["item"].isin(drawn.loc[drawn["chosen"], "item"])]
    found = calib.escalate(drawn, labels, label_threshold=4, risk=0.2).one()
    assert ("whole_groups" in str(found)) == (design == "groups")
    assert "labels_incomplete" in str(calib.escalate(drawn, labels.iloc[1:], label_threshold=4, risk=0.2).one())


def test_labels_drawn_with_unlike_chances_are_refused_with_what_to_do():
    judge, people = study()
    drawn = calib.choose(judge.assign(entropy=np.linspace(0.1, 1, 600)), 120, design="active", rng=3)
    labels = people[people["item"].isin(drawn.loc[drawn["chosen"], "item"])]
    with pytest.raises(TableError, match=r"same chance to be drawn.*choose\(scores, n\)"):
        calib.escalate(drawn, labels, label_threshold=4)


@pytest.mark.long
@pytest.mark.slow
def test_two_judges_in_turn_keep_the_promise_together():
    """Two judges of like error, whose confidences say a little: the risk of all that is accepted, 300 drawings."""
    rng, runs, broken = np.random.default_rng(8), 300, 0
    judges, people = juries(n=1500, raters=2, right=0.6)
    truth = people.set_index("item")["score"]
    judges["sure"] = np.where(rng.random(len(judges)) < 0.5, 1.0, 0.5) + (judges["score"] == 1) * 0.01
    small, large = (judges[judges["rater"] == name] for name in ("r0", "r1"))
    asked = {"confidence": "sure", "risk": 0.17, "confidence_level": 0.95}
    for run in range(runs):
        labels = some(people, 250, seed=run)
        first = calib.escalate(small, labels, **asked).one()
        left = first.items.loc[first.items["decided_by"] == "", "item"]
        accepted = [first.accepted]
        if len(left):
            second = calib.escalate(large[large["item"].isin(left)], labels[labels["item"].isin(left)], **asked).one()
            accepted.append(second.accepted)
        accepted = pd.concat(accepted)
        broken += len(accepted) > 0 and (accepted["verdict"] != truth.loc[accepted["item"]].to_numpy()).mean() > 0.17
    assert laws.binomtest(broken, runs, 0.1, alternative="greater").pvalue > 0.001


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")
def test_a_judge_that_knows_nothing_keeps_the_promise_with_learned_confidences(n):
    """People pass 83.5 % of the items, so that every verdict of a judge that guesses is wrong too often."""
    rng, runs, broken = np.random.default_rng(n), 200, 0
    for _ in range(runs):
        files = {"item": np.arange(1500), "score": rng.integers(1, 6, 1500).astype(float), "criterion": "c"}
        judge = pd.DataFrame(files | {"rater": "judge", "method": "given", "scale": "1|2|3|4|5"})
        label = np.digitize(rng.random(1500), [0.04, 0.08, 0.165, 0.6]) + 1.0
        people = judge.assign(score=label, rater="ann", method="human")
        found = calib.escalate(judge, people.head(n), label_threshold=4, risk=0.15).one()
        verdict, accepted = found.items["verdict"], found.items["decided_by"] != ""
        wrong = (label[accepted] >= 4) != verdict[accepted]
        broken += bool(accepted.any() and wrong.mean() > 0.15)
    assert laws.binomtest(broken, runs, 0.1, alternative="greater").pvalue > 0.001


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"risk": 0.0}, "`risk` must be between 0 and 1"),
        ({"confidence_level": 1.0}, "`confidence_level` must be between 0 and 1"),
        ({"label_threshold": 9}, "`label_threshold` must be above 1 and at most 5"),
        ({"label_threshold": 1}, "`label_threshold` must be above 1"),
        ({"within": -1}, "`within` must be 0 or more"),
        ({"within": 1, "label_threshold": 3}, "`within` says what a verdict is without `label_threshold`"),
        ({"inputs": "jury"}, "`inputs`"),
        ({"confidence": "nothing", "within": 1}, "`confidence` must be 'votes', 'calibrated' or a column"),
        ({"confidence": "votes", "within": 1}, "`confidence` needs several replies"),
        ({"prices": {"judge": 1}}, "`prices` must have the price of a 'label'"),
        ({"prices": {"label": -1}}, "`prices` must be 0 or more"),
        ({"prices": {"label": 1, "r1": 0.1}}, "`prices` must be of a 'label' and a 'judge'"),
        ("no labels", "`labels` must have labels, but all of c, judge, ann are missing"),
    ],
)
def test_bad_input_is_refused(change, message):
    judge, people = study(80)
    people = people.assign(score=np.nan) if change == "no labels" else people
    with pytest.raises((ArgumentError, TableError), match=message):
        calib.escalate(judge, people, **({} if change == "no labels" else change))


def test_of_nothing_accepted_the_nearest_threshold_is_told():
    judge, people = study(spread=2.0)
    result = calib.escalate(judge, some(people, 200), label_threshold=4, risk=0.1, prices={"label": 2})
    found = result.one()
    assert found.n_accepted == len(found.accepted) == 0
    assert "The judge may decide none of the 600 items" in result.conclusion
    tested = [point for point in found.test.curve if point.tested_at > 0]
    near = found.test.nearest
    assert tested
    assert near.tested_bound == min(point.tested_bound for point in tested) > 0.1
    words = f"{near.errors} errors in {near.m} labels show a risk of {near.tested_bound:.4g} at most"
    assert words in str(found)
    assert words in result.conclusion
    assert f"Of 600 items {found.n_escalated} are for people, 200 more have a label already" in str(found)
    assert "That costs 1200, people for all 1200." in result.conclusion
    assert found.curve.loc[found.curve["tested_at"] > 0, "tested_bound"].min() == near.tested_bound


def test_it_is_said_in_a_sentence_with_its_cost():
    judges, people = juries()
    found = calib.escalate(judges, some(people, 150), inputs="raters", prices={"label": 2, "judge": 0.01})
    one = found.one()
    share = f"{100 * one.accepted_share:.3g}"
    assert f"may decide {share} % of the 600 items alone. With 90 % confidence at most 10 %" in found.conclusion
    assert f"That costs {one.cost:.6g}, people for all 1200." in found.conclusion
    assert one.cost == pytest.approx(600 * 0.01 + 2 * (one.n_escalated + 150))
    assert one.cost_of_labels == 1200


def test_hostile_names_are_data():
    judges, people = juries(raters=3)
    names = {"r0": "<b>r\x1b[31m</b>", "r1": "=HYPERLINK(1)", "r2": "\u202er"}
    judges["rater"] = judges["rater"].map(names)
    found = calib.escalate(judges, some(people, 150), risk=0.3)
    assert len(found) == 3
    assert "\x1b" not in found.conclusion
    assert "\u202e" not in found.conclusion


def test_a_judge_without_any_confidence_is_refused_by_its_name():
    judges, people = juries(raters=2)
    judges["sure"] = np.where(judges["rater"] == "r0", 0.9, np.nan)
    with pytest.raises(ArgumentError, match=r"r1.*`scores` must have a confidence at least, but has none"):
        calib.escalate(judges, some(people, 150), confidence="sure")
