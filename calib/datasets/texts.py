"""Sets of texts that people and judges scored one by one."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from operator import itemgetter

import numpy as np
import pandas as pd

from calib.core.check import choice
from calib.datasets.planted import CRITERIA
from calib.datasets.registry import Record, Tables, checked_tables, expect, read_file, read_json, read_jsonl
from calib.judge.replies.extract import read_label
from calib.judge.scale import Scale

TOPICAL_CHAT_PROMPTS = (
    "analyze_rate", "analyze_rate_auto_cot", "geval", "geval_no_auto_cot", "llm_eval_no_cot", "rate_explain",
    "rate_explain_auto_cot",
)  # fmt: skip
_OF_THREE = ("naturalness", "coherence", "engagingness")
_DIALOGUE_JUDGED = dict.fromkeys(_OF_THREE, Scale.of(1, 2, 3)) | {"groundedness": Scale.of(0, 1)}
_DIALOGUE_PEOPLE = dict.fromkeys(_OF_THREE, "1..3") | dict.fromkeys(("groundedness", "understandability"), "0..1")
_DIALOGUE_PEOPLE |= {"overall": "1..5"}
# UniEval adds up sentences for two of them: no fixed end
_DIALOGUE_UNIEVAL = dict.fromkeys(_DIALOGUE_PEOPLE, "0..1") | {"engagingness": "", "overall": ""}
_TURN = itemgetter("source", "system_id", "system_output")


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
    items = []
    for record in records:
        group, system = record["doc_id"], record["system_id"]
        more = {key: record[key] for key in ("reference", "references") if key in record}
        items.append(_text_item(record, f"{group}__{system}", group, system, **more))
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
    # asked to analyse first, the model ends in a line "Rating: 2"; under every other prompt the rating leads
    answer = "line" if prompt.startswith("analyze") else "label"
    for criterion, judged in _DIALOGUE_JUDGED.items():
        shared = {"criterion": criterion, "rater": "gpt-3.5", "prompt": prompt, "method": "sample", "temperature": 1.0}
        shared["scale"] = str(judged) if reading == "calib" else ""
        for record in read_json("topical_chat", f"results/topical_chat/gpt3.5_{criterion[:3]}_{prompt}.json"):
            for draw, reply in enumerate(record["all_responses"]):
                row = {**shared, "item": names[_TURN(record)], "draw": draw, "reply": reply}
                if reading == "calib":
                    score, status = read_label(reply, judged, answer, criterion)
                    ratings.append(row | {"score": score, "status": status})
                else:
                    ratings.append(row | {"score": read_chiang_lee(reply)})
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
    items: list[Record] = []
    ratings: list[Record] = []
    for name, count in {"topical_chat": 360, "qags_cnndm": 235, "qags_xsum": 239}.items():
        folder = "dialogue" if name == "topical_chat" else "fact"
        records = read_json("unieval", f"reproduce/unieval_predict/{folder}/{name}_result.json")
        expect("unieval", f"items of {name}", len(records), count)
        if name == "topical_chat":
            rows, human, unieval = _dialogue_items(records), _DIALOGUE_PEOPLE, _DIALOGUE_UNIEVAL
        else:
            human = unieval = {"consistency": "0..1"}
            ids = [f"{name}-{int(record['doc_id']):03d}" for record in records]
            rows = [_text_item(record, one, one, name, context="") for record, one in zip(records, ids, strict=True)]
        items += [{**row, "set": name} for row in rows]
        ratings += _record_scores(records, rows, "scores", human, rater="human")
        ratings += _record_scores(records, rows, "predict_scores", unieval, rater="unieval", method="sample")
    return checked_tables("unieval", items, ratings)


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


def _text_item(record: Record, item: str, group: str, system: str, **more: object) -> Record:
    row = {"item": item, "source": record["source"], "output": record["system_output"]}
    return {**row, "group": group, "system": system, **more}


def _dialogue_items(turns: list[Record]) -> list[Record]:
    groups = {source: f"tc-{n:02d}" for n, source in enumerate(dict.fromkeys(turn["source"] for turn in turns))}
    of = [(turn, groups[turn["source"]], turn["system_id"]) for turn in turns]
    return [_text_item(turn, f"{group}__{by}", group, by, context=turn["context"]) for turn, group, by in of]


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


# --- tables: a column for each rater, for each label, or for each question --------------------------------------------


TRIVIA_JUDGES = (
    "GPT-4", "Gemma-2B", "JudgeLM", "Llama-13B", "Llama-70B", "Llama-7B", "Llama3-70B", "Llama3-8B", "Mistral-7B",
)  # fmt: skip
HANNA_CRITERIA = {
    "RE": "relevance", "CH": "coherence", "EM": "empathy", "SU": "surprise", "EG": "engagement", "CX": "complexity",
}  # fmt: skip
HANNA_JUDGES = ("Beluga-13B", "ChatGPT", "Llama-13B", "Mistral-7B", "OrcaPlatypus")


def load_triviaqa_judges() -> Tables:
    """TriviaQA: 400 questions answered by eight models, each answer called right or wrong by people and nine judges.

    Items: 3,200 rows: `source` is the question (`group`), `system` the model that answered, `references` the list of
    right answers, `reference` the first of them. The answers themselves are not in the file.
    Ratings: 32,000 rows of criterion ``correct``, 1 for right and 0 for wrong: rater ``human`` and nine judges, 3,200
    each.

    Notes
    -----
    The file has 3,600 rows: those of one model are there twice, the first time without any verdict. These 400 are
    left out.

    References
    ----------
    Thakur et al. (2024), Judging the Judges, arXiv:2406.12624; questions of Joshi et al. (2017), TriviaQA, ACL.
    """
    frame = _column_table("triviaqa_judges", "results/TriviaQA_Judges_w_HumanJudgement_V2.csv")
    expect("triviaqa_judges", "rows", len(frame), 3600)
    names = {question: f"tq-{number:03d}" for number, question in enumerate(frame["question"].unique())}
    frame = frame.rename(columns={"model": "system", "question": "source", "Human-Eval": "human"})
    frame = frame[frame["human"].notna()].assign(group=frame["source"].map(names))
    frame["item"] = frame["group"] + "__" + frame["system"]
    frame["references"] = frame["references"].str.split("\n")
    frame["reference"] = frame["references"].str[0]
    ratings = frame.melt("item", ["human", *TRIVIA_JUDGES], "rater", "score").assign(criterion="correct", scale="0|1")
    ratings["method"] = np.where(ratings["rater"] == "human", "human", "sample")
    items = frame[["item", "source", "group", "system", "reference", "references"]]
    return checked_tables("triviaqa_judges", items, ratings.astype({"score": float}))


def load_hanna() -> Tables:
    """HANNA: 1,056 stories on 96 prompts, the mean of three people and of three runs of five LLM judges.

    Items: 1,056 rows: `group` is the prompt for writers, `system` who wrote the story (people and ten systems). Texts
    are not in the file.
    Ratings: 133,056 rows on six criteria: rater ``human_mean``, and five judges under four prompts (`prompt` 1 to 4),
    each score the mean of three runs.

    Notes
    -----
    A run that could not be read was averaged in as a number below the scale, so that some means of judges are below 1
    (as low as -1): they are left as they are, and the judges' scale is unknown. The single scores of people are not
    loaded: those for coherence do not belong together.

    References
    ----------
    Chhun, Suchanek and Clavel (2024), Do Language Models Enjoy Their Own Stories?, TACL 12:1122-1142; Chhun et al.
    (2022), Of Human Criteria and Automatic Metrics, COLING.
    """
    frame = _column_table("hanna", "hanna_metric_scores_llm.csv").set_index("Model")
    items = pd.DataFrame(
        {"item": f"hanna-{number:02d}__{system}", "group": f"hanna-{number:02d}", "system": system}
        for system in frame.index
        for number in range(96)
    )
    columns = [(name.capitalize(), name, "human_mean", "") for name in HANNA_CRITERIA.values()]
    of_judges = product(HANNA_JUDGES, HANNA_CRITERIA.items(), "1234")
    columns += [(f"{judge} {short} {prompt}", name, judge, prompt) for judge, (short, name), prompt in of_judges]
    parts = []
    for column, name, rater, prompt in columns:  # a cell is a list of 96 numbers in the order of the prompts
        score = np.concatenate([json.loads(cell) for cell in frame[column]])
        part = pd.DataFrame({"item": items["item"], "score": score})
        parts.append(part.assign(criterion=name, rater=rater, prompt=prompt))
    ratings = pd.concat(parts)
    human = ratings["prompt"] == ""
    ratings = ratings.assign(method=np.where(human, "human", "sample"), scale=np.where(human, "1..5", ""))
    return checked_tables("hanna", items, ratings)


def load_llm_rubric(part: str = "real") -> Tables:
    """LLM-Rubric: score probabilities of GPT-3.5 for dialogues on questions Q0 to Q8, and people.

    Items: `item` alone (the texts are not released), and `system` for ``"real"``.
    Ratings: rater ``gpt-3.5-turbo-16k``, method logprob: four rows per item and question, the score in `score`, its
    probability in `weight`. Each annotator is a rater; their 0 ("does not apply") is off the scale. A second look at
    an item is draw 1.

    Parameters
    ----------
    part : {"real", "synth"}
        Dialogues of people with a system (223, one annotator each), or synthetic ones
        (250, several annotators each; 225 with probabilities).

    References
    ----------
    Hashemi et al. (2024), LLM-Rubric, ACL.
    """
    choice(part, "part", ("real", "synth"))
    folder, people = f"data/{part}_data", {"real": "real_convs", "synth": "synth_all"}[part]
    human = _column_table("llm_rubric", f"{folder}/human_judges_{people}_FIXED_ANON.tsv")
    judge = _column_table("llm_rubric", f"{folder}/gpt-3.5-turbo-16k_{part}_evaluations_FIXED.tsv")
    items = human.rename(columns={"dialogue_system": "system"}).drop_duplicates("item").filter(["item", "system"])
    human = human.assign(draw=human.groupby(["item", "rater"]).cumcount())
    labels = human.melt(["item", "rater", "draw"], [f"Q{number}" for number in range(9)], "criterion", "score")
    labels["status"] = np.where(labels["score"] == 0, "off_scale", "")
    labels = labels.assign(score=labels["score"].where(labels["score"] != 0), method="human")
    answers = {f"answer{score}_prob": float(score) for score in (1, 2, 3, 4)}
    shares = judge.melt(["item", "criterion"], list(answers), "score", "weight")
    shares = shares.assign(score=shares["score"].map(answers), rater="gpt-3.5-turbo-16k", method="logprob")
    ratings = pd.concat([labels, shares], ignore_index=True).assign(scale="1|2|3|4")
    counts = {"real": {"items": 223, "ratings": 10035}, "synth": {"items": 250, "ratings": 14787}}
    return checked_tables("llm_rubric", items, ratings, **counts[part])


def _column_table(name: str, path: str) -> pd.DataFrame:
    """A table of a set, with the ids of items and raters as texts."""
    ids = {"text_id": "item", "annotator_id": "rater"}
    separator = "\t" if path.endswith(".tsv") else ","
    frame = pd.read_csv(io.BytesIO(read_file(name, path)), sep=separator, dtype=dict.fromkeys(ids, str))
    return frame.rename(columns=ids)


# --- SummEval, judged in five formats ---------------------------------------------------------------------------------


LLM_SUMMEVAL_PROMPTS = ("rts", "altrts", "mcq", "altmcq", "stareval")
_JUDGE_PROMPTS = {
    "gpt-3.5-turbo-0301": LLM_SUMMEVAL_PROMPTS,
    **dict.fromkeys(("gpt-4-0314", "llama-2-7b-chat-hf", "llama-2-13b-chat-hf", "llama-2-70b-chat-hf"), ("rts",)),
}
_SYSTEMS = tuple(f"M{number}" for number in (8, 9, 10, 11, 12, 13, 14, 15, 17, 20, 22, 23))
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


def load_llm_summeval(judge: str = "gpt-3.5-turbo-0301", *, people: str = "experts", reading: str = "calib") -> Tables:
    """SummEval, 100 articles x 12 systems, judged by GPT-3.5 in five formats of the prompt, or by another model in one.

    Items: 1,200 rows, texts and ids as in `load_summeval`.
    Ratings: 14,400 rows of experts or 24,000 of crowd workers, 4,800 of the judge for each prompt, its text in
    `reply`. Halves such as 3.5 occur.

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

    Notes
    -----
    Where an id occurs twice in a file, the last one counts. Replies to rts and altrts, in lower case: ``"calib"``
    takes what follows "score:", else what stands before "/5" or "out of 5", else the first number after "score",
    "scores" or "scoring" in its sentence, else a number at the very end. ``"shen"`` is the rule of the published
    scores: after "score:", else the first digit after "score" or "scoring" in its sentence, else the last digit of the
    reply, so that "a 4 out of 5" is a 5.

    References
    ----------
    Shen et al. (2023), Large Language Models are Not Yet Human-Level Evaluators for Abstractive Summarization,
    Findings of EMNLP; Fabbri et al. (2021), SummEval, TACL 9:391-409.
    """
    choice(judge, "judge", tuple(_JUDGE_PROMPTS))
    choice(people, "people", ("experts", "crowd"))
    choice(reading, "reading", tuple(_SCORES))
    files = [f"model_output_annotations/{system}_outputs_annotations.jsonl" for system in _SYSTEMS]
    records = [record for file in files for record in read_jsonl("llm_summeval", file)]
    items = []
    for record in records:
        group, system, references = record["id"], record["model_id"], record["references"]
        text = {"source": record["text"], "system_output": record["decoded"]}
        more = {"reference": references[0], "references": references}
        items.append(_text_item(text, f"{group}__{system}", group, system, **more))
    field = {"experts": "expert_annotations", "crowd": "turker_annotations"}[people]
    human = [
        {"item": item["item"], "criterion": criterion, "rater": f"{people[0]}{number}", "score": scores[criterion],
         "method": "human", "scale": "1|2|3|4|5"}
        for record, item in zip(records, items, strict=True)
        for number, scores in enumerate(record[field]) for criterion in CRITERIA
    ]  # fmt: skip
    judged = [row for prompt in _JUDGE_PROMPTS[judge] for row in summary_replies(judge, prompt, reading)]
    items, ratings = checked_tables("llm_summeval", items, human + judged)
    expect("llm_summeval", "replies", len(judged), 4800 * len(_JUDGE_PROMPTS[judge]))
    return items, ratings


def summary_replies(judge: str, prompt: str, reading: str) -> Iterator[Record]:
    """Rows of the replies of a judge to a prompt."""
    shared = {"rater": judge, "prompt": prompt, "method": "sample", "scale": "1..5"}
    for system in _SYSTEMS:
        for criterion in CRITERIA:
            file = f"eval_model_generations/{judge}/eval_{system}_generations/{criterion}_{prompt}.txt"
            # a run that was taken up again has some ids twice: the last one counts
            replies = {record["id"]: record["resp"] for record in read_jsonl("llm_summeval", file)}
            for name, reply in replies.items():
                score, status = read_summary_reply(reply, prompt, reading)
                row = {**shared, "item": f"{name}__{system}", "criterion": criterion, "reply": reply}
                yield row | {"score": score, "status": status}


def read_summary_reply(reply: str, prompt: str, reading: str) -> tuple[float, str]:
    r"""Score and status of a reply to one of the five formats.

    Examples
    --------
    >>> read_summary_reply("A 4 out of 5.", "rts", "calib"), read_summary_reply("A 4 out of 5.", "rts", "shen")
    ((4.0, 'ok'), (5.0, 'ok'))
    >>> read_summary_reply("D", "mcq", "calib"), read_summary_reply("Four stars. Well done", "stareval", "calib")
    ((4.0, 'ok'), (4.0, 'ok'))
    """
    text = reply.strip().lower()
    if prompt.endswith("mcq"):
        number = text.translate(str.maketrans("abcde", "12345")) if len(text) == 1 else ""
    else:
        patterns = (rf"{_ANY}\s*stars?\b",) if prompt == "stareval" else _SCORES[reading]
        match = next(filter(None, (re.search(pattern, text, re.DOTALL) for pattern in patterns)), None)
        number = match[1] if match else ""
    if not number:
        return float("nan"), "unread"
    score = float(_WORDS.get(number, number))
    return (score, "ok") if 1 <= score <= 5 else (float("nan"), "off_scale")
