"""Words that people rate in: what each stands for where nobody says it."""

from __future__ import annotations

import re
from collections.abc import Collection

# cells that hold no value; an id may well be called so, a score is not
BLANKS = frozenset(("", "na", "n/a", "nan", "null", "none", "-", "#n/a", "<na>"))
# that nobody rated, or could
UNRATED = frozenset((
    "--", "---", "?", "n.a.", "not labelled", "not labeled", "unlabelled", "unlabeled", "not rated", "unrated",
    "not annotated", "not graded", "missing", "skip", "skipped", "pending", "todo", "tbd", "no label", "no score",
    "parse error", "parsing error", "unparsable", "unparseable",
))  # fmt: skip
# worse and better; words of several pairs may stand in one column
PAIRS = (
    ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("0", "1"), ("0.0", "1.0"), ("fail", "pass"),
    ("failed", "passed"), ("incorrect", "correct"), ("wrong", "right"), ("bad", "good"), ("reject", "accept"),
    ("rejected", "accepted"), ("invalid", "valid"), ("unacceptable", "acceptable"),
)  # fmt: skip
# worst first; of several that hold all words of a column the shortest is taken
ORDERS = (
    ("low", "medium", "high"), ("low", "moderate", "high"), ("very low", "low", "medium", "high", "very high"),
    ("poor", "fair", "good"), ("poor", "average", "good"), ("poor", "fair", "good", "excellent"),
    ("poor", "average", "good", "excellent"), ("poor", "fair", "good", "very good", "excellent"),
    ("very poor", "poor", "fair", "good", "very good"), ("very poor", "poor", "average", "good", "excellent"),
    ("bad", "ok", "good"), ("bad", "okay", "good"), ("bad", "neutral", "good"), ("bad", "average", "good"),
    ("bad", "fair", "good"), ("bad", "mediocre", "good"), ("terrible", "bad", "ok", "good", "great"),
    ("very bad", "bad", "ok", "good", "very good"), ("very bad", "bad", "okay", "good", "very good"),
    ("very bad", "bad", "neutral", "good", "very good"), ("very bad", "bad", "fair", "good", "very good"),
    ("disagree", "neutral", "agree"), ("strongly disagree", "disagree", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "undecided", "agree", "strongly agree"),
    ("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("very unlikely", "unlikely", "neutral", "likely", "very likely"),
    ("negative", "neutral", "positive"), ("never", "rarely", "sometimes", "often", "always"),
    ("not at all", "slightly", "moderately", "very", "extremely"),
    ("incorrect", "partially correct", "correct"), ("incorrect", "partly correct", "correct"),
    ("wrong", "partially correct", "correct"), ("no", "partially", "yes"), ("no", "partly", "yes"),
    ("no", "partial", "yes"), ("no", "maybe", "yes"), ("no", "somewhat", "yes"), ("fail", "partial", "pass"),
    ("irrelevant", "partially relevant", "relevant"), ("not relevant", "partially relevant", "relevant"),
    ("not relevant", "somewhat relevant", "relevant"), ("not relevant", "somewhat relevant", "highly relevant"),
)  # fmt: skip
FIRST = frozenset((
    "a", "[[a]]", "a>b", "a>>b", "[[a>b]]", "[[a>>b]]", "a > b",
    "first", "left", "model a", "system a", "response a", "output a", "answer a", "assistant a",
    "option a", "a wins", "a better", "a is better", "model 1", "system 1", "response 1", "output 1", "answer 1",
))  # fmt: skip
SECOND = frozenset((
    "b", "[[b]]", "b>a", "b>>a", "[[b>a]]", "[[b>>a]]", "b > a",
    "second", "right", "model b", "system b", "response b", "output b", "answer b", "assistant b",
    "option b", "b wins", "b better", "b is better", "model 2", "system 2", "response 2", "output 2", "answer 2",
))  # fmt: skip
TIE = frozenset((
    "tie", "[[c]]", "[[tie]]", "tied", "ties", "draw", "equal", "same", "both", "neither", "both bad", "bothbad",
    "both good", "tie (bothbad)", "tie (both bad)", "no preference", "a=b", "[[a=b]]", "a = b", "a==b", "even",
))  # fmt: skip


def folded(word: str) -> str:
    r"""A word without what writers do not mean: blanks around and between, case.

    Examples
    --------
    >>> folded(" Very  Good\t")
    'very good'
    """
    return " ".join(word.split()).casefold()


def loosely(word: str) -> str:
    """A common word, however its parts are joined: ``Strongly_Disagree``, ``model-a``.

    Examples
    --------
    >>> loosely("Strongly_Disagree"), loosely("-")
    ('strongly disagree', '-')
    """
    return folded(re.sub(r"(?<=\w)[_-]+(?=\w)", " ", word.replace("_", " ")))


def known_order(words: Collection[str]) -> tuple[tuple[str, float], ...]:
    """Words with values of the common order that holds all of these (`loosely` written), or nothing.

    Words of pairs such as no and yes are 0 and 1, of a longer order 0, 1, 2 and so on. What would have one value in
    one order and another in the next is not known.

    Examples
    --------
    >>> known_order({"yes", "pass"})
    (('yes', 1.0), ('pass', 1.0))
    >>> known_order({"fair", "good"})
    (('poor', 0.0), ('fair', 1.0), ('good', 2.0))
    """
    paired = {word: float(place) for pair in PAIRS for place, word in enumerate(pair)}
    if words and all(word in paired for word in words) and set(words) not in ({"good"}, {"bad"}):
        return tuple((word, value) for word, value in paired.items() if word in words)
    holding = [order for order in ORDERS if set(words) <= set(order)]
    shortest = [order for order in holding if len(order) == min(map(len, holding))] if words else []
    values = {tuple(order.index(word) for word in words) for order in shortest}
    return tuple((word, float(place)) for place, word in enumerate(shortest[0])) if len(values) == 1 else ()
