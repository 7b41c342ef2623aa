"""Pairs of outputs (LLMBar, AlpacaEval) and four responses to a query, scored 8 times each (RewardBench 2)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
import pandas as pd

from calib import table
from calib.core.check import ArgumentError, choice
from calib.datasets.registry import Tables, checked_tables, expect, read_json, read_jsonl

_SUBSETS = {"Natural": 100, "GPTInst": 92, "GPTOut": 47, "Manual": 46, "Neighbor": 134}
_ORDERS = {"swap = False": "a", "swap = True": "b"}
_WON = {"1": 1.0, "2": 0.0}  # the files say which output won, not which place


def load_llmbar() -> Tables:
    """LLMBar: 419 pairs of which one output follows the instruction, by two judges under two prompts, in both orders.

    Items: a row for each pair, with `source` (the instruction), `output_a`, `output_b` and `subset` (Natural, or one of
    four adversarial ones). Ratings: criterion ``instruction following``, `score` the share of A that wins, scale
    ``0|1``: of the rater ``gold``, who is the authors', a row for each pair; of ``GPT-4`` and ``ChatGPT`` under the
    prompts ``Vanilla`` and ``CoT`` two, one for each order (`shown_first`). A reply that names no winner is ``unread``.

    References
    ----------
    Zeng et al. (2024), Evaluating Large Language Models at Evaluating Instruction Following, ICLR, arXiv:2310.07641.
    """
    records = {subset: read_json("llmbar", _llmbar_path(subset, "dataset.json")) for subset in _SUBSETS}
    for subset, pairs in records.items():
        expect("llmbar", f"pairs in {subset}", len(pairs), _SUBSETS[subset])
    items = pd.DataFrame(
        {"item": f"{subset}-{number}", "source": one["input"], "subset": subset}
        | {"output_a": one["output_1"], "output_b": one["output_2"]}
        for subset, pairs in records.items()
        for number, one in enumerate(pairs)
    )
    gold = [_WON[str(one["label"])] for pairs in records.values() for one in pairs]
    people = pd.DataFrame({"item": items["item"], "rater": "gold", "method": "human", "score": gold, "shown_first": ""})
    rows = []
    for judge, prompt, (subset, n) in product(("GPT-4", "ChatGPT"), ("Vanilla", "CoT"), _SUBSETS.items()):
        pairs = read_json("llmbar", _llmbar_path(subset, f"evaluators/{judge}/{prompt}/result.json"))
        expect("llmbar", f"verdicts on {subset}", len(pairs), n)
        for number, pair in enumerate(pairs):
            (verdicts,) = pair["results"]
            for draw, (order, first) in enumerate(_ORDERS.items()):
                score = _WON.get(str(verdicts[order]["winner"]))
                row = {"item": f"{subset}-{number}", "rater": judge, "prompt": prompt, "method": "sample", "draw": draw}
                status = "unread" if score is None else "ok"
                rows.append(row | {"score": score, "status": status, "shown_first": first})
    people = people.assign(prompt="", status="ok", draw=0)
    ratings = pd.concat([people, pd.DataFrame(rows)], ignore_index=True)
    return checked_tables("llmbar", items, ratings.assign(criterion="instruction following", scale="0|1"))


def _llmbar_path(subset: str, file: str) -> str:
    return f"Dataset/LLMBar/{'' if subset == 'Natural' else 'Adversarial/'}{subset}/{file}"


def load_alpaca_eval(model: str = "vicuna-7b") -> Tables:
    """AlpacaEval: preferences of a GPT-4 judge between a model and GPT-4 Turbo, on 805 instructions.

    Items: `source` (the instruction), `output_a` and `system_a` of the model, `output_b` and `system_b` of the baseline
    ``gpt4_1106_preview``, and `subset`. Ratings: criterion ``preference``, `score` the probability that the judge
    prefers the model, scale ``0..1``. Which of the two it was shown first is not in the files, and no people are.

    Parameters
    ----------
    model : {"vicuna-7b", "gpt4_0613_concise"}, default "vicuna-7b"

    References
    ----------
    Dubois et al. (2024), Length-Controlled AlpacaEval: A Simple Way to Debias Automatic Evaluators, arXiv:2404.04475.
    """
    choice(model, "model", ("vicuna-7b", "gpt4_0613_concise"))
    judge = "weighted_alpaca_eval_gpt4_turbo"
    records = read_json("alpaca_eval", f"results/{model}/{judge}/annotations.json")
    names = [f"{number}" for number in range(len(records))]
    items = pd.DataFrame(
        {"item": name, "source": one["instruction"], "subset": one["dataset"], "output_a": one["output_2"]}
        | {"output_b": one["output_1"], "system_a": one["generator_2"], "system_b": one["generator_1"]}
        for name, one in zip(names, records, strict=True)
    )
    score = [one["preference"] - 1 for one in records]
    ratings = pd.DataFrame({"item": names, "criterion": "preference", "rater": judge, "score": score})
    return checked_tables("alpaca_eval", items, ratings.assign(method="given", scale="0..1", shown_first=""))


COMPOSO_PROMPTS = ("base", "criteria", "cal-low", "cal-high", "cal-both", "cal-cross", "combined")
# how the files call a judge, which run it is from, and the rows of the run's file for each prompt
_GPT_ROWS = dict(zip(COMPOSO_PROMPTS, (1730, 1742, 1744, 1749, 1733, 1752, 1746), strict=True))
_RUNS: dict[str, tuple[str, str, dict[str, int]]] = {
    "gpt-5.4": ("full", "both", _GPT_ROWS),
    "gpt-5.4-mini": ("mini", "both", _GPT_ROWS),
    "gpt-5.4-nano": ("nano", "nano", {"base": 1718}),
    "claude-sonnet-4-6": ("full", "claude_both", {"base": 1763, "criteria": 1763}),
    "claude-haiku-4-5": ("mini", "claude_both", {"base": 1763, "criteria": 1763}),
}
_COOLER_ROWS = {0.0: 1730, 0.3: 1731, 0.7: 1734}  # temperature: rows; gpt-5.4 under the prompt "base" alone
_ERRORS = {"empty_response": "refused", "policy_refusal": "refused", "no_score_found": "unread"}


def load_composo(
    judge: str = "gpt-5.4", prompts: str | Iterable[str] | None = None, *, temperature: float | None = None
) -> Tables:
    """RewardBench 2: four responses to each query, scored 8 times by a judge, under up to seven prompts.

    Items: a row for each response that the files hold: `group` is the query, `subset` its kind, `response` 1 to 4,
    `best` 1 for the one that is right or better than the other three by the benchmark (always the first one) and 0
    for these. Texts are not in the files.
    Ratings: criterion ``quality`` from 1 to 10, a row for each of the 8 draws. A draw without a score says why:
    ``refused``, ``unread`` or ``failed``.

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

    Notes
    -----
    The number of a query is unique only within its subset. Not every query is in every file: 1,663 are in all seven,
    1,647 of them without a gap for gpt-5.4, 1,472 for gpt-5.4-mini.

    References
    ----------
    Lail (2026), Practical Techniques for Improving LLM-as-Judge Accuracy on RewardBench 2; queries of Malik et al.
    (2025), RewardBench 2, arXiv:2506.01937.
    """
    choice(judge, "judge", tuple(_RUNS))
    key, run, n_rows = _RUNS[judge]
    files = {prompt: (f"{prompt}_{run}_k8", count) for prompt, count in n_rows.items()}
    if temperature is not None:
        if judge != "gpt-5.4" or temperature not in _COOLER_ROWS:
            rule = "must be 0.0, 0.3 or 0.7, with judge gpt-5.4, or None"
            raise ArgumentError("temperature", rule, f"got {temperature!r} with {judge}")
        files = {"base": (f"base_full_k8_t{float(temperature)}", _COOLER_ROWS[temperature])}
    wanted = tuple(files) if prompts is None else (prompts,) if isinstance(prompts, str) else tuple(prompts)
    for prompt in wanted or ("",):
        choice(prompt, "prompts", tuple(files))
    records = {}
    for prompt in wanted:
        file, rows = files[prompt]
        records[prompt] = read_jsonl("composo", f"results/raw/{file}.jsonl")
        expect("composo", f"rows in {file}", len(records[prompt]), rows)
        expect("composo", f"refused rows in {file}", sum(record["refused"] for record in records[prompt]), 0)
    every = [record for part in records.values() for record in part]
    # the number alone is not unique: some are both in Factuality and in another subset
    queries = [f"{record['subset']}-{record['id']}" for record in every]
    groups = {query: record["subset"] for query, record in zip(queries, every, strict=True)}
    items = pd.DataFrame(
        {"item": f"{group}__{number}", "group": group, "subset": subset, "response": number, "best": int(number == 1)}
        for group, subset in groups.items()
        for number in range(1, 5)
    )
    places = {group: place for place, group in enumerate(items["group"][::4])}
    # in the order of the files: 4 responses of a record (from the first one's place in the items), 8 draws of each
    rows = np.add.outer([4 * places[query] for query in queries], np.repeat(range(4), 8)).ravel()
    score = np.array([record[f"{key}_scores"] for record in every], dtype=float).ravel()  # None becomes NaN
    errors = [error for record in every for draws in record[f"{key}_errors"] for error in draws]
    status = ["ok" if error is None else _ERRORS.get(error.partition(" ")[0], "failed") for error in errors]
    columns = {"item": pd.Categorical.from_codes(rows, list(items["item"])), "draw": np.tile(range(8), 4 * len(every))}
    ratings = pd.DataFrame(columns | {"score": score, "status": pd.Categorical(status, list(table.STATUSES))})
    shared = {"criterion": "quality", "rater": judge, "method": "sample", "scale": "1|2|3|4|5|6|7|8|9|10"}
    labels = {name: pd.Categorical.from_codes(np.zeros(len(ratings), int), [text]) for name, text in shared.items()}
    repeats = [32 * len(part) for part in records.values()]
    labels["prompt"] = pd.Categorical.from_codes(np.repeat(range(len(wanted)), repeats), categories=list(wanted))
    stated = 1.0 if judge.startswith("gpt") else float("nan")
    ratings = ratings.assign(**labels, temperature=stated if temperature is None else temperature)
    return checked_tables("composo", items, ratings)
