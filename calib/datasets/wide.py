"""Sets in one table of columns: one for each rater, for each label, or for each question."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from calib.core.check import choice
from calib.datasets.planted import CRITERIA
from calib.datasets.registry import Record, Tables, checked_tables, expect, read_file, read_jsonl

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
    frame = _columns("triviaqa_judges", "results/TriviaQA_Judges_w_HumanJudgement_V2.csv")
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
    frame = _columns("hanna", "hanna_metric_scores_llm.csv").set_index("Model")
    items = pd.DataFrame(
        {"item": f"hanna-{number:02d}__{system}", "group": f"hanna-{number:02d}", "system": system}
        for system in frame.index
        for number in range(96)
    )
    columns = [(name.capitalize(), name, "human_mean", "") for name in HANNA_CRITERIA.values()]
    columns += [
        (f"{judge} {short} {prompt}", name, judge, prompt)
        for judge in HANNA_JUDGES
        for short, name in HANNA_CRITERIA.items()
        for prompt in "1234"
    ]
    ratings = pd.concat(
        # a cell is a list of 96 numbers in the order of the prompts
        pd.DataFrame(
            {"item": items["item"], "score": np.concatenate([json.loads(cell) for cell in frame[column]])}
        ).assign(criterion=name, rater=rater, prompt=prompt)
        for column, name, rater, prompt in columns
    )
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
    human = _columns("llm_rubric", f"{folder}/human_judges_{people}_FIXED_ANON.tsv")
    judge = _columns("llm_rubric", f"{folder}/gpt-3.5-turbo-16k_{part}_evaluations_FIXED.tsv")
    items = human.rename(columns={"dialogue_system": "system"}).drop_duplicates("item").filter(["item", "system"])
    ratings = pd.concat([_rubric_people(human), _rubric_judge(judge)], ignore_index=True).assign(scale="1|2|3|4")
    counts = {"real": {"items": 223, "ratings": 10035}, "synth": {"items": 250, "ratings": 14787}}
    return checked_tables("llm_rubric", items, ratings, **counts[part])


def _rubric_judge(frame: pd.DataFrame) -> pd.DataFrame:
    answers = {f"answer{score}_prob": float(score) for score in (1, 2, 3, 4)}
    rows = frame.melt(["item", "criterion"], list(answers), "score", "weight")
    return rows.assign(score=rows["score"].map(answers), rater="gpt-3.5-turbo-16k", method="logprob")


def _rubric_people(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.assign(draw=frame.groupby(["item", "rater"]).cumcount())
    rows = frame.melt(["item", "rater", "draw"], [f"Q{number}" for number in range(9)], "criterion", "score")
    rows["status"] = np.where(rows["score"] == 0, "off_scale", "")
    return rows.assign(score=rows["score"].where(rows["score"] != 0), method="human")


def _columns(name: str, path: str) -> pd.DataFrame:
    """A table of a set, with the ids of items and raters as texts."""
    ids = {"text_id": "item", "annotator_id": "rater"}
    separator = "\t" if path.endswith(".tsv") else ","
    frame = pd.read_csv(io.BytesIO(read_file(name, path)), sep=separator, dtype=dict.fromkeys(ids, str))
    return frame.rename(columns=ids)


# --- summEval ---------------------------------------------------------------------------------------------------------


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
    scores: after "score:", else the first digit after
    "score" or "scoring" in its sentence, else the last digit of the reply, so that "a 4 out of
    5" is a 5.

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
    field = {"experts": "expert_annotations", "crowd": "turker_annotations"}[people]
    human = [row for record in records for row in _annotator_scores(record, field, people[0])]
    judged = [row for prompt in _JUDGE_PROMPTS[judge] for row in summary_replies(judge, prompt, reading)]
    items, ratings = checked_tables("llm_summeval", [_judged_summary(record) for record in records], human + judged)
    expect("llm_summeval", "replies", len(judged), 4800 * len(_JUDGE_PROMPTS[judge]))
    return items, ratings


def _judged_summary(record: Record) -> Record:
    row = {"item": f"{record['id']}__{record['model_id']}", "source": record["text"], "output": record["decoded"]}
    row |= {"group": record["id"], "system": record["model_id"], "reference": record["references"][0]}
    return row | {"references": record["references"]}


def _annotator_scores(record: Record, field: str, letter: str) -> Iterator[Record]:
    shared = {"item": f"{record['id']}__{record['model_id']}", "method": "human", "scale": "1|2|3|4|5"}
    for number, scores in enumerate(record[field]):
        for criterion in CRITERIA:
            yield {**shared, "criterion": criterion, "rater": f"{letter}{number}", "score": scores[criterion]}


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
        found = text.translate(str.maketrans("abcde", "12345")) if len(text) == 1 else ""
    else:
        patterns = (rf"{_ANY}\s*stars?\b",) if prompt == "stareval" else _SCORES[reading]
        match = next(filter(None, (re.search(pattern, text, re.DOTALL) for pattern in patterns)), None)
        found = match[1] if match else ""
    if not found:
        return float("nan"), "unread"
    score = float(_WORDS.get(found, found))
    return (score, "ok") if 1 <= score <= 5 else (float("nan"), "off_scale")
