"""Chatbot Arena prompts under four policies: a judge's scores of all, a better model's of a few."""

from calib.datasets.registry import Record, Tables, checked_tables, read_jsonl

POLICIES = ("base", "clone", "parallel_universe_prompt", "unhelpful")


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
    draws = {policy: read_jsonl("cje_arena", f"{folder}/fresh_draws/{policy}_responses.jsonl") for policy in POLICIES}
    probes = {policy: read_jsonl("cje_arena", f"{folder}/probe_slice/{policy}_probe.jsonl") for policy in POLICIES[1:]}
    items = [_answer(record, policy) for policy, records in draws.items() for record in records]
    judge = _policy_scores(draws, "judge", "judge_score")
    oracle = _policy_scores({**probes, "base": draws["base"]}, "oracle", "oracle_label")
    return checked_tables("cje_arena", items, judge + oracle)


def _answer(record: Record, policy: str) -> Record:
    row = {"item": f"{record['prompt_id']}__{policy}", "source": record["prompt"], "output": record["response"]}
    return row | {"group": record["prompt_id"], "system": policy}


def _policy_scores(answers: dict[str, list[Record]], rater: str, field: str) -> list[Record]:
    shared = {"criterion": "quality", "rater": rater, "method": "sample", "scale": "0..1"}
    return [
        {**shared, "item": f"{record['prompt_id']}__{policy}", "score": record[field]}
        for policy, records in answers.items()
        for record in records
        if field in record
    ]
