"""Summaries with planted defects of known kind and severity, for the demo and the tests.

24 short texts written for this project, each with one faithful summary.  From that summary
`ladder` makes outputs that are worse in one known way: four kinds of defect, three severities.

The human labels that come with them are SIMULATED: no person rated these outputs.  The model
behind the labels is described in `planted_rows`.

Nothing here depends on a random generator: choices follow fixed index rules or a blake2b digest
of the ids, so that the data are the same on every machine.
"""

import json
import re
from functools import cache
from hashlib import blake2b
from importlib import resources
from itertools import combinations, count, permutations, product
from statistics import NormalDist
from typing import TypedDict

import pandas as pd

from calib.datasets.registry import Tables, checked_tables

CRITERIA = ("coherence", "consistency", "fluency", "relevance")
SEVERITIES = (1, 2, 3)

_DISORDER = {1: 0.27, 2: 0.55, 3: 0.87}  # share of the sentence pairs that stand in the wrong order
_SPOILED = {1: 0.12, 2: 0.25, 3: 0.45}  # share of the words that are hit
_DROP = {0: 0.0, 1: 1.2, 2: 2.2, 3: 3.3}  # loss of latent quality on the criterion aimed at
_SPILL = 0.15  # loss per severity step on each of the other criteria
_TOP = 4.7  # latent quality of a faithful summary
_BIASES = {"simulated-1": -0.25, "simulated-2": 0.0, "simulated-3": 0.2}
_NOISE = 0.45
_NUMBER, _PLAIN_WORD = re.compile(r"\d+"), re.compile(r"(?!not\b)[a-z]{3,}[.,;]?")
_SLIPS = (
    {"a": "", "an": "", "the": "", "its": "it's", "he": "him", "she": "her", "they": "them", "who": "which"}
    | {"was": "were", "were": "was", "is": "are", "are": "is", "has": "have", "have": "has", "had": "haved"}
    | {"their": "there", "there": "their", "then": "than", "than": "then", "could": "can", "would": "will"}
)


class Text(TypedDict):
    """One record of planted.json; `names` holds pairs of a kind (person, person, place, place)."""

    id: str
    register: str
    source: str
    sentences: list[str]
    names: list[str]
    padding: list[str]


def planted_texts() -> list[Text]:
    """The 24 texts."""
    file = resources.files("calib.datasets").joinpath("planted.json")
    texts: list[Text] = json.loads(file.read_text(encoding="utf-8"))
    return texts


def _seed_of(*parts: object) -> int:
    """A 64-bit integer that depends on the parts alone."""
    key = "|".join(map(str, parts)).encode()
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big")


def inversions(order: tuple[int, ...]) -> int:
    """How many pairs of `order` stand in the wrong order."""
    return sum(a > b for a, b in combinations(order, 2))


def spoil_coherence(text: Text, severity: int) -> str:
    """The sentences in another order: about a quarter, half, seven eighths of their pairs are inverted."""
    size = len(text["sentences"])
    wanted = round(_DISORDER[severity] * size * (size - 1) / 2)
    orders = [order for order in permutations(range(size)) if inversions(order) == wanted]
    order = orders[_seed_of(text["id"], "coherence", severity) % len(orders)]
    return " ".join(text["sentences"][index] for index in order)


def _number_changes(text: Text) -> dict[str, str]:
    """A wrong value of similar size for each number of the summary, in the order of the summary."""
    used = {int(number) for number in _NUMBER.findall(text["source"])}
    changes: dict[str, str] = {}
    for number in map(int, dict.fromkeys(_NUMBER.findall(" ".join(text["sentences"])))):
        if number < 20:  # upwards, so that nothing becomes zero or a singular
            step = 2 if number < 10 else 3
        elif number < 32:  # downwards: it may be a day of the month
            step = -3
        elif 1500 <= number <= 2100:  # likely a year
            step = -6
        else:
            step = -round(number / 5)
        other = next(other for k in count(1) if (other := number + k * step) not in used)
        changes[str(number)] = str(other)
        used.add(other)
    return changes


def spoil_consistency(text: Text, severity: int) -> str:
    """The summary with wrong facts in right grammar: names change places, numbers are none of the source's.

    Severity 1: the first two names are exchanged (about a quarter of the facts are wrong); 2: half of the numbers
    are changed as well; 3: every name and number is wrong.
    """
    names = text["names"] if severity == 3 else text["names"][:2]
    numbers = list(_number_changes(text).items())
    kept = {1: 0, 2: len(numbers) // 2, 3: len(numbers)}[severity]
    changes = dict(numbers[:kept])
    for one, other in zip(names[::2], names[1::2], strict=True):
        changes |= {one: other, other: one}
    # One pass over all of them, longest first: a second pass would swap the names back.
    pattern = "|".join(re.escape(old) for old in sorted(changes, key=len, reverse=True))
    return re.sub(rf"\b(?:{pattern})\b", lambda match: changes[match[0]], " ".join(text["sentences"]))


def spoil_fluency(text: Text, severity: int) -> str:
    """The summary with broken grammar and spelling; what is not in small letters is left alone.

    About 12, 25, 45 percent of the words are hit; those of a lower severity are among them.
    """
    words = " ".join(text["sentences"]).split()
    # in small letters and not very short; not "not": doubled, it might be read as a change of the facts
    plain = [place for place, word in enumerate(words) if word in _SLIPS or _PLAIN_WORD.fullmatch(word)]
    # Multiples of a Fibonacci number modulo the next but one fall evenly over the text.
    ranked = sorted(range(len(plain)), key=lambda rank: rank * 233 % 610)
    for rank in ranked[: round(_SPOILED[severity] * len(words))]:
        word = words[plain[rank]]
        core = word.rstrip(".,;")
        middle = len(core) // 2
        if core in _SLIPS:  # grammar; an article is lost altogether
            spoiled = _SLIPS[core]
        elif len(core) < 4:
            spoiled = f"{core} {core}"
        elif len(core) > 5 and core.endswith("ed") and not core.endswith("ied"):
            spoiled = core[:-2] + "ing"
        elif len(core) > 6 and core.endswith("ing"):
            spoiled = core[:-3] + "ed"
        elif len(core) % 2 or core[middle] == core[middle - 1]:
            spoiled = core[:middle] + core[middle + 1 :]
        else:
            spoiled = core[: middle - 1] + core[middle] + core[middle - 1] + core[middle + 1 :]
        words[plain[rank]] = spoiled + word[len(core) :]
    return " ".join(word for word in words if word)


def spoil_relevance(text: Text, severity: int) -> str:
    """What is left of the summary, in its own order, and then padding.

    Severity 1: one empty sentence is added; 2: the main point is lost and two are added; 3: only the two sentences
    with the fewest facts are left, and three are added.
    """
    sentences, facts = text["sentences"], [*text["names"], *_number_changes(text)]
    kept = list(range(len(sentences)))[severity > 1 :]
    if severity == 3:
        weights = [sum(fact in sentence for fact in facts) for sentence in sentences]
        kept = sorted(sorted(kept, key=lambda index: weights[index])[:2])
    return " ".join([*(sentences[index] for index in kept), *text["padding"][:severity]])


def ladder(text: Text) -> list[tuple[str, int, str]]:
    """(kind, severity, output) of the clean summary and then for each planted defect."""
    clean = ("none", 0, " ".join(text["sentences"]))
    defects = zip(CRITERIA, (spoil_coherence, spoil_consistency, spoil_fluency, spoil_relevance), strict=True)
    return [clean, *((kind, level, spoil(text, level)) for kind, spoil in defects for level in SEVERITIES)]


@cache
def planted_rows() -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """The items (24 texts x 13 outputs) and their SIMULATED human ratings (x 4 criteria x 3 raters).

    No person rated the outputs. The latent quality is 4.7, less 1.2, 2.2 or 3.3 (severity 1, 2, 3) on the criterion
    that the defect is aimed at and less 0.15 x severity on the other three. Each of the three raters has a fixed bias
    (-0.25, 0, 0.2) and independent normal noise (standard deviation 0.45) in each rating; the sum is rounded and
    clipped to 1..5.
    """
    items: list[dict[str, object]] = []
    ratings: list[dict[str, object]] = []
    for text in planted_texts():
        shared = {"source": text["source"], "group": text["id"], "register": text["register"]}
        for defect, severity, output in ladder(text):
            system = f"{defect}-{severity}" if severity else "clean"
            name = f"{text['id']}/{system}"
            row = {"item": name, "output": output, "system": system, "defect": defect, "severity": severity}
            items.append({**row, **shared})
            for criterion, (rater, bias) in product(CRITERIA, _BIASES.items()):
                quality = _TOP - (_DROP[severity] if criterion == defect else _SPILL * severity)
                noise = NormalDist(0.0, _NOISE).inv_cdf((_seed_of(name, criterion, rater) + 0.5) / 2**64)
                score = min(5, max(1, round(quality + bias + noise)))
                ratings.append({"item": name, "criterion": criterion, "rater": rater, "score": score})
    return items, ratings


def load_planted() -> Tables:
    """Texts of this project with planted defects. The human labels are SIMULATED: no person gave them.

    Items: 312 rows: 24 texts (`group`), each with a faithful summary and ones with a `defect` of known kind and
    `severity` (1 to 3); `system` is both, such as ``fluency-2``.
    Ratings: 3,744 rows: raters ``simulated-1`` to ``simulated-3``, four criteria, 1 to 5.

    Examples
    --------
    >>> items, ratings = load_planted()
    >>> len(items), items["group"].nunique(), len(ratings)
    (312, 24, 3744)
    >>> sorted(ratings["rater"].unique())
    ['simulated-1', 'simulated-2', 'simulated-3']
    """
    items, ratings = planted_rows()
    return checked_tables("planted", items, pd.DataFrame(ratings).assign(method="human", scale="1|2|3|4|5"))
