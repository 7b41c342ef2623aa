"""Pairs on tables: what files are understood as, answers per judge, words, pictures, shell."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import calib
from calib import cli
from calib.core.check import ArgumentError
from calib.table import TableError
from calib.table.figure import finished

mpl.use("Agg")
N = 60
RNG = np.random.default_rng(11)
FIRST = (RNG.random(N) < 0.7).astype(float)
SECOND = np.where(RNG.random(N) < 0.75, FIRST, 1 - FIRST)
HUMAN = np.where(RNG.random(N) < 0.8, FIRST, 1 - FIRST)
IDS = [f"q{k}" for k in range(N)]
ORDERS = calib.stats.position_bias(FIRST, SECOND)


def shell(*arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main([*arguments])
    return ended.value.code


def words(share):
    return pd.Series(share).map({1.0: "A", 0.0: "B", 0.5: "tie"})


def both_orders():
    """Each pair twice, as arenas write it: the winner is that of the row's two."""
    one = pd.DataFrame({"id": IDS, "model_a": "x", "model_b": "y", "winner": words(FIRST)})
    two = pd.DataFrame({"id": IDS, "model_a": "y", "model_b": "x", "winner": words(1 - SECOND)})
    return one, two


def long():
    """As tables: rows of each order in terms of A."""
    rows = {"item": IDS * 2, "criterion": "better", "rater": "judge", "score": [*FIRST, *SECOND]}
    return pd.DataFrame(rows).assign(shown_first=["a"] * N + ["b"] * N)


def scores():
    return pd.DataFrame(
        {"item": IDS, "criterion": "better", "rater": "judge", "score": (FIRST + SECOND) / 2}
        | {"score_a_first": FIRST, "score_b_first": SECOND}
    )


def one_file():
    return pd.concat(both_orders(), ignore_index=True)


FORMS = {
    "two rows a pair, names turned": lambda: (one_file(),),
    "shuffled": lambda: (one_file().sample(frac=1, random_state=1),),
    "two files, names turned": both_orders,
    "rows with shown_first": lambda: (long(),),
    "scores": lambda: (scores(),),
    "frames of one's own with shown_first": lambda: (
        pd.DataFrame({"id": IDS * 2, "judge": [*FIRST, *SECOND], "shown_first": ["A"] * N + ["B"] * N}),
    ),
    "a column that says the order": lambda: (
        pd.DataFrame({"id": IDS * 2, "judge": [*FIRST, *SECOND], "order": ["AB"] * N + ["BA"] * N}),
    ),
    "a column that says what was swapped": lambda: (
        pd.DataFrame({"id": IDS * 2, "judge": [*FIRST, *SECOND], "swapped": [False] * N + [True] * N}),
    ),
    "the name of what was shown first": lambda: (
        pd.concat(
            both_orders()[0].assign(winner=words(share), shown_first=first)
            for share, first in ((FIRST, "x"), (SECOND, "y"))
        ),
    ),
    "two tables": lambda: tuple(
        scores().drop(columns=["score_a_first", "score_b_first"]).assign(score=share) for share in (FIRST, SECOND)
    ),
    "two frames without names": lambda: tuple(
        pd.DataFrame({"id": IDS, "judge_winner": words(share)}) for share in (FIRST, SECOND)
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_both_orders_is_the_same_answer(form):
    found = calib.position_bias(*FORMS[form]()).one()
    assert (found.n, found.n_one_order) == (N, 0)
    assert found.consistency == ORDERS.consistency
    # where A is the one that comes first in a shuffled file, first and second stay what they are
    assert (found.n_first, found.n_second) == (ORDERS.n_first, ORDERS.n_second)
    assert found.estimate == pytest.approx(ORDERS.estimate)


def test_a_file_on_disk_and_the_shell(tmp_path, capsys):
    path, gold, out = tmp_path / "pairs.csv", tmp_path / "people.csv", tmp_path / "out.csv"
    one_file().to_csv(path, index=False)
    pd.DataFrame({"id": IDS, "model_a": "y", "model_b": "x", "winner": words(1 - HUMAN)}).to_csv(gold, index=False)
    assert shell("position-bias", str(path), "--out", str(out)) == 0
    assert "exact sign test" in capsys.readouterr().out.replace("\n", " ")
    assert pd.read_csv(out)["n_first"].tolist() == [ORDERS.n_first]
    assert shell("pairwise-agreement", str(path), str(gold)) == 0
    assert "say the same" in capsys.readouterr().out.replace("\n", " ")


def test_agreement_with_people_who_name_the_two_the_other_way_round():
    people = pd.DataFrame({"id": IDS, "model_a": "y", "model_b": "x", "winner": words(1 - HUMAN)})
    found = calib.pairwise_agreement(one_file(), people).one()
    expected = calib.stats.pairwise_agreement((FIRST + SECOND) / 2, HUMAN, orders=np.c_[FIRST, SECOND])
    for name, share in expected.shares.items():
        assert found.shares[name].interval == pytest.approx(share.interval), name
        assert (found.shares[name].estimate, found.shares[name].n) == (pytest.approx(share.estimate), share.n)
    assert found.n_order_ties == int(np.sum(FIRST != SECOND))


def test_one_file_of_both_sides_and_pairs_that_people_left_out():
    mine = pd.DataFrame(
        {"id": IDS, "judge_winner": words(FIRST), "human_winner": words(HUMAN).where(np.arange(N) < 40)}
    )
    found = calib.pairwise_agreement(mine).one()
    assert (found.n, found.n_missing) == (40, 20)
    assert "20 pairs without a verdict of both were left out" in found.conclusion


def test_several_people_have_their_mean():
    mine = pd.DataFrame({"item": IDS, "criterion": "better", "score": HUMAN})
    people = pd.concat([mine.assign(rater="ann"), mine.assign(rater="bob", score=1 - HUMAN), mine.assign(rater="eve")])
    found = calib.pairwise_agreement(scores(), people).one()
    assert found.with_ties == calib.pairwise_agreement(scores(), mine.assign(rater="ann")).one().with_ties


def test_groups_are_prompts_where_several_pairs_answer_one():
    mine = pd.DataFrame({"question_id": [f"q{k // 3}" for k in range(N)], "judge_winner": words(FIRST)})
    mine = mine.assign(model_a=["x", "x", "y"] * (N // 3), model_b=["y", "z", "z"] * (N // 3))
    turned = mine.assign(model_a=mine["model_b"], model_b=mine["model_a"], judge_winner=words(1 - SECOND))
    found = calib.position_bias(pd.concat([mine, turned])).one()
    assert (found.n, found.n_groups) == (N, N // 3)
    alone = calib.position_bias(pd.concat([mine, turned]), groups=None).one()
    assert alone.n_groups == 0
    assert alone.p_value == pytest.approx(ORDERS.p_value)


def test_win_rates_count_both_orders_of_a_file_once():
    mine = one_file().assign(human_winner=[*words(HUMAN), *words(1 - HUMAN)]).rename(columns={"winner": "judge_winner"})
    found = calib.interval(mine).one()
    expected = calib.stats.ppi_mean(HUMAN, (FIRST + SECOND) / 2, bounds=(0, 1), step=0.5)
    assert found.n == N
    assert found.estimate == pytest.approx(expected.estimate, abs=0.02)


def test_hostile_names_are_data():
    names = ("=cmd|' /C calc'!A0", "<script>\u202e\x1b[31m")
    mine = one_file().replace({"model_a": {"x": names[0], "y": names[1]}, "model_b": {"x": names[0], "y": names[1]}})
    mine = mine.assign(id=mine["id"] + "<b>\x07")
    found = calib.position_bias(mine)
    assert found.one().n_first == ORDERS.n_first
    assert "\x1b" not in str(found)
    assert "<script>" not in found._repr_html_()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: calib.position_bias(both_orders()[0]), "both orders"),
        (lambda: calib.position_bias(scores(), scores()), "one order of each pair"),
        (lambda: calib.position_bias(scores().assign(score=3.0)), "share of A"),
        (lambda: calib.position_bias(long().assign(shown_first="first")), "shown_first"),
        (lambda: calib.position_bias(one_file().assign(shown_first="q")), "or its name"),
        (lambda: calib.position_bias(3), "`first` must be a path"),
        (lambda: calib.position_bias(one_file(), both_orders()[0].assign(id=[f"z{k}" for k in range(N)])), "one order"),
        (lambda: calib.pairwise_agreement(scores()), "people|gold|label"),
        (lambda: calib.length_controlled(scores()), "output_a, output_b"),
        (lambda: calib.length_controlled(scores(), pd.DataFrame({"item": IDS})), "output_a, output_b"),
        (lambda: calib.length_controlled(scores(), unit="tokens"), "`unit` must be one of"),
        (lambda: calib.position_bias(scores(), groups="document"), "`groups` must be a column"),
    ],
)
def test_refusals_say_what_is_missing(call, message):
    with pytest.raises((TableError, ArgumentError), match=message):
        call()


def lengths():
    return pd.DataFrame(
        {"item": IDS, "output_a": ["w " * (5 + k % 9) + "i" * (k % 2) for k in range(N)], "output_b": ["w " * 9] * N}
    )


def test_length_from_items_or_from_a_file_of_ones_own():
    texts = lengths()
    d = {"characters": texts["output_a"].str.len() - 18, "words": texts["output_a"].str.split().str.len() - 9}
    for unit, difference in d.items():
        found = calib.length_controlled(scores(), texts, unit=unit).one()
        assert found == calib.stats.length_controlled((FIRST + SECOND) / 2, difference)
    assert calib.length_controlled(scores(), texts) != calib.length_controlled(scores(), texts, unit="words")
    mine = texts.rename(columns={"item": "id"}).assign(judge_winner=words(FIRST))
    found = calib.length_controlled(mine, unit="words").one()
    assert found == calib.stats.length_controlled(FIRST, d["words"])
    assert "only people on the same pairs show a bias" in found.conclusion


def test_items_that_name_the_two_the_other_way_round_are_turned():
    texts = lengths().assign(system_a="x", system_b="y")
    turned = texts.rename(columns={"output_a": "output_b", "output_b": "output_a"}).assign(system_a="y", system_b="x")
    mine = scores().assign(system_a="x", system_b="y")
    one, two = (calib.length_controlled(mine, items, unit="words").one() for items in (texts, turned))
    assert one == two


def test_a_that_varies_is_said():
    mine = scores().assign(system_a=["x", "z"] * (N // 2), system_b="y")
    found = calib.length_controlled(mine, lengths(), unit="words").one()
    assert "several_systems" in [text.partition(":")[0] for text in found.warnings]


def test_sentences_say_what_may_not_be_claimed():
    biased = calib.stats.position_bias([1] * 40 + [1] * 20, [1] * 40 + [0] * 20)
    assert biased.conclusion.startswith("The judge favours what is shown first")
    fair = calib.stats.position_bias([1, 0] * 20, [1, 0] * 20)
    assert "does not show that there is none" in fair.conclusion
    assert (
        "does not say that boards of systems agree"
        in calib.pairwise_agreement(scores(), scores().assign(rater="ann", score=HUMAN)).conclusion
    )


@pytest.mark.slow
def test_plots_and_a_report(tmp_path):
    people = scores().assign(rater="ann", score=HUMAN)
    results = [
        calib.position_bias(scores()),
        calib.pairwise_agreement(scores(), people),
        calib.length_controlled(scores(), lengths(), unit="words"),
    ]
    for found in results:
        ax = found.plot()
        assert ax.get_xlabel()
        assert finished(ax, ax) is ax
        mpl.pyplot.close(ax.figure)
    page = calib.report(results, tmp_path / "page.html")
    assert "does the place decide" in (tmp_path / "page.html").read_text(encoding="utf-8").casefold()
    assert page is not None
    with pytest.raises(TypeError, match="PositionBias"):
        calib.plot.position_bias(results[1])
