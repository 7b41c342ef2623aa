"""DeepEval itself, with the embedded judge."""

import asyncio

import pytest
from harness_judges import OFFLINE, PROMPT, SAMPLED, SECRET, always, fails, said, unreadable

import calib
from calib.adapters.harness import to_deepeval_metric
from calib.judge.calls.transport import JudgeError

deepeval = pytest.importorskip("deepeval", reason="needs DeepEval: bash .ci/harness")

from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig  # noqa: E402
from deepeval.test_case import LLMTestCase  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # of the tool's own
BOTH_WAYS = pytest.mark.parametrize("run_async", [True, False])


@pytest.fixture(autouse=True)
def _files_of_the_tool(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def cases(items):
    return [LLMTestCase(input=row["source"], actual_output=row["output"]) for row in items.to_dict("records")]


def evaluated(items, metric, run_async, **error):
    options = {
        "async_config": AsyncConfig(run_async=run_async),
        "display_config": DisplayConfig(show_indicator=False, print_results=False),
        "cache_config": CacheConfig(write_cache=False),
        "error_config": ErrorConfig(**error),
    }
    return deepeval.evaluate(cases(items), [metric], **options).test_results


@BOTH_WAYS
def test_an_evaluation_has_the_numbers_of_the_tables(items, expected, run_async):
    results = evaluated(items, to_deepeval_metric(PROMPT, OFFLINE, threshold=0.5), run_async)
    told = {result.actual_output: result.metrics_data[0] for result in results}
    assert len(told) == len(items)
    for row in items.to_dict("records"):
        data, want = told[row["output"]], expected.loc[row["item"]]
        assert data.score == pytest.approx((want["score"] - 1) / 4, rel=1e-12)
        assert data.success == (data.score >= 0.5)
        assert data.name == "coherence"
        assert f"{want['score']:.2f}" in data.reason


@BOTH_WAYS
@pytest.mark.parametrize("complete", [fails, said, unreadable])
def test_nothing_read_is_an_error_and_no_score(items, run_async, complete):
    metric = to_deepeval_metric(PROMPT, SAMPLED, threshold=0.5, complete=complete)
    with pytest.raises(JudgeError, match="nothing was read"):
        evaluated(items.head(1), metric, run_async)
    (result,) = evaluated(items.head(1), metric, run_async, ignore_errors=True)
    (data,) = result.metrics_data
    assert data.score is None
    assert not data.success
    assert "nothing was read" in data.error
    assert SECRET not in str(result)


def test_measure_by_itself(items, expected):
    metric = to_deepeval_metric(PROMPT, OFFLINE)
    for case, (_, want) in zip(cases(items), expected.iterrows(), strict=True):
        assert metric.measure(case) == asyncio.run(metric.a_measure(case)) == metric.score
        assert metric.is_successful() is None, "no threshold, no verdict"
        assert metric.score_breakdown["expectation"] == want["score"]
        assert metric.score_breakdown["entropy"] == want["entropy"]
        assert sum(metric.score_breakdown["distribution"].values()) == pytest.approx(want["mass"])


def test_a_metric_forgets_the_test_case_before(items):
    replies = iter(["5", "5", "5", "what?", "what?", "what?"])
    metric = to_deepeval_metric(PROMPT, SAMPLED, threshold=1.0, complete=lambda _request: said(next(replies)))
    first, second = cases(items.head(2))
    assert metric.measure(first) == 1.0
    assert metric.is_successful()
    with pytest.raises(JudgeError):
        metric.measure(second)
    assert (metric.score, metric.is_successful()) == (None, False)


def test_what_is_shown_must_be_there_and_a_threshold_is_a_share(items):
    metric = to_deepeval_metric(calib.geval_prompt("fluency", inputs=("reference", "output")), OFFLINE)
    with pytest.raises(ValueError, match="shows 'reference'"):
        metric.measure(cases(items.head(1))[0])
    assert "shows 'reference'" in metric.error
    with pytest.raises(ValueError, match="`threshold` must be between 0 and 1"):
        to_deepeval_metric(PROMPT, OFFLINE, threshold=3.5)


def test_context_fills_its_column():
    seen = []

    prompt = calib.geval_prompt("consistency", inputs=("retrieval_context", "output"))
    case = LLMTestCase(input="q", actual_output="a", retrieval_context=["ONE FACT", "ANOTHER"])
    assert to_deepeval_metric(prompt, SAMPLED, complete=always("3", seen)).measure(case) == 0.5
    assert all("ONE FACT\nANOTHER" in text for text in seen)


def test_control_characters_in_an_output(items):
    odd = items.head(1).assign(output="A boat\x1b[31m sank.\x00\u202e")
    score = calib.summarize(calib.rate(odd, PROMPT, OFFLINE, progress=False))["score"].item()
    assert to_deepeval_metric(PROMPT, OFFLINE).measure(cases(odd)[0]) == (score - 1) / 4
