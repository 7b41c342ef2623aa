"""Pairs of outputs: LLMBar, judged in both orders beside a gold winner; AlpacaEval's preferences against a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from calib.core.check import choice
from calib.datasets.registry import Record, Tables, checked_tables, expect, read_json

_SUBSETS = {"Natural": 100, "GPTInst": 92, "GPTOut": 47, "Manual": 46, "Neighbor": 134}
_JUDGES = ("GPT-4", "ChatGPT")
_PROMPTS = ("Vanilla", "CoT")
_ORDERS = {"swap = False": "a", "swap = True": "b"}
_WON = {"1": 1.0, "2": 0.0}  # the files say which output won, not which place
_MODELS = ("vicuna-7b", "gpt4_0613_concise")


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
    for subset, found in records.items():
        expect("llmbar", f"pairs in {subset}", len(found), _SUBSETS[subset])
    items = pd.DataFrame(
        {"item": f"{subset}-{number}", "source": one["input"], "subset": subset}
        | {"output_a": one["output_1"], "output_b": one["output_2"]}
        for subset, found in records.items()
        for number, one in enumerate(found)
    )
    gold = [_WON[str(one["label"])] for found in records.values() for one in found]
    people = pd.DataFrame({"item": items["item"], "rater": "gold", "method": "human", "score": gold, "shown_first": ""})
    judged = pd.DataFrame(row for judge in _JUDGES for prompt in _PROMPTS for row in _llmbar_verdicts(judge, prompt))
    ratings = pd.concat([people.assign(prompt="", status="ok", draw=0), judged], ignore_index=True)
    return checked_tables("llmbar", items, ratings.assign(criterion="instruction following", scale="0|1"))


def _llmbar_path(subset: str, file: str) -> str:
    return f"Dataset/LLMBar/{'' if subset == 'Natural' else 'Adversarial/'}{subset}/{file}"


def _llmbar_verdicts(judge: str, prompt: str) -> Iterator[dict[str, Any]]:
    for subset, n in _SUBSETS.items():
        found = read_json("llmbar", _llmbar_path(subset, f"evaluators/{judge}/{prompt}/result.json"))
        expect("llmbar", f"verdicts on {subset}", len(found), n)
        for number, one in enumerate(found):
            yield from _both_orders_of(one, {"item": f"{subset}-{number}", "rater": judge, "prompt": prompt})


def _both_orders_of(record: Record, who: Record) -> Iterable[dict[str, Any]]:
    (verdicts,) = record["results"]
    for draw, (order, first) in enumerate(_ORDERS.items()):
        score = _WON.get(str(verdicts[order]["winner"]))
        told = {"score": score, "status": "unread" if score is None else "ok", "shown_first": first}
        yield who | told | {"method": "sample", "draw": draw}


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
    choice(model, "model", _MODELS)
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
