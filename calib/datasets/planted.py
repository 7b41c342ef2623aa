"""Summaries with planted defects of known kind and severity, for the demo and the tests.

24 short texts written for this project, each with one faithful summary and with outputs that are worse in one known
way: four kinds of defect, three severities. The human labels that come with them are SIMULATED: no person rated these
outputs. The model behind the labels is described in `planted_rows`; choices follow a blake2b digest of the ids, so
that the data are the same on every machine.

- coherence: the sentences in another order: about a quarter, half, seven eighths of their pairs are inverted;
- consistency: names change places and numbers are none of the source's: a quarter, half, all of the facts;
- fluency: broken grammar and spelling in about 12, 25, 45 percent of the words;
- relevance: an empty sentence is added; the main point is lost and two are added; two sentences are left beside three.
"""

import json
from functools import cache
from hashlib import blake2b
from itertools import product
from statistics import NormalDist
from typing import TypedDict

import pandas as pd

from calib.core.text import asset
from calib.datasets.registry import Tables, checked_tables

CRITERIA = ("coherence", "consistency", "fluency", "relevance")
SEVERITIES = (1, 2, 3)

_DROP = {0: 0.0, 1: 1.2, 2: 2.2, 3: 3.3}  # loss of latent quality on the criterion aimed at
_SPILL = 0.15  # loss per severity step on each of the other criteria
_TOP = 4.7  # latent quality of a faithful summary
_BIASES = {"simulated-1": -0.25, "simulated-2": 0.0, "simulated-3": 0.2}
_NOISE = 0.45


class Text(TypedDict):
    """One record of planted.json; `names` holds pairs of a kind (person, person, place, place)."""

    id: str
    register: str
    source: str
    sentences: list[str]
    names: list[str]
    padding: list[str]
    outputs: dict[str, str]  # by system: "clean", "coherence-1", ...


def planted_texts() -> list[Text]:
    """The 24 texts."""
    texts: list[Text] = json.loads(asset("datasets", "planted.json"))
    return texts


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
        for system, output in text["outputs"].items():
            defect, _, level = ("none-0" if system == "clean" else system).partition("-")
            name, severity = f"{text['id']}/{system}", int(level)
            row = {"item": name, "output": output, "system": system, "defect": defect, "severity": severity}
            items.append({**row, **shared})
            for criterion, (rater, bias) in product(CRITERIA, _BIASES.items()):
                quality = _TOP - (_DROP[severity] if criterion == defect else _SPILL * severity)
                key = f"{name}|{criterion}|{rater}".encode()
                seed = int.from_bytes(blake2b(key, digest_size=8).digest(), "big")
                noise = NormalDist(0.0, _NOISE).inv_cdf((seed + 0.5) / 2**64)
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
