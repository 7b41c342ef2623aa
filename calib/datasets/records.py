"""Sets whose files are records or labels under keys: a text, the system that wrote it, its scores by criterion."""

import re
from collections.abc import Iterator, Mapping
from operator import itemgetter

import pandas as pd

from calib.core.check import choice
from calib.datasets.planted import CRITERIA
from calib.datasets.registry import Record, Tables, checked_tables, expect, read_json
from calib.judge.replies.extract import read_label
from calib.judge.scale import Scale

TOPICAL_CHAT_PROMPTS = (
    "analyze_rate", "analyze_rate_auto_cot", "geval", "geval_no_auto_cot", "llm_eval_no_cot", "rate_explain",
    "rate_explain_auto_cot",
)  # fmt: skip
_DIALOGUE_JUDGED = {
    **dict.fromkeys(("naturalness", "coherence", "engagingness"), Scale.of(1, 2, 3)),
    "groundedness": Scale.of(0, 1),
}
_DIALOGUE_PEOPLE = {
    **dict.fromkeys(("naturalness", "coherence", "engagingness"), "1..3"),
    **dict.fromkeys(("groundedness", "understandability"), "0..1"),
    "overall": "1..5",
}
# UniEval adds up sentences for two of them: no fixed end
_DIALOGUE_UNIEVAL = dict.fromkeys(_DIALOGUE_PEOPLE, "0..1") | {"engagingness": "", "overall": ""}
_TURN = itemgetter("source", "system_id", "system_output")
_QAGS = {"qags_cnndm": 235, "qags_xsum": 239}


def load_summeval() -> Tables:
    """SummEval: 1,600 summaries of 100 news articles by 16 systems, with the mean of three experts.

    Items: 1,600 rows: `item`, `source`, `output`, `group` (the article), `system`, `reference`; `references` (a list
    of eleven texts) where the file has them.
    Ratings: 6,400 rows: rater ``expert_mean``, criteria coherence, consistency, fluency, relevance.

    References
    ----------
    Fabbri et al. (2021), SummEval, TACL 9:391-409.
    """
    records = read_json("summeval", "data/summeval.json")
    items = [summary_item(record) for record in records]
    ratings = _record_scores(records, items, "scores", dict.fromkeys(CRITERIA, "1..5"), rater="expert_mean")
    return checked_tables("summeval", items, ratings)


def load_topical_chat(prompt: str = "geval", *, reading: str = "calib") -> Tables:
    """Topical-Chat: 360 responses in 60 dialogues, three people's mean and 20 replies of GPT-3.5.

    Items: 360 rows; `source` is the dialogue so far, `context` the fact, `group` the dialogue, `system` who wrote the
    response.
    Ratings: 2,160 rows of rater ``expert_mean`` on six criteria, and up to 28,800 of rater ``gpt-3.5`` on four: one
    per draw, its text in `reply`. A few items have no replies.

    Parameters
    ----------
    prompt : str, default "geval"
        Which of the seven prompts the replies answer: geval, geval_no_auto_cot,
        llm_eval_no_cot, rate_explain, rate_explain_auto_cot, analyze_rate,
        analyze_rate_auto_cot.
    reading : {"calib", "chiang-lee"}
        How a number is read from a reply. ``"calib"``: our extraction; what is not on
        the scale has no score. ``"chiang-lee"``: the rule behind the published tables, see
        Notes; nothing is off the scale then, so these ratings have none.

    Notes
    -----
    The published rule: in lower case, with newlines as blanks and "1-3" removed, the first digit after the last
    "rating:", or of the whole reply where there is none; no digit is a missing score. (The released pattern allows
    one decimal, but a later step of it parts the characters, so that 0.5 is read as 0.)

    References
    ----------
    Mehri and Eskenazi (2020), USR, ACL; Chiang and Lee (2023), Findings of EMNLP.
    """
    choice(prompt, "prompt", TOPICAL_CHAT_PROMPTS)
    choice(reading, "reading", ("calib", "chiang-lee"))
    turns = read_json("topical_chat", "data/topical_chat.json")
    items = _dialogue_items(turns)
    names = {_TURN(record): item["item"] for record, item in zip(turns, items, strict=True)}
    ratings = _record_scores(turns, items, "scores", _DIALOGUE_PEOPLE, rater="expert_mean")
    ratings += [row for criterion in _DIALOGUE_JUDGED for row in _dialogue_replies(prompt, criterion, names, reading)]
    return checked_tables("topical_chat", items, ratings)


def load_unieval() -> Tables:
    """Stored predictions of UniEval beside human scores: Topical-Chat and two QAGS sets.

    Items: 834 rows; `set` is ``topical_chat`` (360; the same items as in `load_topical_chat`), ``qags_cnndm`` (235)
    or ``qags_xsum`` (239); `group` is the source text.
    Ratings: 5,268 rows: raters ``human`` and ``unieval`` on six criteria for Topical-Chat and on consistency for
    QAGS, all continuous. UniEval's engagingness and overall are sums without a fixed end, so their scale is unknown.

    References
    ----------
    Zhong et al. (2022), UniEval, EMNLP; Mehri and Eskenazi (2020), USR, ACL; Wang, Cho and Lewis (2020), QAGS, ACL.
    """
    folder = "reproduce/unieval_predict"
    records = read_json("unieval", f"{folder}/dialogue/topical_chat_result.json")
    items = [{**row, "set": "topical_chat"} for row in _dialogue_items(records)]
    ratings = _human_and_unieval(records, items, _DIALOGUE_PEOPLE, _DIALOGUE_UNIEVAL)
    scales = {"consistency": "0..1"}
    for name, count in _QAGS.items():
        records = read_json("unieval", f"{folder}/fact/{name}_result.json")
        expect("unieval", f"items of {name}", len(records), count)
        ids = [f"{name}-{int(record['doc_id']):03d}" for record in records]
        facts = [_text(*pair, pair[1], name, context="", set=name) for pair in zip(records, ids, strict=True)]
        items, ratings = items + facts, ratings + _human_and_unieval(records, facts, scales, scales)
    return checked_tables("unieval", items, ratings)


def _human_and_unieval(
    records: list[Record], items: list[Record], human: Mapping[str, str], unieval: Mapping[str, str]
) -> list[Record]:
    people = _record_scores(records, items, "scores", human, rater="human")
    return people + _record_scores(records, items, "predict_scores", unieval, rater="unieval", method="sample")


def _record_scores(
    records: list[Record], items: list[Record], field: str, scales: Mapping[str, str], **shared: str
) -> list[Record]:
    """A row for each record and criterion."""
    return [
        {"item": item["item"], "criterion": criterion, "score": record[field][criterion], "scale": scale, **shared}
        for record, item in zip(records, items, strict=True)
        for criterion, scale in scales.items()
        if criterion in record[field]  # the counts tell where one is absent
    ]


def _text(record: Record, item: str, group: str, system: str, **more: object) -> Record:
    row = {"item": item, "source": record["source"], "output": record["system_output"]}
    return {**row, "group": group, "system": system, **more}


def summary_item(record: Record) -> Record:
    """The row of a summary of SummEval."""
    group, system = record["doc_id"], record["system_id"]
    more = {key: record[key] for key in ("reference", "references") if key in record}
    return _text(record, f"{group}__{system}", group, system, **more)


def _dialogue_items(turns: list[Record]) -> list[Record]:
    groups = {source: f"tc-{n:02d}" for n, source in enumerate(dict.fromkeys(turn["source"] for turn in turns))}
    return [
        _text(turn, f"{group}__{turn['system_id']}", group, turn["system_id"], context=turn["context"])
        for turn in turns
        for group in [groups[turn["source"]]]
    ]


def _dialogue_replies(prompt: str, criterion: str, names: dict[tuple[str, ...], str], reading: str) -> Iterator[Record]:
    shared = {"criterion": criterion, "rater": "gpt-3.5", "prompt": prompt, "method": "sample", "temperature": 1.0}
    shared["scale"] = str(_DIALOGUE_JUDGED[criterion]) if reading == "calib" else ""
    # asked to analyse first, the model ends in a line "Rating: 2"; under every other prompt the rating leads
    answer = "line" if prompt.startswith("analyze") else "label"
    for record in read_json("topical_chat", f"results/topical_chat/gpt3.5_{criterion[:3]}_{prompt}.json"):
        for draw, reply in enumerate(record["all_responses"]):
            row = {**shared, "item": names[_TURN(record)], "draw": draw, "reply": reply}
            if reading == "calib":
                score, status = read_label(reply, _DIALOGUE_JUDGED[criterion], answer)
                yield row | {"score": score, "status": status}
            else:
                yield row | {"score": read_chiang_lee(reply)}


def read_chiang_lee(reply: str) -> float:
    r"""The number that the published tables of Chiang and Lee (2023) read in a reply; NaN without a digit.

    Examples
    --------
    >>> read_chiang_lee("On a scale of 1-3:\nRating: 2 of 3"), read_chiang_lee("good")
    (2.0, nan)
    """
    text = reply.lower().replace("\n", " ").replace("1-3", " ").rpartition("rating:")[2]
    digit = re.search("[0-9]", text)
    return float(digit[0]) if digit else float("nan")


def load_summeval_judges() -> Tables:
    """SummEval, rated by three experts (e0, e1, e2) and six LLM judges, each a rater of its own.

    Items: as `load_summeval`.
    Ratings: 57,600 rows, 6,400 a rater, whole numbers from 1 to 5. A judge gave one number per item and criterion;
    how it was asked is not recorded.

    References
    ----------
    Calderon, Reichart and Dror (2025), The Alternative Annotator Test, ACL.
    """
    items, _ = load_summeval()
    rows = [
        (*key.rsplit("__", 1), rater, score, method, "1|2|3|4|5")
        for file, method in {"human": "human", "llm": "sample"}.items()
        for rater, scores in read_json("alt_test", f"data/summeval/{file}_annotations.json").items()
        for key, score in scores.items()
    ]
    ratings = pd.DataFrame(rows, columns=["item", "criterion", "rater", "score", "method", "scale"])
    items, ratings = checked_tables("alt_test", items, ratings)
    expect("alt_test", "rated items that have a text", len(set(ratings["item"]) & set(items["item"])), 1600)
    expect("alt_test", "ratings from the rater with fewest", ratings["rater"].value_counts().min(), 6400)
    return items, ratings
