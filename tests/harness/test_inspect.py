"""Inspect AI itself, with its mock model and the embedded judge."""

import math

import pytest
from harness_judges import OFFLINE, PROMPT, SAMPLED, SECRET, always, by_turns, fails, said, unreadable

import calib
from calib.adapters.harness import to_inspect_scorer

inspect_ai = pytest.importorskip("inspect_ai", reason="needs Inspect AI: bash .ci/harness")

from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.log import read_eval_log  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # of the tool's own


def evaluated(items, folder, scorer, **sample):
    """The log of an eval whose model says the items' outputs, one at a time, in order; as read from its file."""
    samples = [Sample(input=row["source"], id=row["item"], **sample) for row in items.to_dict("records")]
    model = get_model("mockllm/model", custom_outputs=list(map(mocked, items["output"])))
    (log,) = inspect_ai.eval(
        inspect_ai.Task(dataset=samples, scorer=scorer), model=model, log_dir=str(folder), max_samples=1, score=True
    )
    return read_eval_log(log.location)


def mocked(text):
    """With a usage, for which the mock model would count tokens by a vocabulary that it fetches."""
    output = ModelOutput.from_content("m", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def scores(log, name="coherence"):
    return {sample.id: next(s for key, s in sample.scores.items() if key.endswith(name)) for sample in log.samples}


def test_an_eval_has_the_numbers_of_the_tables(items, expected, tmp_path):
    log = evaluated(items, tmp_path, to_inspect_scorer(PROMPT, OFFLINE))
    assert log.status == "success"
    for item, score in scores(log).items():
        want = expected.loc[item]
        assert score.value == want["score"]
        assert {name: score.metadata[name] for name in ("entropy", "sd", "mass", "low", "high")} == {
            name: want[name] for name in ("entropy", "sd", "mass", "low", "high")
        }
        assert (score.metadata["n"], score.metadata["n_unread"], score.metadata["status"]) == (1, 0, "ok")
        assert list(score.metadata["distribution"]) == ["1", "2", "3", "4", "5"]
        assert (score.metadata["prompt"], score.metadata["judge"]) == (PROMPT.id, "offline")
    (result,) = log.results.scores
    assert result.metrics["mean"].value == pytest.approx(expected["score"].mean(), rel=1e-12)
    assert result.metrics["stderr"].value == pytest.approx(expected["score"].sem(), rel=1e-12)


@pytest.mark.parametrize(("complete", "status"), [(fails, "failed"), (unreadable, "unread")])
def test_nothing_read_is_nan_and_the_eval_goes_on(items, tmp_path, complete, status):
    log = evaluated(items.head(2), tmp_path, to_inspect_scorer(PROMPT, SAMPLED, complete=complete))
    assert log.status == "success"
    for score in scores(log).values():
        assert math.isnan(score.value)
        assert score.metadata["status"] == status
        assert score.metadata["entropy"] is None


def test_unread_samples_are_left_out_of_the_mean(items, tmp_path):
    def some(request):
        return by_turns()(request) if calls.append(request) or len(calls) <= 3 else unreadable(request)

    calls = []
    log = evaluated(items.head(3), tmp_path, to_inspect_scorer(PROMPT, SAMPLED, complete=some))
    assert [math.isnan(score.value) for score in scores(log).values()] == [False, True, True]
    assert log.results.scores[0].metrics["mean"].value == 2.0


def test_no_key_is_in_the_log(items, tmp_path):
    judge = calib.Judge("m", method="sample", draws=1, base_url=f"https://me:{SECRET}@host/v1?key={SECRET}")
    log = evaluated(items.head(1), tmp_path, to_inspect_scorer(PROMPT, judge, complete=fails))
    assert SECRET not in log.model_dump_json()


def test_control_characters_in_an_output(items, tmp_path):
    odd = items.head(1).assign(output="A boat\x1b[31m sank.\x00\u202e")
    log = evaluated(odd, tmp_path, to_inspect_scorer(PROMPT, OFFLINE))
    (score,) = scores(log).values()
    ratings = calib.rate(odd, PROMPT, OFFLINE, progress=False)
    assert score.value == calib.summarize(ratings)["score"].item()


def test_target_and_metadata_fill_columns(items, tmp_path):
    seen = []

    prompt = calib.geval_prompt("coherence", inputs=("reference", "audience", "output"))
    scorer = to_inspect_scorer(prompt, SAMPLED, complete=always("3", seen))
    evaluated(items.head(1), tmp_path, scorer, target="THE TARGET", metadata={"audience": "SAILORS"})
    assert all("THE TARGET" in text and "SAILORS" in text for text in seen)
    log = evaluated(items.head(1), tmp_path, scorer, metadata={"audience": "SAILORS"})
    assert log.status == "error"
    assert "shows 'reference', which this sample does not have" in log.error.message


@pytest.mark.parametrize("judge", [OFFLINE, SAMPLED])
@pytest.mark.filterwarnings("error:not_judged")
def test_a_log_of_the_scorer_comes_back_as_the_ratings(items, tmp_path, judge):
    """Rater, prompt and the whole distribution, to the last digit."""
    complete = by_turns() if judge is SAMPLED else None
    log = evaluated(items, tmp_path, to_inspect_scorer(PROMPT, judge, complete=complete))
    table, ratings = calib.read_log(log.location)
    wanted = calib.rate(items, PROMPT, judge, complete=by_turns() if judge is SAMPLED else None, progress=False)
    assert (set(ratings["rater"]), set(ratings["prompt"])) == ({judge.model}, {PROMPT.id})
    assert set(ratings["criterion"]) == {"coherence"}
    names = [
        "criterion",
        "rater",
        "prompt",
        "scale",
        "method",
        "temperature",
        "draw",
        "score",
        "weight",
        "status",
        "low",
    ]
    if judge is SAMPLED:  # its replies go by turns, in whatever order the calls are made
        names = ["criterion", "rater", "prompt", "scale", "method", "temperature", "draw"]
    for name in names:
        assert ratings[name].astype(str).tolist() == wanted[name].astype(str).tolist(), name
    if judge is OFFLINE:
        scores, same = calib.summarize(ratings), calib.summarize(wanted)
        for name in ("score", "entropy", "sd", "mass", "low", "high", "n", "n_unread"):
            assert scores[name].tolist() == same[name].tolist()
    assert len(table) == len(items)


def test_code_scorers_and_epochs_of_a_real_log(items, tmp_path):
    """Ids keep their texts whatever form the log is written in, and in whatever order."""
    from inspect_ai.log import write_eval_log
    from inspect_ai.scorer import f1, match

    samples = [Sample(input=row["source"], id=row["item"], target="x") for row in items.head(3).to_dict("records")]
    model = get_model("mockllm/model", custom_outputs=[mocked(f"answer {k}") for k in range(12)])
    task = inspect_ai.Task(dataset=samples, scorer=[match(), f1()], epochs=4)
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(tmp_path), max_samples=3, score=True)
    log = read_eval_log(log.location)
    found = []
    for order, name in ((log.samples, "a.json"), (log.samples[::-1], "b.json"), (log.samples[::-1], "c.eval")):
        log.samples = order
        write_eval_log(log, str(tmp_path / name))
        with pytest.warns(UserWarning, match="not_judged: f1, match name no judge"):
            table, ratings = calib.read_log(tmp_path / name, texts=True)
        assert dict(zip(ratings["criterion"], ratings["rater"], strict=True)) == {"match": "match", "f1": "f1"}
        found.append(dict(zip(table["item"], table["output"], strict=True)))
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 12


def test_all_samples_share_one_session_with_as_many_calls_as_there_are_samples(tmp_path):
    """Twenty samples under way are twenty calls, over one opened judge."""
    import asyncio

    state = {"now": 0, "peak": 0}

    async def complete(request):
        state["now"] += 1
        state["peak"] = max(state["peak"], state["now"])
        for _ in range(500):  # as long as it takes the others, and no longer than this
            await asyncio.sleep(0.01)
            if state["now"] >= 20 or state["peak"] >= 20 or first.pop() if first else False:
                break
        state["now"] -= 1
        return said("3")

    first = [True]  # the first call goes alone
    judge = calib.Judge("m", method="sample", draws=1)
    samples = [Sample(input=f"q{k}", id=str(k)) for k in range(21)]
    model = get_model("mockllm/model", custom_outputs=[mocked(f"a{k}") for k in range(21)])
    task = inspect_ai.Task(dataset=samples, scorer=to_inspect_scorer(PROMPT, judge, complete=complete))
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(tmp_path), max_samples=21, score=True)
    assert log.status == "success"
    assert state["peak"] == 20


def test_two_runs_compared_have_the_means_and_errors_of_the_tool(tmp_path):
    import numpy as np
    from inspect_ai.scorer import Score, mean, scorer, stderr

    from calib import stats

    @scorer(metrics=[mean(), stderr(), stderr(cluster="repo")])
    def passed():
        async def score(state, target):
            return Score(value=int(state.output.completion == "right"))

        return score

    rng, logs = np.random.default_rng(0), []
    for better in (0.0, 0.2):
        samples = [Sample(input=f"Task {k}", id=f"t{k}", metadata={"repo": f"r{k // 3}"}) for k in range(12)]
        outputs = [mocked(("wrong", "right")[int(rng.random() < 0.4 + better)]) for _ in range(36)]
        model = get_model("mockllm/model", custom_outputs=outputs)
        task = inspect_ai.Task(dataset=samples, scorer=passed(), epochs=3)
        (log,) = inspect_ai.eval(task, model=model, log_dir=str(tmp_path / f"{better}"), max_samples=1)
        logs.append(log)
    own = [{name: one.value for name, one in log.results.scores[0].metrics.items()} for log in logs]
    files = dict(zip("ab", (log.location for log in logs), strict=True))
    got = calib.compare_runs(files, groups="repo").one()
    assert (got.mean_a, got.mean_b) == pytest.approx([one["mean"] for one in own], rel=1e-12)
    assert (got.n, got.n_groups, got.n_trials_a) == (12, 4, 36)
    for file, one in zip(files.values(), own, strict=True):
        values, repos = {}, {}
        for sample in read_eval_log(file).samples:
            values.setdefault(sample.id, []).append(sample.scores["passed"].value)
            repos[sample.id] = sample.metadata["repo"]
        means = np.array([np.mean(values[name]) for name in values])
        sides = (None, [repos[name] for name in values])
        plain, clustered = (stats.compare_runs(0 * means, means, groups=groups) for groups in sides)
        assert (plain.std_error, clustered.std_error) == pytest.approx((one["stderr"], one["stderr2"]), rel=1e-9)
