"""SummEval, judged by GPT-3.5 in five formats of the prompt, and by other models in one."""

import re
from collections.abc import Iterator

from calib.core.check import choice
from calib.datasets.planted import CRITERIA
from calib.datasets.registry import Record, Tables, checked_tables, expect, read_jsonl

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
