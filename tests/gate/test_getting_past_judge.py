"""Ways to have a judge trusted by labels that are not people's, not of its readings, or not a random sample of them."""

import warnings

import numpy as np
import pandas as pd
import pytest

import calib

N = 180
ITEMS = [f"q{k}" for k in range(N)]


def table(score, rater, method, **more):
    at = {"item": ITEMS[: len(score)], "criterion": "tone", "scale": "0|1", "rater": rater, "method": method}
    return pd.DataFrame(at | {"score": np.asarray(score, dtype=float)} | more)


def made(right=0.96, seed=1):
    """A judge that agrees with people on the first 100 items, and not on the others."""
    rng = np.random.default_rng(seed)
    label = (rng.random(N) < 0.6).astype(float)
    score = np.where(rng.random(N) < np.where(np.arange(N) < 100, right, 0.5), label, 1 - label)
    return table(score, "gpt", "sample"), table(label, "ann", "human")


SCORES, LABELS = made()
FIRST = SCORES[:100], LABELS[:100]


def asked(scores, labels, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", calib.stats.CalibWarning)
        return calib.gate_judge(scores, labels, **{"kappa": 0.6} | options)


def test_the_judge_is_trusted_on_the_first_items_alone():
    assert asked(*FIRST).outcome == "trusted"
    assert asked(SCORES, LABELS).outcome != "trusted"


# --- whose output, and whose label ------------------------------------------------------------------------------------


@pytest.mark.parametrize("systems", ["v1", ["v1"] * 60 + ["v2"] * 40])
def test_labels_of_a_named_system_need_scores_that_name_theirs(systems):
    with pytest.raises(ValueError, match=r"`scores` must have a column `system`.* the labels are of 'v1'"):
        asked(FIRST[0], FIRST[1].assign(system=systems))


@pytest.mark.parametrize(("others", "outcome"), [(5, "trusted"), (80, "inconclusive")])
def test_labels_of_other_systems_count_as_missing(others, outcome):
    keep = 100 + others
    labels = LABELS[:keep].assign(system=["b1"] * 100 + ["b1 old"] * others)
    verdict = asked(SCORES[:keep].assign(system="b1"), labels)
    assert verdict.outcome == outcome
    assert any(f"{others} labels of 'b1 old'" in note for note in verdict.notes)


def test_labels_that_are_all_of_another_system_are_refused():
    with pytest.raises(ValueError, match=r"must be of what was scored \('b1'\), but 100 labels of 'v1'"):
        asked(FIRST[0].assign(system="b1"), FIRST[1].assign(system="v1"))


def test_a_system_without_labels_is_named():
    verdict = asked(SCORES.assign(system=["v1"] * 100 + ["v2"] * 80), FIRST[1].assign(system="v1"))
    assert "unlabelled: tone: no label is of 'v2': nothing was checked there" in verdict.notes


@pytest.mark.parametrize("rater", ["gpt", "GPT-4o", "claude-3-opus"])
def test_a_model_does_not_label(rater):
    own = FIRST[0].assign(method="human", rater=rater)
    with pytest.raises(ValueError, match="`labels` must be people's"):
        asked(FIRST[0], pd.concat([own, FIRST[1]]))


def test_labels_that_are_the_judges_scores_decide_nothing():
    five = FIRST[0].assign(score=np.arange(100) % 5 + 1.0, scale="1|2|3|4|5")
    verdict = asked(five, five.assign(rater="ann", method="human"))
    assert verdict.outcome == "inconclusive"
    assert "all 100 labels are the judge's scores" in str(verdict)


# --- what is unread ---------------------------------------------------------------------------------------------------


def test_unread_replies_stand_in_every_form():
    verdict = asked(SCORES[:105].assign(score=SCORES["score"][:105].where(np.arange(105) < 100)), LABELS[:105])
    assert verdict.outcome == "trusted"
    assert "(100 labels, 5 unread)" in str(verdict)
    assert "unread: 5 of 105 labelled items have no score" in verdict.markdown()


@pytest.mark.parametrize(("unread", "outcome"), [(1, "inconclusive"), (0, "trusted")])
def test_draws_that_gave_no_score_count(unread, outcome):
    verdict = asked(FIRST[0].assign(n=10, n_unread=unread, sd=0.0), FIRST[1])
    assert verdict.outcome == outcome
    assert ("of the replies about 100 labelled items 9.1 % gave no score" in str(verdict)) == bool(unread)


# --- what was drawn ---------------------------------------------------------------------------------------------------


def test_labels_drawn_by_unequal_chances_are_refused():
    drawn = {"chosen": np.arange(N) < 100, "stratum": 1, "design": "active"}
    chances = np.where(np.arange(N) % 2, 0.2, 0.8)
    with pytest.raises(ValueError, match=r"must be drawn with one chance.*chances of 0.2 to 0.8"):
        asked(SCORES.assign(**drawn, inclusion=chances), FIRST[1])
    assert asked(SCORES.assign(**drawn, inclusion=0.5), FIRST[1]).outcome == "trusted"


def test_labels_that_follow_the_scores_are_no_random_sample():
    passed = SCORES[SCORES["score"] == 1]["item"]
    some = LABELS[LABELS["item"].isin([*passed[:70], *SCORES[SCORES["score"] == 0]["item"][:5]])]
    verdict = asked(SCORES, some, kappa=None, tpr=0.3)
    assert verdict.outcome == "inconclusive"
    assert "are the labels of a random sample?" in str(verdict)


# --- columns and copies -----------------------------------------------------------------------------------------------


def test_segments_and_groups_of_both_tables_must_agree():
    language = ["de"] * 20 + ["en"] * 80
    for name, option in (("language", "by"), ("group", "groups")):
        labels = FIRST[1].assign(**{name: language})
        with pytest.raises(ValueError, match=f"`{option}` must .*'{name}' differs in 20 items, such as 'q0'"):
            asked(FIRST[0].assign(**{name: "en"}), labels, **{option: name})
        assert len(asked(FIRST[0].assign(**{name: language}), labels, **{option: name}).checks) == 2 - (option != "by")
    filled = asked(
        FIRST[0].assign(language=[None] * 20 + ["en"] * 80), FIRST[1].assign(language=language), by="language"
    )
    assert [label["language"] for label in filled.checks.labels] == ["de", "en"]


def test_items_of_one_text_are_one_group():
    mine = pd.DataFrame({"id": range(100), "judge": FIRST[0]["score"], "label": FIRST[1]["score"]})
    mine = pd.concat([mine[:12]] * 20).assign(id=range(240))
    options = {"judge": "judge", "label": "label", "scale": "0|1"}
    texts = [f"text {k}" for k in range(12)] * 20
    assert asked(mine, None, **options).outcome == "trusted"
    for name in ("output", "question"):
        verdict = asked(mine.assign(**{name: texts}), None, **options)
        assert verdict.outcome == "inconclusive"
        assert "in 12 groups" in str(verdict)
        assert any(note.startswith("same_texts: 228 of 240 labelled items") for note in verdict.notes)
    assert any(note.startswith("no_ids: 240 rows") for note in asked(mine.drop(columns="id"), None, **options).notes)


def test_scores_on_two_scales_are_refused():
    with pytest.raises(ValueError, match="must be on one scale"):
        asked(FIRST[0].assign(scale=["0|1"] * 50 + ["0|1|2"] * 50), FIRST[1])


def test_labels_that_are_all_alike_show_no_agreement():
    """Of which a bar on one of the two rates alone would know nothing."""
    passed = LABELS[LABELS["score"] == 1]
    verdict = asked(SCORES[SCORES["item"].isin(passed["item"])], passed, kappa=None, tpr=0.1)
    assert verdict.outcome == "inconclusive"
    assert "all labels are 1: agreement beyond chance is not defined" in str(verdict)
