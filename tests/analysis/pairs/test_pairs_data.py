"""Pairs on real data: LLMBar's position bias, AlpacaEval's win rate at equal length."""

import pytest

import calib
from calib import datasets
from calib.datasets import DatasetError


@pytest.fixture(scope="module")
def llmbar():
    try:
        return datasets.load_llmbar()
    except DatasetError as error:
        pytest.skip(str(error))


def test_position_bias_of_four_judges(llmbar):
    _, ratings = llmbar
    with pytest.warns(UserWarning, match="one_order: 5 of 1676 pairs"):
        results = calib.position_bias(ratings[ratings["rater"] != "gold"])
    found = {(label["rater"], label["prompt"]): one for label, one in zip(results.labels, results, strict=True)}
    # computed independently from the same files
    golden = {
        ("GPT-4", "Vanilla"): (20, 10, 0.098737, 0.9284),
        ("GPT-4", "CoT"): (32, 13, 0.0066088, 0.8926),
        ("ChatGPT", "Vanilla"): (133, 10, 1.383e-28, 0.6587),
    }
    for who, (f, s, p, consistency) in golden.items():
        one = found[who]
        assert (one.n_first, one.n_second, one.n) == (f, s, 419)
        assert one.p_value == pytest.approx(p, rel=5e-4)
        assert one.consistency == pytest.approx(consistency, abs=5.1e-5)
    assert found["ChatGPT", "CoT"].n_one_order == 5


def test_summaries_and_two_tables_say_the_same(llmbar):
    items, ratings = llmbar
    judged = ratings[(ratings["rater"] == "GPT-4")]
    one, two = (judged[judged["shown_first"] == order] for order in "ab")
    forms = [calib.position_bias(judged), calib.position_bias(calib.summarize(judged, items))]
    forms.append(calib.position_bias(one, two))
    assert len({tuple(found.to_frame()["p_value"]) for found in forms}) == 1


def test_agreement_with_gold_beside_accuracy_over_both_orders(llmbar):
    _, ratings = llmbar
    gold = ratings["rater"] == "gold"
    found = calib.pairwise_agreement(ratings[ratings["rater"] == "GPT-4"], ratings[gold])["Vanilla"].one()
    assert (found.n, found.n_order_ties) == (419, 30)
    # a pair whose orders disagree is right once: half of an accuracy over both orders
    judged = ratings[(ratings["rater"] == "GPT-4") & (ratings["prompt"] == "Vanilla")]
    right = judged.merge(ratings.loc[gold, ["item", "score"]], on="item", suffixes=("", "_gold"))
    accuracy = (right["score"] == right["score_gold"]).mean()
    assert found.with_ties.estimate + 30 / 419 / 2 == pytest.approx(accuracy)


def test_win_rate_at_equal_length():
    try:
        items, ratings = datasets.load_alpaca_eval("vicuna-7b")
    except DatasetError as error:
        pytest.skip(str(error))
    found = calib.length_controlled(ratings, items).one()
    # computed independently from the same file, with 1.96 for the normal quantile
    assert found.intercept == pytest.approx(-2.28043, abs=5.1e-6)
    assert found.std_error == pytest.approx(0.18327, abs=5.1e-6)
    assert (found.slope, found.slope_std_error) == pytest.approx((1.94996, 0.26872), abs=5.1e-6)
    assert 100 * found.estimate == pytest.approx(9.2757, abs=5.1e-5)
    assert [100 * end for end in found.interval] == pytest.approx([6.663, 12.773], abs=1.1e-3)
    assert (100 * found.win_rate, 100 * found.win_share) == pytest.approx((4.1626, 3.4783), abs=5.1e-5)
    assert found.spearman == pytest.approx(0.22313, abs=5.1e-6)
    assert (found.n, found.n_longer) == (805, 65)
    assert [text.partition(":")[0] for text in found.warnings] == ["extrapolated"]
