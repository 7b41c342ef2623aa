"""The sets of the alternative annotator test: labels under rater and key, in a file of people and one of judges."""

import pandas as pd

from calib.datasets.records import load_summeval
from calib.datasets.registry import Tables, checked_tables, expect, read_json

WAX_RELATIONS = (
    "Action", "Antonym", "Category-Exemplar-Pairs", "Common-Phrase", "Emotion-Evaluation", "Function",
    "Has-Prerequisite", "HasProperty", "Location", "Material-MadeOf", "Members-of-the-same-Category",
    "None-of-the-above", "PartOf", "Result-In", "Synonym", "Thematic", "Time",
)  # fmt: skip
_LESION_SCALES = {**dict.fromkeys(("Asymmetry", "Border", "Dermo", "Blue"), "0|1|2"), "Color": "1|2|3|4|5|6"}


def load_summeval_judges() -> Tables:
    """SummEval, rated by three experts (e0, e1, e2) and six LLM judges, each a rater of its own.

    Returns
    -------
    items : DataFrame
        As `load_summeval`.
    ratings : DataFrame
        57,600 rows, 6,400 a rater, whole numbers from 1 to 5. A judge gave one
        number per item and criterion; how it was asked is not recorded.

    Raises
    ------
    DatasetError
        If a file cannot be found or downloaded, or has other counts.

    References
    ----------
    Calderon, Reichart and Dror (2025), The Alternative Annotator Test, ACL.
    """
    items, _ = load_summeval()
    ratings = _annotations("alt_test", "summeval").assign(scale="1|2|3|4|5")
    items, ratings = checked_tables("alt_test", items, ratings)
    expect("alt_test", "rated items that have a text", len(set(ratings["item"]) & set(items["item"])), 1600)
    expect("alt_test", "ratings from the rater with fewest", ratings["rater"].value_counts().min(), 6400)
    return items, ratings


def load_lesion() -> Tables:
    """Lesion: five features of 100 skin images, rated by six students and four LLM judges.

    Returns
    -------
    items : DataFrame
        100 rows: `item`, the name of the image in the ISIC archive. The images are not part of the set.
    ratings : DataFrame
        4,980 rows: criteria Asymmetry, Border, Color, Dermo and Blue, raters ``student_1`` to
        ``student_6`` (a few ratings are missing) and four judges, one number each.

    Raises
    ------
    DatasetError
        If a file cannot be found or downloaded, or has other counts.

    References
    ----------
    Cheplygina and Pluim (2018), Crowd disagreement about medical images is informative,
    LABELS; judges of Calderon, Reichart and Dror (2025), The Alternative Annotator Test, ACL.
    """
    ratings = _annotations("lesion", "lesion")
    ratings["scale"] = ratings["criterion"].map(_LESION_SCALES)
    return checked_tables("lesion", {"item": ratings["item"].unique()}, ratings)


def load_wax() -> Tables:
    """WAX: which of 17 relations holds between two words, given an explanation; a set of names, not numbers.

    Returns
    -------
    items : DataFrame
        246 rows: `cue`, `association`, `output` (the explanation), `group` (the cue; 159 of them).
    ratings : DataFrame
        2,856 rows of criterion ``relation``: eight people (each item has five or six of them)
        and six judges. `label` is the name of the relation, `score` its place in
        `calib.datasets.WAX_RELATIONS`, counted from 0: a code, without order or distance, so
        that the scale is unknown.

    Raises
    ------
    DatasetError
        If a file cannot be found or downloaded, or has other counts or names.

    References
    ----------
    Liu, Cohn, De Deyne and Frermann (2022), WAX: A New Dataset for Word Association
    eXplanations, AACL; judges of Calderon, Reichart and Dror (2025), The Alternative Annotator Test, ACL.
    """
    ratings = _annotations("wax", "wax", "relation").rename(columns={"score": "label"})
    expect("wax", "names of other relations", len(set(ratings["label"]) - set(WAX_RELATIONS)), 0)
    ratings["score"] = ratings["label"].map(WAX_RELATIONS.index)
    items = pd.DataFrame({"item": ratings["item"].unique()})
    items[["cue", "association", "output"]] = items["item"].str.split("__", expand=True)
    return checked_tables("wax", items.assign(group=items["cue"]), ratings)


def _annotations(name: str, folder: str, criterion: str = "") -> pd.DataFrame:
    """Ratings; a key is an item and a criterion, or the item alone where the criterion is given."""
    rows = [
        (*((key, criterion) if criterion else key.rsplit("__", 1)), rater, label, method)
        for file, method in {"human": "human", "llm": "sample"}.items()
        for rater, labels in read_json(name, f"data/{folder}/{file}_annotations.json").items()
        for key, label in labels.items()
    ]
    return pd.DataFrame(rows, columns=["item", "criterion", "rater", "score", "method"])
