"""Public sets of texts, human scores and judge scores, each as two tables: items and ratings.

A file is looked for in the folder that the environment variable CALIB_DATA names, as
``<set>/<path>``, then in the cache; else it is downloaded from its repository at a fixed
commit and verified. The cards in the project's folder `datasets` say what each set holds,
under which licence, and how to cite it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib import table
from calib.datasets import planted
from calib.judge.replies.extract import read_label
from calib.judge.scale import Scale

Tables = tuple[pd.DataFrame, pd.DataFrame]
Row = dict[str, Any]

CRITERIA = ("coherence", "consistency", "fluency", "relevance")
TOPICAL_CHAT_PROMPTS = (
    "analyze_rate", "analyze_rate_auto_cot", "geval", "geval_no_auto_cot", "llm_eval_no_cot", "rate_explain",
    "rate_explain_auto_cot",
)  # fmt: skip
READINGS = ("calib", "chiang-lee")
COMPOSO_PROMPTS = ("base", "criteria", "cal-low", "cal-high", "cal-both", "cal-cross", "combined")
LLM_SUMMEVAL_PROMPTS = ("rts", "altrts", "mcq", "altmcq", "stareval")
WAX_RELATIONS = (
    "Action", "Antonym", "Category-Exemplar-Pairs", "Common-Phrase", "Emotion-Evaluation", "Function",
    "Has-Prerequisite", "HasProperty", "Location", "Material-MadeOf", "Members-of-the-same-Category",
    "None-of-the-above", "PartOf", "Result-In", "Synonym", "Thematic", "Time",
)  # fmt: skip

_RAW = "https://raw.githubusercontent.com"
_JUDGED = {
    **dict.fromkeys(("naturalness", "coherence", "engagingness"), Scale.of(1, 2, 3)),
    "groundedness": Scale.of(0, 1),
}
_PEOPLE = {
    **dict.fromkeys(("naturalness", "coherence", "engagingness"), "1..3"),
    **dict.fromkeys(("groundedness", "understandability"), "0..1"),
    "overall": "1..5",
}
_QUESTIONS = tuple(f"Q{number}" for number in range(9))
_SUMS = ("engagingness", "overall")  # UniEval adds up sentences: no fixed end
_LESION = {**dict.fromkeys(("Asymmetry", "Border", "Dermo", "Blue"), "0|1|2"), "Color": "1|2|3|4|5|6"}
_QAGS = {"qags_cnndm": 235, "qags_xsum": 239}
_POLICIES = ("base", "clone", "parallel_universe_prompt", "unhelpful")
_TRIVIA_JUDGES = (
    "GPT-4", "Gemma-2B", "JudgeLM", "Llama-13B", "Llama-70B", "Llama-7B", "Llama3-70B", "Llama3-8B", "Mistral-7B",
)  # fmt: skip
# how the files call a judge, which run it is from, and the rows of the run's file for each prompt
_COMPOSO_GPT = dict(zip(COMPOSO_PROMPTS, (1730, 1742, 1744, 1749, 1733, 1752, 1746), strict=True))
_COMPOSO: dict[str, tuple[str, str, dict[str, int]]] = {
    "gpt-5.4": ("full", "both", _COMPOSO_GPT),
    "gpt-5.4-mini": ("mini", "both", _COMPOSO_GPT),
    "gpt-5.4-nano": ("nano", "nano", {"base": 1718}),
    "claude-sonnet-4-6": ("full", "claude_both", {"base": 1763, "criteria": 1763}),
    "claude-haiku-4-5": ("mini", "claude_both", {"base": 1763, "criteria": 1763}),
}
_COMPOSO_COOLER = {0.0: 1730, 0.3: 1731, 0.7: 1734}  # temperature: rows; gpt-5.4 under the prompt "base" alone
_COMPOSO_ERRORS = {"empty_response": "refused", "policy_refusal": "refused", "no_score_found": "unread"}
_LLM_SUMMEVAL = {
    "gpt-3.5-turbo-0301": LLM_SUMMEVAL_PROMPTS,
    **dict.fromkeys(("gpt-4-0314", "llama-2-7b-chat-hf", "llama-2-13b-chat-hf", "llama-2-70b-chat-hf"), ("rts",)),
}
_LLM_SUMMEVAL_SYSTEMS = tuple(f"M{number}" for number in (8, 9, 10, 11, 12, 13, 14, 15, 17, 20, 22, 23))
_WORDS = {word: number for number, word in enumerate(("one", "two", "three", "four", "five"), 1)}
_ANY, _WORD = rf"(\d+(?:\.\d+)?|{'|'.join(_WORDS)})", rf"({'|'.join(_WORDS)})"
# patterns of a reply that ends in a score, the first that is found counts; ours and those of Shen et al. (2023)
_SCORES = {
    "calib": (
        rf"score:\s*{_ANY}", rf"{_ANY}\s*(?:/|out of)\s*(?:5|five)\b", rf"\bscor(?:es?|ing)\b[^.]*?\b{_ANY}\b",
        r"\b(\d+(?:\.\d+)?)\.?$",
    ),
    "shen": (
        r"score:\s*([1-5](?:\.\d)?)", rf"score:\s*{_WORD}", r"scor(?:e|ing)[^.]+?([1-5](?:\.[1-5])?)",
        rf"scor(?:e|ing)[^.]+?\b{_WORD}\b", r".*([1-5])",
    ),
}  # fmt: skip
_HANNA = {
    "RE": "relevance", "CH": "coherence", "EM": "empathy", "SU": "surprise", "EG": "engagement", "CX": "complexity",
}  # fmt: skip
_HANNA_JUDGES = ("Beluga-13B", "ChatGPT", "Llama-13B", "Mistral-7B", "OrcaPlatypus")


class DatasetError(RuntimeError):
    """A file of a set cannot be had, or is not the one that the registry names."""


# --- the sets ---------------------------------------------------------------------------------------------------


def load_summeval() -> Tables:
    """SummEval: 1,600 summaries of 100 news articles by 16 systems, with the mean of three experts.

    Returns
    -------
    items : DataFrame
        1,600 rows: `item`, `source`, `output`, `group` (the article), `system`, `reference`;
        `references` (a list of eleven texts) where the file has them.
    ratings : DataFrame
        6,400 rows: rater ``expert_mean``, criteria coherence, consistency, fluency, relevance.

    Raises
    ------
    DatasetError
        If the file cannot be found or downloaded, or has other counts.

    References
    ----------
    Fabbri et al. (2021), SummEval, TACL 9:391-409.
    """
    records = _json("summeval", "data/summeval.json")
    ratings = [
        {"item": _summary_id(record), "criterion": criterion, "rater": "expert_mean", "score": score, "scale": "1..5"}
        for record in records
        for criterion, score in record["scores"].items()
    ]
    counts = {"items": 1600, "groups": 100, "systems": 16, "ratings": 6400}
    return _tables("summeval", [_summary(record) for record in records], ratings, counts)


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
    ratings = [
        {"item": key.rpartition("__")[0], "criterion": key.rpartition("__")[2], "rater": rater, "score": score}
        | {"method": method, "scale": "1|2|3|4|5"}
        for file, method in {"human": "human", "llm": "sample"}.items()
        for rater, scores in _json("alt_test", f"data/summeval/{file}_annotations.json").items()
        for key, score in scores.items()
    ]
    items, checked = _tables("alt_test", items, ratings, {"ratings": 57600})
    _expect("alt_test", "rated items that have a text", len(set(checked["item"]) & set(items["item"])), 1600)
    _expect("alt_test", "ratings from the rater with fewest", checked["rater"].value_counts().min(), 6400)
    return items, checked


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
    ratings = [
        {**row, "item": image, "criterion": criterion, "score": score, "scale": _LESION[criterion]}
        for row, key, score in _annotations("lesion")
        for image, _, criterion in [key.rpartition("__")]
    ]
    items = [{"item": image} for image in dict.fromkeys(row["item"] for row in ratings)]
    return _tables("lesion", items, ratings, {"items": 100, "ratings": 4980})


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
    rows = [{**row, "item": key, "criterion": "relation", "label": label} for row, key, label in _annotations("wax")]
    _expect("wax", "names of other relations", len({row["label"] for row in rows} - set(WAX_RELATIONS)), 0)
    ratings = [{**row, "score": WAX_RELATIONS.index(row["label"])} for row in rows]
    items = [_association(key) for key in dict.fromkeys(row["item"] for row in rows)]
    return _tables("wax", items, ratings, {"items": 246, "groups": 159, "ratings": 2856})


def load_topical_chat(prompt: str = "geval", *, reading: str = "calib") -> Tables:
    """Topical-Chat: 360 responses in 60 dialogues, three people's mean and 20 replies of GPT-3.5.

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

    Returns
    -------
    items : DataFrame
        360 rows; `source` is the dialogue so far, `context` the fact, `group` the dialogue,
        `system` who wrote the response.
    ratings : DataFrame
        2,160 rows of rater ``expert_mean`` on six criteria, and up to 28,800 of rater
        ``gpt-3.5`` on four: one per draw, its text in `reply`. A few items have no replies.

    Raises
    ------
    ValueError
        If `prompt` or `reading` is another one.
    DatasetError
        If a file cannot be found or downloaded, or has other counts.

    Notes
    -----
    The published rule: in lower case, with newlines as blanks and "1-3" removed, the first
    digit after the last "rating:", or of the whole reply where there is none; no digit is
    a missing score. (The released pattern allows one decimal, but a later step of it parts
    the characters, so that 0.5 is read as 0.)

    References
    ----------
    Mehri and Eskenazi (2020), USR, ACL; Chiang and Lee (2023), Findings of EMNLP.
    """
    _member("prompt", prompt, TOPICAL_CHAT_PROMPTS)
    _member("reading", reading, READINGS)
    turns = _json("topical_chat", "data/topical_chat.json")
    items = _dialogue_items(turns)
    names = {_turn(record): item["item"] for record, item in zip(turns, items, strict=True)}
    people = _dialogue_people(turns, items, "expert_mean")
    replies = [row for criterion in _JUDGED for row in _replies(prompt, criterion, names, reading)]
    return _tables("topical_chat", items, people + replies, {"items": 360, "groups": 60, "systems": 6})


def load_llm_rubric(part: str = "real") -> Tables:
    """LLM-Rubric: score probabilities of GPT-3.5 for dialogues on questions Q0 to Q8, and people.

    Parameters
    ----------
    part : {"real", "synth"}
        Dialogues of people with a system (223, one annotator each), or synthetic ones
        (250, several annotators each; 225 with probabilities).

    Returns
    -------
    items : DataFrame
        `item` alone (the texts are not released), and `system` for ``"real"``.
    ratings : DataFrame
        Rater ``gpt-3.5-turbo-16k``, method logprob: four rows per item and question, the
        score in `score`, its probability in `weight`. Each annotator is a rater; their 0
        ("does not apply") is off the scale. A second look at an item is draw 1.

    Raises
    ------
    ValueError
        If `part` is another one.
    DatasetError
        If a file cannot be found or downloaded, or has other counts.

    References
    ----------
    Hashemi et al. (2024), LLM-Rubric, ACL.
    """
    _member("part", part, ("real", "synth"))
    folder, people = f"data/{part}_data", {"real": "real_convs", "synth": "synth_all"}[part]
    human = _tsv("llm_rubric", f"{folder}/human_judges_{people}_FIXED_ANON.tsv")
    judge = _tsv("llm_rubric", f"{folder}/gpt-3.5-turbo-16k_{part}_evaluations_FIXED.tsv")
    items = human.drop_duplicates("text_id").rename(columns={"text_id": "item", "dialogue_system": "system"})
    ratings = pd.concat([_rubric_people(human), _rubric_judge(judge)], ignore_index=True)
    columns = [name for name in ("item", "system") if name in items]
    counts = {"real": {"items": 223, "ratings": 10035}, "synth": {"items": 250, "ratings": 14787}}
    return _tables("llm_rubric", items[columns], ratings, counts[part])


def load_unieval() -> Tables:
    """Stored predictions of UniEval beside human scores: Topical-Chat and two QAGS sets.

    Returns
    -------
    items : DataFrame
        834 rows; `set` is ``topical_chat`` (360; the same items as in `load_topical_chat`),
        ``qags_cnndm`` (235) or ``qags_xsum`` (239); `group` is the source text.
    ratings : DataFrame
        5,268 rows: raters ``human`` and ``unieval`` on six criteria for Topical-Chat and on
        consistency for QAGS, all continuous. UniEval's engagingness and overall are sums
        without a fixed end, so their scale is unknown.

    Raises
    ------
    DatasetError
        If a file cannot be found or downloaded, or has other counts.

    References
    ----------
    Zhong et al. (2022), UniEval, EMNLP; Mehri and Eskenazi (2020), USR, ACL; Wang, Cho and
    Lewis (2020), QAGS, ACL.
    """
    folder = "reproduce/unieval_predict"
    turns = _json("unieval", f"{folder}/dialogue/topical_chat_result.json")
    items = [{**row, "set": "topical_chat"} for row in _dialogue_items(turns)]
    ratings = _dialogue_people(turns, items, "human") + _predictions(turns, items)
    for name, count in _QAGS.items():
        records = _json("unieval", f"{folder}/fact/{name}_result.json")
        _expect("unieval", f"items of {name}", len(records), count)
        more = [_fact_item(name, record) for record in records]
        items, ratings = items + more, ratings + _fact_people(records, more) + _predictions(records, more)
    return _tables("unieval", items, ratings, {"items": 834, "ratings": 5268})


def load_cje_arena() -> Tables:
    """Chatbot Arena prompts answered by four policies: a judge's scores of all, a better model's of a few.

    Returns
    -------
    items : DataFrame
        4,000 rows: 1,000 prompts (`source`, `group`) answered under four policies (`system`):
        ``base``, and ``clone``, ``parallel_universe_prompt`` and ``unhelpful``.
    ratings : DataFrame
        4,630 rows of criterion ``quality``, from 0 to 1: rater ``judge`` (4,000) and rater
        ``oracle``, which stands in for people (480 of ``base``, 50 of each other policy: probes,
        to see whether the judge errs there as it does on ``base``).

    Raises
    ------
    DatasetError
        If a file cannot be found or downloaded, or has other counts.

    References
    ----------
    Landesberg and Narayan (2025), Causal Judge Evaluation, arXiv:2512.11150.
    """
    folder = "examples/arena_sample"
    draws = {name: _jsonl("cje_arena", f"{folder}/fresh_draws/{name}_responses.jsonl") for name in _POLICIES}
    probes = {name: _jsonl("cje_arena", f"{folder}/probe_slice/{name}_probe.jsonl") for name in _POLICIES[1:]}
    items = [_answer(record, name) for name, records in draws.items() for record in records]
    judge = [_quality(record, name, "judge", "judge_score") for name, records in draws.items() for record in records]
    oracle = [
        _quality(record, name, "oracle", "oracle_label")
        for name, records in {**probes, "base": draws["base"]}.items()
        for record in records
        if "oracle_label" in record
    ]
    counts = {"items": 4000, "groups": 1000, "systems": 4, "ratings": 4630}
    return _tables("cje_arena", items, judge + oracle, counts)


def load_triviaqa_judges() -> Tables:
    """TriviaQA: 400 questions answered by eight models, each answer called right or wrong by people and nine judges.

    Returns
    -------
    items : DataFrame
        3,200 rows: `source` is the question (`group`), `system` the model that answered,
        `references` the list of right answers, `reference` the first of them. The answers
        themselves are not in the file.
    ratings : DataFrame
        32,000 rows of criterion ``correct``, 1 for right and 0 for wrong: rater ``human`` and
        nine judges, 3,200 each.

    Raises
    ------
    DatasetError
        If the file cannot be found or downloaded, or has other counts.

    Notes
    -----
    The file has 3,600 rows: those of one model are there twice, the first time without any
    verdict. These 400 are left out.

    References
    ----------
    Thakur et al. (2024), Judging the Judges, arXiv:2406.12624; questions of Joshi et al. (2017), TriviaQA, ACL.
    """
    frame = pd.read_csv(io.BytesIO(_read("triviaqa_judges", "results/TriviaQA_Judges_w_HumanJudgement_V2.csv")))
    _expect("triviaqa_judges", "rows", len(frame), 3600)
    names = {question: f"tq-{number:03d}" for number, question in enumerate(frame["question"].unique())}
    frame = frame.rename(columns={"model": "system", "question": "source", "Human-Eval": "human"})
    frame = frame[frame["human"].notna()].assign(group=frame["source"].map(names))
    frame["item"] = frame["group"] + "__" + frame["system"]
    frame["references"] = frame["references"].str.split("\n")
    frame["reference"] = frame["references"].str[0]
    ratings = frame.melt("item", ["human", *_TRIVIA_JUDGES], "rater", "score").assign(criterion="correct", scale="0|1")
    ratings["method"] = np.where(ratings["rater"] == "human", "human", "sample")
    items = frame[["item", "source", "group", "system", "reference", "references"]]
    counts = {"items": 3200, "groups": 400, "systems": 8, "ratings": 32000}
    return _tables("triviaqa_judges", items, ratings.astype({"score": float}), counts)


def load_ballots() -> Tables:
    """Ballots of an election in San Francisco: is the vote for the winner, read by a person and by a machine.

    Returns
    -------
    items : DataFrame
        79,177 rows, `item` alone: the first 1,027 are those that people read.
    ratings : DataFrame
        80,204 rows of criterion ``vote``, 0 or 1: rater ``human`` (1,027 ballots) and rater
        ``machine``, computer vision (all ballots).

    Raises
    ------
    DatasetError
        If the file cannot be found or downloaded, or has other counts.

    References
    ----------
    Angelopoulos et al. (2023), Prediction-powered inference, Science 382(6671):669-674.
    """
    arrays = _arrays("ballots", "ballots/ballot-data.npz")
    machine = np.concatenate([arrays["Yhat_labeled"], arrays["Yhat_unlabeled"]])
    counts = {"items": 79177, "ratings": 80204}
    return _two_raters("ballots", "vote", arrays["Y_labeled"], machine, counts)


def load_forest_badmodel() -> Tables:
    """Parcels of the Amazon forest: cleared or not, seen by people and by a model that is of no use.

    Returns
    -------
    items : DataFrame
        1,596 rows, `item` alone.
    ratings : DataFrame
        3,192 rows of criterion ``cleared``, 0 or 1: raters ``human`` and ``machine``, whose
        correlation is -0.05.

    Raises
    ------
    DatasetError
        If the file cannot be found or downloaded, or has other counts.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), PPI++: Efficient Prediction-Powered Inference, arXiv:2311.01453.
    """
    arrays = _arrays("forest_badmodel", "examples/baselines/forest_badmodel.npz")
    counts = {"items": 1596, "ratings": 3192}
    return _two_raters("forest_badmodel", "cleared", arrays["Y"], arrays["Yhat"], counts)


def load_composo(
    judge: str = "gpt-5.4", prompts: str | Iterable[str] | None = None, *, temperature: float | None = None
) -> Tables:
    """RewardBench 2: four responses to each query, scored 8 times by a judge, under up to seven prompts.

    Parameters
    ----------
    judge : str, default "gpt-5.4"
        gpt-5.4 and gpt-5.4-mini (seven prompts), gpt-5.4-nano (base alone), claude-sonnet-4-6
        and claude-haiku-4-5 (base and criteria).
    prompts : str or sequence of str, optional
        Which of base, criteria, cal-low, cal-high, cal-both, cal-cross, combined; default all
        that the judge has.
    temperature : {0.0, 0.3, 0.7}, optional
        One of the cooler runs of gpt-5.4 under base. Default: the main run, at temperature 1
        (of the Claude models it is not stated).

    Returns
    -------
    items : DataFrame
        A row for each response that the files hold: `group` is the query, `subset` its
        kind, `response` 1 to 4, `best` 1 for the one that is right or better than the other
        three by the benchmark (always the first one) and 0 for these. Texts are not in the files.
    ratings : DataFrame
        Criterion ``quality`` from 1 to 10, a row for each of the 8 draws. A draw without a
        score says why: ``refused``, ``unread`` or ``failed``.

    Raises
    ------
    ValueError
        If `judge`, a prompt or `temperature` is another one, or there is no such run.
    DatasetError
        If a file cannot be found or downloaded, or has other counts.

    Notes
    -----
    The number of a query is unique only within its subset. Not every query is in every file:
    1,663 are in all seven, 1,647 of them without a gap for gpt-5.4, 1,472 for gpt-5.4-mini.

    References
    ----------
    Lail (2026), Practical Techniques for Improving LLM-as-Judge Accuracy on RewardBench 2;
    queries of Malik et al. (2025), RewardBench 2, arXiv:2506.01937.
    """
    _member("judge", judge, tuple(_COMPOSO))
    runs = _composo_runs(judge, temperature)
    wanted = tuple(runs) if prompts is None else (prompts,) if isinstance(prompts, str) else tuple(prompts)
    for prompt in wanted or ("",):
        _member("prompts", prompt, tuple(runs))
    records = [_composo_records(*runs[prompt]) for prompt in wanted]
    items = _composo_items(record for part in records for record in part)
    ratings = _composo_ratings([record for part in records for record in part], _COMPOSO[judge][0], items["item"])
    repeats = [32 * len(part) for part in records]
    ratings["prompt"] = pd.Categorical.from_codes(np.repeat(range(len(wanted)), repeats), categories=list(wanted))
    shared = {"criterion": "quality", "rater": judge, "method": "sample", "scale": "1|2|3|4|5|6|7|8|9|10"}
    labels = {name: pd.Categorical.from_codes(np.zeros(len(ratings), int), [text]) for name, text in shared.items()}
    stated = 1.0 if judge.startswith("gpt") else float("nan")
    ratings = ratings.assign(**labels, temperature=stated if temperature is None else temperature)
    return _tables("composo", items, ratings, {"ratings": 32 * sum(runs[prompt][1] for prompt in wanted)})


def load_llm_summeval(judge: str = "gpt-3.5-turbo-0301", *, people: str = "experts", reading: str = "calib") -> Tables:
    """SummEval, 100 articles x 12 systems, judged by GPT-3.5 in five formats of the prompt, or by another model in one.

    Parameters
    ----------
    judge : str, default "gpt-3.5-turbo-0301"
        With prompts rts and altrts (reason, then score), mcq and altmcq (a letter from A to
        E) and stareval (stars); gpt-4-0314 and llama-2-7b-chat-hf, -13b-, -70b- with rts alone.
    people : {"experts", "crowd"}
        Three experts (e0 to e2) or five crowd workers (c0 to c4), whose scores hardly
        correlate with those of the experts.
    reading : {"calib", "shen"}
        How a score is read from a reply that gives reasons: see Notes.

    Returns
    -------
    items : DataFrame
        1,200 rows, texts and ids as in `load_summeval`.
    ratings : DataFrame
        14,400 rows of experts or 24,000 of crowd workers, 4,800 of the judge for each prompt,
        its text in `reply`. Halves such as 3.5 occur.

    Raises
    ------
    ValueError
        If an argument is another one.
    DatasetError
        If a file cannot be found or downloaded, or has other counts.

    Notes
    -----
    Where an id occurs twice in a file, the last one counts. Replies to rts and altrts, in lower
    case: ``"calib"`` takes what follows "score:", else what stands before "/5" or "out of 5",
    else the first number after "score", "scores" or "scoring" in its sentence, else a number at
    the very end.
    ``"shen"`` is the rule of the published scores: after "score:", else the first digit after
    "score" or "scoring" in its sentence, else the last digit of the reply, so that "a 4 out of
    5" is a 5.

    References
    ----------
    Shen et al. (2023), Large Language Models are Not Yet Human-Level Evaluators for Abstractive
    Summarization, Findings of EMNLP; Fabbri et al. (2021), SummEval, TACL 9:391-409.
    """
    _member("judge", judge, tuple(_LLM_SUMMEVAL))
    _member("people", people, ("experts", "crowd"))
    _member("reading", reading, tuple(_SCORES))
    folder = "model_output_annotations"
    files = {name: f"{folder}/{name}_outputs_annotations.jsonl" for name in _LLM_SUMMEVAL_SYSTEMS}
    records = [record for file in files.values() for record in _jsonl("llm_summeval", file)]
    field = {"experts": "expert_annotations", "crowd": "turker_annotations"}[people]
    human = [row for record in records for row in _summary_people(record, field, people[0])]
    judged = [row for prompt in _LLM_SUMMEVAL[judge] for row in _summary_replies(judge, prompt, reading)]
    counts = {"items": 1200, "groups": 100, "systems": 12}
    items, ratings = _tables("llm_summeval", [_judged_summary(r) for r in records], human + judged, counts)
    _expect("llm_summeval", "replies", len(judged), 4800 * len(_LLM_SUMMEVAL[judge]))
    return items, ratings


def load_hanna() -> Tables:
    """HANNA: 1,056 stories on 96 prompts, the mean of three people and of three runs of five LLM judges.

    Returns
    -------
    items : DataFrame
        1,056 rows: `group` is the prompt for writers, `system` who wrote the story (people and ten
        systems). Texts are not in the file.
    ratings : DataFrame
        133,056 rows on six criteria: rater ``human_mean``, and five judges under four prompts
        (`prompt` 1 to 4), each score the mean of three runs.

    Raises
    ------
    DatasetError
        If the file cannot be found or downloaded, or has other counts.

    Notes
    -----
    A run that could not be read was averaged in as a number below the scale, so that some
    means of judges are below 1 (as low as -1): they are left as they are, and the judges' scale is
    unknown. The single scores of people are not loaded: those for coherence do not belong together.

    References
    ----------
    Chhun, Suchanek and Clavel (2024), Do Language Models Enjoy Their Own Stories?, TACL
    12:1122-1142; Chhun et al. (2022), Of Human Criteria and Automatic Metrics, COLING.
    """
    frame = pd.read_csv(io.BytesIO(_read("hanna", "hanna_metric_scores_llm.csv"))).set_index("Model")
    items = pd.DataFrame(
        {"item": f"hanna-{number:02d}__{system}", "group": f"hanna-{number:02d}", "system": system}
        for system in frame.index
        for number in range(96)
    )
    # a cell is a list of 96 numbers in the order of the prompts
    people = [_story_scores(items, frame, name.capitalize(), name) for name in _HANNA.values()]
    judges = [
        _story_scores(items, frame, f"{judge} {short} {prompt}", name).assign(rater=judge, prompt=prompt)
        for judge in _HANNA_JUDGES
        for short, name in _HANNA.items()
        for prompt in "1234"
    ]
    people = [rows.assign(rater="human_mean", prompt="", method="human", scale="1..5") for rows in people]
    judges = [rows.assign(method="sample", scale="") for rows in judges]
    counts = {"items": 1056, "groups": 96, "systems": 11, "ratings": 133056}
    return _tables("hanna", items, pd.concat(people + judges, ignore_index=True), counts)


def load_planted() -> Tables:
    """Texts of this project with planted defects. The human labels are SIMULATED: no person gave them.

    Returns
    -------
    items : DataFrame
        312 rows: 24 texts (`group`), each with a faithful summary and ones with a `defect` of
        known kind and `severity` (1 to 3); `system` is both, such as ``fluency-2``.
    ratings : DataFrame
        3,744 rows: raters ``simulated-1`` to ``simulated-3``, four criteria, 1 to 5.

    Examples
    --------
    >>> items, ratings = load_planted()
    >>> len(items), items["group"].nunique(), len(ratings)
    (312, 24, 3744)
    >>> sorted(ratings["rater"].unique())
    ['simulated-1', 'simulated-2', 'simulated-3']
    """
    items, ratings = planted.planted_rows()
    given = [{**row, "method": "human", "scale": "1|2|3|4|5"} for row in ratings]
    return _tables("planted", items, given, {"items": 312, "ratings": 3744})


def available() -> pd.DataFrame:
    """What sets there are, and where their files would come from.

    Returns
    -------
    DataFrame
        One row per set: `set`, `loader`, `title`, `licence`, `citation`, and `where`:
        ``package`` (part of calib), ``CALIB_DATA``, ``cache`` or ``download`` (not here yet).

    Examples
    --------
    >>> frame = available()
    >>> frame.loc[frame["set"] == "planted", ["loader", "where"]].values.tolist()
    [['load_planted', 'package']]
    """
    shown = ("loader", "title", "licence", "citation")
    sets = {name: {key: entry[key] for key in shown} for name, entry in _registry().items()}
    return pd.DataFrame([{"set": name, **about, "where": _where(name)} for name, about in sets.items()])


# --- records as rows --------------------------------------------------------------------------------------------


def _summary_id(record: Row) -> str:
    return f"{record['doc_id']}__{record['system_id']}"


def _summary(record: Row) -> Row:
    row = {"item": _summary_id(record), "source": record["source"], "output": record["system_output"]}
    row |= {"group": record["doc_id"], "system": record["system_id"], "reference": record["reference"]}
    return row | {key: record[key] for key in ("references",) if key in record}


def _annotations(name: str) -> Iterator[tuple[Row, str, Any]]:
    """The ratings of one set of the alternative annotator test: who and how, what, which label."""
    for file, method in {"human": "human", "llm": "sample"}.items():
        for rater, labels in _json(name, f"data/{name}/{file}_annotations.json").items():
            for key, label in labels.items():
                yield {"rater": rater, "method": method}, key, label


def _association(key: str) -> Row:
    cue, association, explanation = key.split("__")
    return {"item": key, "output": explanation, "group": cue, "cue": cue, "association": association}


def _turn(record: Row) -> tuple[str, ...]:
    return record["source"], record["system_id"], record["system_output"]


def _dialogue_items(turns: list[Row]) -> list[Row]:
    dialogues = {source: f"tc-{n:02d}" for n, source in enumerate(dict.fromkeys(turn["source"] for turn in turns))}
    return [
        {"item": f"{dialogues[turn['source']]}__{turn['system_id']}", "source": turn["source"]}
        | {"output": turn["system_output"], "group": dialogues[turn["source"]], "system": turn["system_id"]}
        | {"context": turn["context"]}
        for turn in turns
    ]


def _dialogue_people(turns: list[Row], items: list[Row], rater: str) -> list[Row]:
    return [
        {
            "item": item["item"],
            "criterion": criterion,
            "rater": rater,
            "score": turn["scores"][criterion],
            "scale": scale,
        }
        for turn, item in zip(turns, items, strict=True)
        for criterion, scale in _PEOPLE.items()
    ]


def _replies(prompt: str, criterion: str, names: dict[tuple[str, ...], str], reading: str) -> list[Row]:
    records = _json("topical_chat", f"results/topical_chat/gpt3.5_{criterion[:3]}_{prompt}.json")
    shared = {"criterion": criterion, "rater": "gpt-3.5", "prompt": prompt, "method": "sample", "temperature": 1.0}
    shared["scale"] = str(_JUDGED[criterion]) if reading == "calib" else ""
    return [
        {**shared, "item": names[_turn(record)], "draw": draw, "reply": reply}
        | (_as_calib(reply, prompt, criterion) if reading == "calib" else {"score": read_chiang_lee(reply)})
        for record in records
        for draw, reply in enumerate(record["all_responses"])
    ]


def _as_calib(reply: str, prompt: str, criterion: str) -> Row:
    # asked to analyse first, the model ends in a line "Rating: 2"; under every other prompt the rating leads
    answer = "line" if prompt.startswith("analyze") else "label"
    score, status = read_label(reply, _JUDGED[criterion], answer)
    return {"score": score, "status": status}


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


def _rubric_judge(frame: pd.DataFrame) -> pd.DataFrame:
    answers = {f"answer{score}_prob": float(score) for score in (1, 2, 3, 4)}
    rows = frame.melt(["text_id", "criterion"], list(answers), "score", "weight").rename(columns={"text_id": "item"})
    rows["score"] = rows["score"].map(answers)
    return rows.assign(rater="gpt-3.5-turbo-16k", method="logprob", scale="1|2|3|4")


def _rubric_people(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.assign(draw=frame.groupby(["text_id", "annotator_id"]).cumcount())
    rows = frame.melt(["text_id", "annotator_id", "draw"], list(_QUESTIONS), "criterion", "score")
    rows = rows.rename(columns={"text_id": "item", "annotator_id": "rater"})
    rows["status"] = np.where(rows["score"] == 0, "off_scale", "")
    rows["score"] = rows["score"].where(rows["score"] != 0)
    return rows.assign(method="human", scale="1|2|3|4")


def _fact_item(name: str, record: Row) -> Row:
    item = f"{name}-{int(record['doc_id']):03d}"
    row = {"item": item, "source": record["source"], "output": record["system_output"], "context": ""}
    return row | {"group": item, "system": name, "set": name}


def _fact_people(records: list[Row], items: list[Row]) -> list[Row]:
    return [
        {"item": item["item"], "criterion": "consistency", "rater": "human", "scale": "0..1"}
        | {"score": record["scores"]["consistency"]}
        for record, item in zip(records, items, strict=True)
    ]


def _predictions(records: list[Row], items: list[Row]) -> list[Row]:
    return [
        {"item": item["item"], "criterion": criterion, "rater": "unieval", "method": "sample", "score": score}
        | {"scale": "" if criterion in _SUMS else "0..1"}
        for record, item in zip(records, items, strict=True)
        for criterion, score in record["predict_scores"].items()
    ]


def _answer(record: Row, policy: str) -> Row:
    row = {"item": _answer_id(record, policy), "source": record["prompt"], "output": record["response"]}
    return row | {"group": record["prompt_id"], "system": policy}


def _answer_id(record: Row, policy: str) -> str:
    return f"{record['prompt_id']}__{policy}"


def _quality(record: Row, policy: str, rater: str, field: str) -> Row:
    row = {"item": _answer_id(record, policy), "criterion": "quality", "rater": rater, "score": record[field]}
    return row | {"method": "sample", "scale": "0..1"}


def _composo_runs(judge: str, temperature: float | None) -> dict[str, tuple[str, int]]:
    """File and rows for each prompt of a judge."""
    _, run, rows = _COMPOSO[judge]
    if temperature is None:
        return {prompt: (f"{prompt}_{run}_k8", count) for prompt, count in rows.items()}
    if judge != "gpt-5.4" or temperature not in _COMPOSO_COOLER:
        raise ValueError(
            f"`temperature` must be 0.0, 0.3 or 0.7, with judge gpt-5.4, or None, but got {temperature!r} with {judge}."
        )
    return {"base": (f"base_full_k8_t{float(temperature)}", _COMPOSO_COOLER[temperature])}


def _composo_records(file: str, rows: int) -> list[Row]:
    records = _jsonl("composo", f"results/raw/{file}.jsonl")
    _expect("composo", f"rows in {file}", len(records), rows)
    _expect("composo", f"refused rows in {file}", sum(record["refused"] for record in records), 0)
    return records


def _composo_items(records: Iterable[Row]) -> pd.DataFrame:
    # the number alone is not unique: some are both in Factuality and in another subset
    groups = {f"{record['subset']}-{record['id']}": record["subset"] for record in records}
    return pd.DataFrame(
        {"item": f"{group}__{number}", "group": group, "subset": subset, "response": number, "best": int(number == 1)}
        for group, subset in groups.items()
        for number in range(1, 5)
    )


def _composo_ratings(records: list[Row], key: str, items: pd.Series) -> pd.DataFrame:
    """Rows in the order of the files: 4 responses of a record, 8 draws of a response."""
    score = np.array([record[f"{key}_scores"] for record in records], dtype=float)  # None becomes NaN
    errors = [error for record in records for draws in record[f"{key}_errors"] for error in draws]
    places = {item: place for place, item in enumerate(items)}
    first = [places[f"{record['subset']}-{record['id']}__1"] for record in records]
    status = [0 if error is None else table.STATUSES.index(_composo_status(error)) for error in errors]
    return pd.DataFrame(
        {
            "item": pd.Categorical.from_codes(np.add.outer(first, np.repeat(range(4), 8)).ravel(), list(items)),
            "draw": np.tile(range(8), 4 * len(records)),
            "score": score.ravel(),
            "status": pd.Categorical.from_codes(status, list(table.STATUSES)),
        }
    )


def _composo_status(error: str) -> str:
    return _COMPOSO_ERRORS.get(error.partition(" ")[0], "failed")


def _judged_summary(record: Row) -> Row:
    row = {"item": f"{record['id']}__{record['model_id']}", "source": record["text"], "output": record["decoded"]}
    row |= {"group": record["id"], "system": record["model_id"], "reference": record["references"][0]}
    return row | {"references": record["references"]}


def _summary_people(record: Row, field: str, letter: str) -> Iterator[Row]:
    shared = {"item": f"{record['id']}__{record['model_id']}", "method": "human", "scale": "1|2|3|4|5"}
    for number, scores in enumerate(record[field]):
        for criterion in CRITERIA:
            yield {**shared, "criterion": criterion, "rater": f"{letter}{number}", "score": scores[criterion]}


def _summary_replies(judge: str, prompt: str, reading: str) -> Iterator[Row]:
    shared = {"rater": judge, "prompt": prompt, "method": "sample", "scale": "1..5"}
    for system in _LLM_SUMMEVAL_SYSTEMS:
        for criterion in CRITERIA:
            file = f"eval_model_generations/{judge}/eval_{system}_generations/{criterion}_{prompt}.txt"
            # a run that was taken up again has some ids twice: the last one counts
            replies = {record["id"]: record["resp"] for record in _jsonl("llm_summeval", file)}
            for name, reply in replies.items():
                score, status = _read_summary(reply, prompt, reading)
                row = {**shared, "item": f"{name}__{system}", "criterion": criterion, "reply": reply}
                yield row | {"score": score, "status": status}


def _read_summary(reply: str, prompt: str, reading: str) -> tuple[float, str]:
    r"""Score and status of a reply to one of the five formats.

    Examples
    --------
    >>> _read_summary("A 4 out of 5.", "rts", "calib"), _read_summary("A 4 out of 5.", "rts", "shen")
    ((4.0, 'ok'), (5.0, 'ok'))
    >>> _read_summary("D", "mcq", "calib"), _read_summary("Four stars. Well done", "stareval", "calib")
    ((4.0, 'ok'), (4.0, 'ok'))
    """
    text = reply.strip().lower()
    if prompt.endswith("mcq"):
        found = text.translate(str.maketrans("abcde", "12345")) if len(text) == 1 else ""
    else:
        patterns = (rf"{_ANY}\s*stars?\b",) if prompt == "stareval" else _SCORES[reading]
        match = next(filter(None, (re.search(pattern, text, re.DOTALL) for pattern in patterns)), None)
        found = match[1] if match else ""
    if not found:
        return float("nan"), "unread"
    score = float(_WORDS.get(found, found))
    return (score, "ok") if 1 <= score <= 5 else (float("nan"), "off_scale")


def _story_scores(items: pd.DataFrame, frame: pd.DataFrame, column: str, criterion: str) -> pd.DataFrame:
    scores = np.concatenate([json.loads(cell) for cell in frame[column]])
    return pd.DataFrame({"item": items["item"], "criterion": criterion, "score": scores})


def _two_raters(name: str, criterion: str, human: Any, machine: Any, counts: dict[str, int]) -> Tables:
    """Items all of which a machine saw, and people the first ones."""
    items = pd.DataFrame({"item": [f"{name}-{number:05d}" for number in range(len(machine))]})
    seen = {"human": human, "machine": machine}
    ratings = pd.concat(
        items.head(len(score)).assign(rater=rater, score=score, method="human" if rater == "human" else "sample")
        for rater, score in seen.items()
    )
    return _tables(name, items, ratings.assign(criterion=criterion, scale="0|1"), counts)


# --- checks -----------------------------------------------------------------------------------------------------


def _tables(name: str, items: Any, ratings: Any, counts: dict[str, int]) -> Tables:
    """Both tables, checked, with the counts that the set is known to have."""
    items, ratings = table.check_items(pd.DataFrame(items)), table.check_ratings(pd.DataFrame(ratings))
    columns = {"groups": "group", "systems": "system"}
    found = {"items": len(items), "ratings": len(ratings)}
    found |= {what: items[column].nunique() for what, column in columns.items() if column in items}
    for what, number in counts.items():
        _expect(name, what, found[what], number)
    return items, ratings


def _expect(name: str, what: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise DatasetError(f"{name}: must have {wanted} {what}, but the files have {found}.")


def _member(name: str, value: str, options: tuple[str, ...]) -> None:
    if value not in options:
        raise ValueError(f"`{name}` must be one of {', '.join(options)}, but got {value!r}.")


# --- files ------------------------------------------------------------------------------------------------------


@cache
def _registry() -> dict[str, Row]:
    text = resources.files("calib.datasets").joinpath("registry.json").read_text(encoding="utf-8")
    entries: dict[str, Row] = json.loads(text)
    return entries


def _json(name: str, path: str) -> Any:
    return json.loads(_read(name, path))


def _jsonl(name: str, path: str) -> list[Row]:
    return [json.loads(line) for line in _read(name, path).splitlines()]


def _arrays(name: str, path: str) -> Any:
    return np.load(io.BytesIO(_read(name, path)))


def _tsv(name: str, path: str) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(_read(name, path)), sep="\t", dtype={"text_id": str, "annotator_id": str})


def _read(name: str, path: str) -> bytes:
    """The content of one file of a set, verified."""
    file = next(file for file in _registry()[name]["files"] if file["path"] == path)
    local = _local(name, file)
    if local is None:
        return _downloaded(name, file)
    content = local.read_bytes()
    if "sha256" in file and (found := _sha256(content)) != file["sha256"]:
        raise DatasetError(
            f"{local}: is not {path} of {_registry()[name]['repository']} as the registry knows it: its sha256 must "
            f"be {file['sha256']}, but is {found}. Replace it, or take it away to have it downloaded."
        )
    return content


def _local(name: str, file: Row) -> Path | None:
    folder = os.environ.get("CALIB_DATA", "")
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise DatasetError(f"`CALIB_DATA` must name a folder, but got {folder!r}.")
    path = Path(folder, _folder(name), _place(file))
    return path if path.is_file() else None


def _folder(name: str) -> str:
    """Of the set in CALIB_DATA: sets of one repository share one."""
    return str(_registry()[name].get("folder", name))


def _place(file: Row) -> str:
    return str(file.get("place", file["path"]))


def _cached(name: str, file: Row) -> Path:
    import pooch

    return Path(pooch.os_cache("calib"), name, _registry()[name]["commit"], file["path"])


def _downloaded(name: str, file: Row) -> bytes:
    import pooch

    entry, path = _registry()[name], _cached(name, file)
    url = f"{_RAW}/{entry['repository']}/{entry['commit']}/{file['path']}"
    known = f"sha256:{file['sha256']}" if "sha256" in file else None
    try:
        downloader = pooch.HTTPDownloader(progressbar=True)
        pooch.retrieve(url, known, fname=path.name, path=path.parent, downloader=downloader)
    except (OSError, ValueError) as error:  # no connection, no such page; another hash
        raise _absent(name, file, url, f"{type(error).__name__}: {error}") from None
    content = path.read_bytes()
    if "git_blob" in file and _git_blob(content) != file["git_blob"]:
        path.unlink()
        reason = f"its git blob id must be {file['git_blob']}, but is {_git_blob(content)}"
        raise _absent(name, file, url, reason)
    return content


def _absent(name: str, file: Row, url: str, reason: str) -> DatasetError:
    return DatasetError(
        f"{name}: {file['path']} could not be downloaded from {url} ({reason}). To provide it, set the "
        f"environment variable CALIB_DATA to a folder that holds it as {_folder(name)}/{_place(file)}."
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _where(name: str) -> str:
    files = _registry()[name]["files"]
    elsewhere = [file for file in files if _local(name, file) is None]
    if not elsewhere:
        return "CALIB_DATA" if files else "package"
    return "cache" if all(_cached(name, file).is_file() for file in elsewhere) else "download"
