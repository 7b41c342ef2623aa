"""Opik itself, with the embedded judge and without its server."""

import asyncio
import json
from dataclasses import asdict

import pytest
from harness_judges import OFFLINE, PROMPT, SAMPLED, SECRET, always, fails, unreadable

import calib
from calib.adapters.harness import to_opik_metric

opik = pytest.importorskip("opik", reason="needs Opik: bash .ci/harness")

from opik.evaluation import evaluate_on_dict_items  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # of the tool's own


def evaluated(items, metric):
    rows = [{"input": row["source"], "item": row["item"], "said": row["output"]} for row in items.to_dict("records")]
    return evaluate_on_dict_items(rows, lambda row: {"output": row["said"]}, scoring_metrics=[metric])


def by_item(result):
    return {one.test_case.dataset_item_content["item"]: one.score_results[0] for one in result.test_results}


def test_an_evaluation_has_the_numbers_of_the_tables(items, expected):
    result = evaluated(items, to_opik_metric(PROMPT, OFFLINE))
    told = by_item(result)
    assert set(told) == set(items["item"])
    for item, score in told.items():
        want = expected.loc[item]
        assert (score.name, score.value, score.scoring_failed) == ("coherence", want["score"], False)
        assert {name: score.metadata[name] for name in ("entropy", "sd", "mass", "low", "high", "n", "n_unread")} == {
            name: want[name] for name in ("entropy", "sd", "mass", "low", "high", "n", "n_unread")
        }
    mean = result.aggregate_evaluation_scores()["coherence"].mean
    assert mean == pytest.approx(expected["score"].mean(), rel=1e-12)


@pytest.mark.parametrize(("complete", "status"), [(fails, "failed"), (unreadable, "unread")])
def test_nothing_read_is_a_failed_scoring(items, complete, status):
    result = evaluated(items.head(2), to_opik_metric(PROMPT, SAMPLED, complete=complete))
    for score in by_item(result).values():
        assert score.scoring_failed
        assert score.value is None
        assert score.metadata["status"] == status
        assert status in score.reason
        assert SECRET not in str(score)
        json.dumps(asdict(score), allow_nan=False)
    assert "coherence" not in result.aggregate_evaluation_scores()


def test_score_and_ascore_by_themselves(items, expected):
    metric = to_opik_metric(PROMPT, OFFLINE, track=False)
    row = items.to_dict("records")[0]
    texts = {"input": row["source"], "output": row["output"], "anything": object()}
    assert metric.score(**texts) == asyncio.run(metric.ascore(**texts))
    assert metric.score(**texts).value == expected["score"].iloc[0]


def test_reference_and_other_columns_come_by_name():
    seen = []

    prompt = calib.geval_prompt("coherence", inputs=("reference", "audience", "output"))
    metric = to_opik_metric(prompt, SAMPLED, complete=always("3", seen))
    assert metric.score("q", "a", reference="THE REFERENCE", audience="SAILORS").value == 3
    assert all("THE REFERENCE" in text and "SAILORS" in text for text in seen)
    with pytest.raises(ValueError, match="shows 'reference'"):
        metric.score("q", "a", audience="SAILORS")


def test_control_characters_in_an_output(items):
    odd = items.head(1).assign(output="A boat\x1b[31m sank.\x00\u202e")
    score = calib.summarize(calib.rate(odd, PROMPT, OFFLINE, progress=False))["score"].item()
    (told,) = by_item(evaluated(odd, to_opik_metric(PROMPT, OFFLINE))).values()
    assert told.value == score
