"""Logs that the tools themselves wrote: counts, statuses and means as their own summaries have them."""

import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calib

LOGS = Path(os.environ.get("CALIB_DATA", "nowhere"), "tool_logs")
pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason="logs of tools: CALIB_DATA has no folder tool_logs")
BOTH = ("alpha", "beta")


def paths(pattern):
    return [LOGS / pattern.format(name) for name in BOTH]


def means(items, table):
    scores = table if "n_unread" in table else calib.summarize(table, items)
    keys = [name for name in ("system", "criterion") if name in scores]
    return scores.groupby(keys, observed=True)["score"].mean()


def counts(table):
    return table["status"].astype(str).value_counts().to_dict()


CASES = {
    "deepeval": (
        "deepeval-4.3.1/test_run_{}.json", {}, 96, {"ok": 94, "unread": 1, "failed": 1},
        {"correctness": (0.753441, 0.670139), "clarity": (0.774890, 0.695388)},
    ),
    "opik": (
        "opik-2.2.122/dict_items_{}.json", {"rater": "gpt-4o"}, 96, {"ok": 94, "unread": 1, "failed": 1},
        {"correctness": (0.752371, 0.669180), "clarity": (0.774408, 0.695041)},
    ),
    "opik, exported": (
        "opik-2.2.122/experiment_exp-{}.json", {"rater": "gpt-4o"}, 96, {"ok": 94, "unread": 2},
        {"correctness": (0.752371, 0.669180), "clarity": (0.774408, 0.695041)},
    ),
    "ragas, jsonl": (
        "ragas-0.4.3/{}.jsonl", {"rater": "gpt-4o", "system": "file"}, 96, {"ok": 94, "unread": 2},
        {"correctness": (3.833333, 3.260870), "clarity": (0.708333, 0.478261)},
    ),
    "ragas, csv": (
        "ragas-0.4.3/{}.csv", {"rater": "gpt-4o", "system": "file"}, 96, {"ok": 94, "unread": 2},
        {"correctness": (3.833333, 3.260870), "clarity": (0.708333, 0.478261)},
    ),
    "mlflow, traces": (
        "mlflow-3.17.2/{}_traces.json", {"system": "info.tags.system", "item": "info.tags.item"}, 96,
        {"ok": 94, "unread": 1, "failed": 1}, {"correctness": (3.833333, 3.260870), "clarity": (0.708333, 0.478261)},
    ),
    "mlflow, frame": (
        "mlflow-3.17.2/{}_eval_results.jsonl", {"system": "info.tags.system", "item": "info.tags.item"}, 96,
        {"ok": 94, "unread": 1, "failed": 1}, {"correctness": (3.833333, 3.260870), "clarity": (0.708333, 0.478261)},
    ),
    "langsmith, csv": (
        "langsmith-0.15.0/{}.csv", {"rater": "gpt-4o", "system": "file"}, 192, {"ok": 188, "failed": 4},
        {"correctness": (3.75, 3.217391), "clarity": (4.041667, 3.543478)},
    ),
    "braintrust": (
        "braintrust-0.47.0/{}_results.json", {"rater": "gpt-4o"}, 192, {"ok": 188, "failed": 4},
        {"correctness": (0.697917, 0.592391), "clarity": (0.708333, 0.630435)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_counts_statuses_and_means(name):
    pattern, said, n, statuses, wanted = CASES[name]
    items, table = calib.read_log(paths(pattern), **said)
    assert (len(items), len(table), counts(table)) == (48, n, statuses)
    found = means(items, table)
    assert set(found.index.get_level_values("criterion")) == set(wanted)
    for criterion, each in wanted.items():
        assert [found[system, criterion] for system in BOTH] == pytest.approx(each, abs=1e-6)
    assert items["group"].nunique() == 24, "both systems answered each input"


# --- one tool at a time -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_deepeval_names_the_failed_and_keeps_repeats():
    _, scores = calib.read_log(paths("deepeval-4.3.1/test_run_{}.json"))
    broken = scores[scores["status"] != "ok"].set_index("item")[["criterion", "status"]]
    assert broken.loc["q05-beta"].tolist() == ["clarity", "unread"]
    assert broken.loc["q09-beta"].tolist() == ["correctness", "failed"]
    assert scores.loc[scores["status"] != "ok", "score"].isna().all()
    first = scores[scores["item"] == "q01-alpha"].set_index("criterion")["score"]
    assert first[["correctness", "clarity"]].tolist() == pytest.approx([0.831531, 0.874779], abs=1e-6)
    assert set(scores["method"]) == {"logprob"}
    assert scores[["entropy", "sd"]].isna().all(axis=None), "an expectation says nothing of its distribution"
    items, twice = calib.read_log(LOGS / "deepeval-4.3.1/test_run_pytest_repeat2.json")
    assert (len(items), len(twice), set(twice["n"])) == (6, 6, {2})
    assert twice["score"].mean() == pytest.approx(0.769998, abs=1e-6)


@pytest.mark.parametrize("file", ["out.json", "out.jsonl"])
def test_promptfoo(file):
    items, ratings = calib.read_log(LOGS / "promptfoo-0.121.20" / file)
    assert (len(items), len(ratings), counts(ratings)) == (48, 192, {"ok": 188, "unread": 2, "failed": 2})
    found = means(items, ratings)
    wanted = {"correctness": (0.6875, 0.554348), "clarity": (0.760417, 0.635870)}
    for criterion, each in wanted.items():
        assert [found[system, criterion] for system in BOTH] == pytest.approx(each, abs=1e-6)
    assert set(ratings["rater"]) == {"openai:chat:gpt-4o"}
    assert ratings["prompt"].nunique() == 2, "the rendered prompts hold the items' texts"
    assert set(ratings["draw"]) == {0, 1}
    wrong = ratings["score"].fillna(0).groupby(ratings["criterion"]).mean()
    assert wrong["clarity"] < found.xs("clarity", level="criterion").mean(), "a grader's error is no 0"


def test_opik_order_and_given_ids():
    """Items are numbered in the order of completion, so that those numbers are no ids."""
    items, _ = calib.read_log(paths("opik-2.2.122/dict_items_{}.json"), rater="gpt-4o")
    assert set(items["item"]) == {f"q{k:02}-{name}" for k in range(1, 25) for name in BOTH}


@pytest.mark.slow
def test_mlflow_metrics_agree():
    for name in BOTH:
        items, ratings = calib.read_log(LOGS / f"mlflow-3.17.2/{name}_traces.json")
        found = means(items, ratings)
        told = json.loads((LOGS / f"mlflow-3.17.2/{name}_metrics.json").read_text())["metrics"]
        assert {f"{criterion}/mean": value for criterion, value in found.items()} == pytest.approx(told, abs=1e-9)
        assert set(ratings["rater"]) == {"openai:/gpt-4o"}, "a failed scorer's source is code"


def test_langsmith_rows_have_no_criterion_of_a_failed_function():
    items, ratings = calib.read_log(paths("langsmith-0.15.0/{}_rows.json"), rater="gpt-4o", system="file")
    assert (len(items), len(ratings), counts(ratings)) == (48, 192, {"ok": 188, "failed": 4})
    assert set(ratings["criterion"]) == {"correctness", "clarity"}


@pytest.mark.slow
def test_lm_eval():
    items, ratings = calib.read_log(LOGS / "lm_eval-0.4.13/qa_gen")
    assert (len(items), len(ratings)) == (24, 48)
    found = ratings.groupby("criterion", observed=True)["score"].agg(["mean", "sem"])
    told = json.loads((LOGS / "lm_eval-0.4.13/qa_gen/results.json").read_text())["results"]["qa_gen"]
    for name in ("first", "vote3"):
        row = found.loc[f"qa_gen/exact_match,{name}"]
        assert row.tolist() == pytest.approx(
            [told[f"exact_match,{name}"], told[f"exact_match_stderr,{name}"]], abs=1e-6
        )
    assert set(items["system"]) == {"gpt-4o"}
    _, choices = calib.read_log(LOGS / "lm_eval-0.4.13/qa_mc")
    assert choices.groupby("criterion", observed=True)["score"].mean().tolist() == [0.125, 0.125]
    _, judged = calib.read_log(LOGS / "lm_eval-0.4.13/qa_gen", rater="gpt-4o")
    assert (len(judged), set(judged["draw"])) == (72, {0, 1, 2})
    assert judged["score"].mean() == pytest.approx(3.736111, abs=1e-6)


def test_openai_batch():
    files = [LOGS / "openai_batch" / name for name in ("batch_output.jsonl", "batch_errors.jsonl")]
    items, ratings = calib.read_log(files, scale="1|2|3|4|5")
    assert counts(ratings)["unread"] == counts(ratings)["failed"] == 1
    assert len(ratings[["item", "criterion"]].drop_duplicates()) == 96
    scores = calib.summarize(ratings, items)
    found = scores.groupby(["criterion", scores["item"].str.split("-").str[1]], observed=True)["score"].mean()
    wanted = {"correctness": (3.761853, 3.345901), "clarity": (3.872038, 3.475203)}
    for criterion, each in wanted.items():
        assert [found[criterion, name] for name in BOTH] == pytest.approx(each, abs=1e-6)
    one = scores[(scores["item"] == "q01-alpha") & (scores["criterion"] == "clarity")]
    assert one["score"].item() == pytest.approx(4.368283, abs=1e-6)
    with pytest.raises(ValueError, match="`scale` must be given to read token probabilities"):
        calib.read_log(files)


# --- Inspect ----------------------------------------------------------------------------------------------------


def needs_zstd():
    try:
        import compression.zstd  # noqa: F401
    except ModuleNotFoundError:
        pytest.importorskip("zstandard", reason=".eval files are packed with zstd")


@pytest.mark.slow
def test_inspect_scores_as_logged():
    needs_zstd()
    items, ratings = calib.read_log(paths("inspect_ai-0.3.285/grade_{}.eval"))
    own = ratings[ratings["criterion"] != "model_graded_qa1"]
    assert (len(items), len(own), counts(own)["unread"]) == (48, 288, 6)
    found = means(items, own)
    wanted = {"model_graded_qa": (0.75, 0.594203), "clarity_1to5": (4.027778, 3.536232)}
    for criterion, each in wanted.items():
        assert [found[system, criterion] for system in BOTH] == pytest.approx(each, abs=1e-6)
    assert set(ratings["draw"]) == {0, 1, 2}


@pytest.mark.slow
def test_inspect_panel_as_raters():
    needs_zstd()
    items, ratings = calib.read_log(paths("inspect_ai-0.3.285/grade_{}.eval"))
    panel = ratings[ratings["criterion"] == "model_graded_qa1"].merge(items, on="item")
    whole = "panel of openai/gpt-4o, openai/gpt-4o-mini, openai/gpt-4.1"
    assert len(panel) == 576
    assert set(panel["rater"]) == {"openai/gpt-4o", "openai/gpt-4o-mini", "openai/gpt-4.1", whole}
    assert panel.loc[panel["item"] == "q09-beta", "status"].astype(str).tolist() == ["unread"] * 12
    verdicts = panel[panel["rater"] == whole].groupby(["system", "item"], observed=True)["score"].mean()
    assert verdicts.groupby("system").mean().tolist() == pytest.approx([0.625, 0.362319], abs=1e-6)
    panel = panel[panel["rater"] != whole]
    votes = panel.pivot_table(index=["system", "item", "draw"], columns="rater", values="score", observed=True)
    majority = (votes.sum(axis=1) > 1.5).astype(float)
    by_item = majority.groupby(["system", "item"]).mean().groupby("system").mean()
    assert by_item.tolist() == pytest.approx([0.625, 0.362319], abs=1e-6), "the tool's own verdict of the panel"


@pytest.mark.slow
def test_inspect_json_is_the_same_log_and_both_are_refused():
    needs_zstd()
    one, other = (calib.read_log(LOGS / f"inspect_ai-0.3.285/grade_beta.{kind}")[1] for kind in ("eval", "json"))
    pd.testing.assert_frame_equal(
        *(
            t.drop(columns="run").sort_values(["item", "criterion", "rater", "draw"]).reset_index(drop=True)
            for t in (one, other)
        )
    )
    with pytest.raises(ValueError, match=r"grade_beta\.eval and grade_beta\.json hold the same run"):
        calib.read_log([LOGS / f"inspect_ai-0.3.285/grade_beta.{kind}" for kind in ("eval", "json")])


@pytest.mark.filterwarnings("ignore:probabilities_unread")
def test_inspect_dicts_a_crash_and_reducers():
    items, ratings = calib.read_log(LOGS / "inspect_ai-0.3.285/rubric_alpha.json")
    assert (len(ratings), counts(ratings)) == (32, {"ok": 30, "failed": 2})
    assert means(items, ratings).tolist() == [3.9375, 3.625]
    assert ratings.groupby("criterion", observed=True)["score"].mean().tolist() == [4.0, 3.6]
    crashed = ratings[ratings["status"] == "failed"]
    assert set(zip(crashed["item"], crashed["draw"], strict=True)) == {("q03-alpha", 1)}


@pytest.mark.slow
def test_inspect_token_probabilities():
    with pytest.warns(UserWarning, match="probabilities_unread: 30 replies have token probabilities"):
        calib.read_log(LOGS / "inspect_ai-0.3.285/rubric_alpha.json")
    items, ratings = calib.read_log(LOGS / "inspect_ai-0.3.285/rubric_alpha.json", scale="1|2|3|4|5")
    exact = ratings[ratings["method"] == "logprob"]
    one = exact[(exact["item"] == "q01-alpha") & (exact["criterion"] == "correctness") & (exact["draw"] == 0)]
    shares = one[one["status"] == "ok"].set_index("score")["weight"]
    assert shares[[5.0, 4, 3, 2, 1]].tolist() == pytest.approx([0.3065, 0.5244, 0.1516, 0.0074, 0.0001], abs=5e-5)
    scores = calib.summarize(exact, items)
    assert scores.loc[scores["item"] == "q01-alpha", "entropy"].gt(0).all()


# --- all of them ------------------------------------------------------------------------------------------------

SAID = {"opik": {"rater": "g"}, "ragas": {"rater": "g"}, "langsmith": {"rater": "g"}, "braintrust": {"rater": "g"},
        "openai_batch": {"scale": "1|2|3|4|5"}}  # fmt: skip
FILES = {
    "deepeval": "deepeval-4.3.1/test_run_alpha.json", "inspect_ai": "inspect_ai-0.3.285/grade_beta.json",
    "promptfoo": "promptfoo-0.121.20/out.json", "lm_eval": "lm_eval-0.4.13/qa_gen", "ragas": "ragas-0.4.3/alpha.csv",
    "mlflow": "mlflow-3.17.2/alpha_traces.json", "opik": "opik-2.2.122/dict_items_alpha.json",
    "langsmith": "langsmith-0.15.0/alpha_rows.json", "braintrust": "braintrust-0.47.0/alpha_results.json",
    "openai_batch": "openai_batch/batch_output.jsonl",
}  # fmt: skip


@pytest.mark.parametrize("tool", FILES)
def test_the_tool_is_known_by_what_the_file_holds(tool):
    from calib.adapters import read_log as home
    from calib.adapters.row import head_of

    path = LOGS / FILES[tool]
    for one in [path] if path.is_file() else path.glob("samples*"):
        assert [name for name, reader in home.TOOLS.items() if reader.sniff(one.name, head_of(one))] == [tool]


def test_other_files_of_the_folders_are_nobodys():
    from calib.adapters import read_log as home
    from calib.adapters.row import head_of

    for one in LOGS.rglob("*"):
        others = one.name in ("tests.json", "human.csv", "items.jsonl")
        if others or one.suffix in (".py", ".md", ".yaml", ".xml", ".js"):
            assert not [name for name, reader in home.TOOLS.items() if reader.sniff(one.name, head_of(one))], one


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tool", FILES)
def test_texts_only_on_request_and_nothing_of_the_machine(tool):
    items, table = calib.read_log(LOGS / FILES[tool], **SAID.get(tool, {}))
    assert not {"source", "output", "reference"} & set(items)
    assert "reply" not in table
    told = items.to_csv() + table.to_csv()
    assert not [word for word in ("SITE", "WORK/", "VENV", "127.0.0.1", "apiKey", "host", "/data/") if word in told]
    with_texts, _ = calib.read_log(LOGS / FILES[tool], texts=True, **SAID.get(tool, {}))
    if tool != "openai_batch":
        assert with_texts["output"].str.len().gt(0).any()


@pytest.mark.parametrize(
    ("tool", "name"), [(t, f) for t, f in FILES.items() if (LOGS / f).suffix in (".json", ".jsonl")]
)
def test_a_log_that_is_cut_off_says_its_line(tool, name, tmp_path):
    whole = (LOGS / name).read_bytes()
    path = tmp_path / Path(name).name
    path.write_bytes(whole[: int(len(whole) * 0.7)])
    with pytest.raises(ValueError, match=r"line \d+: must be whole JSON, but is broken or cut off here"):
        calib.read_log(path, tool=tool, **SAID.get(tool, {}))


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["deepeval", "promptfoo", "opik", "mlflow", "langsmith", "braintrust"])
def test_the_order_of_rows_and_keys_and_more_keys_are_nothing(tool, tmp_path):
    found = json.loads((LOGS / FILES[tool]).read_text())

    def turned(value):
        if isinstance(value, dict):
            return {"zzz_new": {"a": [1]}} | {name: turned(inner) for name, inner in reversed(value.items())}
        return [turned(inner) for inner in value] if isinstance(value, list) else value

    path = tmp_path / Path(FILES[tool]).name
    path.write_text(json.dumps(turned(found)))
    one, other = (calib.read_log(p, tool=tool, **SAID.get(tool, {}))[1] for p in (LOGS / FILES[tool], path))
    keys = ["item", "criterion", "rater", *(["draw"] if "draw" in one else [])]
    assert counts(one) == counts(other)
    np.testing.assert_allclose(*(np.sort(t["score"].dropna()) for t in (one, other)))
    assert set(map(tuple, one[keys].astype(str).to_numpy())) == set(map(tuple, other[keys].astype(str).to_numpy()))


def people():
    ratings = pd.read_csv(LOGS / "_source/human.csv")
    return calib.table.check_ratings(ratings.drop(columns=["group", "system"]))


GATES = [
    ("deepeval", "correctness", "alpha", None, (3.2272, 3.9969), "pass"),
    ("deepeval", "correctness", "beta", None, (2.8247, 3.5757), "inconclusive"),
    ("deepeval", "clarity", "beta", None, (3.0289, 3.6567), "inconclusive"),  # "pass" by the interval of 0.1.0
    ("deepeval", "correctness", "alpha", "beta", (-0.0304, 0.7593), "pass"),
    ("deepeval", "clarity", "beta", "alpha", (-0.8969, -0.2017), "inconclusive"),
    ("promptfoo", "correctness", "alpha", None, (3.1779, 3.9571), "pass"),
    ("promptfoo", "clarity", "beta", None, (2.9638, 3.6833), "inconclusive"),
    ("promptfoo", "clarity", "alpha", "beta", (0.1478, 0.9820), "pass"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "criterion", "system", "baseline", "before", "outcome"), GATES)
def test_gates_from_logs(tool, criterion, system, baseline, before, outcome):
    """Twelve labels do not show how a judge errs: the estimate is their mean; intervals hold those of 0.1.0."""
    said = {"scale": ""} | ({"item": "testCase.description"} if tool == "promptfoo" else {})
    items, table = calib.read_log(
        paths("deepeval-4.3.1/test_run_{}.json") if tool == "deepeval" else LOGS / FILES[tool], **said
    )
    scores = calib.summarize(table, items) if tool == "promptfoo" else table
    line = {"threshold": {criterion: 3}} if baseline is None else {"baseline": baseline, "margin": {criterion: 0.3}}
    verdict = calib.gate(scores, people(), system=system, **line)
    check = verdict.checks.one()
    assert any(text.startswith("labels_alone") for text in check.warnings)
    labels = people().query("criterion == @criterion").assign(item=lambda t: t["item"].astype(str))
    of = {name: labels[labels["item"].str.endswith(name)]["score"].mean() for name in BOTH}
    estimate = of[system] - (0 if baseline is None else of[baseline])
    assert check.estimate == pytest.approx(estimate, abs=5e-5)
    assert verdict.outcome == outcome
    low, high = check.interval
    assert low <= before[0] < before[1] <= high
    truth = pd.read_csv(LOGS / "_source/truth.csv").query("criterion == @criterion").groupby("system")["score"].mean()
    assert low <= truth[system] - (0 if baseline is None else truth[baseline]) <= high


@pytest.mark.slow
def test_the_line_that_fails_and_the_copy_that_passes():
    _, scores = calib.read_log(paths("deepeval-4.3.1/test_run_{}.json"))
    gold = people()
    assert calib.gate(scores, gold, system="alpha", threshold={"correctness": 4.3}).outcome == "fail"
    alpha = scores[scores["system"] == "alpha"]
    again = alpha.assign(item=alpha["item"].astype(str) + "-again", system="again")
    labels = gold[gold["item"].astype(str).str.endswith("alpha")]
    copies = pd.concat([labels, labels.assign(item=labels["item"].astype(str) + "-again")])
    both = pd.concat([alpha, again], ignore_index=True)
    assert calib.gate(both, copies, system="again", baseline="alpha", margin=0.2).outcome == "pass"
    # labels of a build whose scores are elsewhere, and that name no system, may be of outputs that crashed
    verdict = calib.gate(
        both, pd.concat([gold, copies]).drop_duplicates("item"), system="again", threshold={"correctness": 3}
    )
    assert verdict.outcome == "inconclusive" and "absent" in verdict.checks[0].reason


@pytest.mark.filterwarnings("ignore")
def test_a_log_goes_all_the_way(tmp_path):
    items, ratings = calib.read_log(LOGS / FILES["promptfoo"], item="testCase.description")
    scores, gold = calib.summarize(ratings, items), people()
    results = calib.interval(scores, gold, by="system"), calib.agreement(scores, calib.summarize(gold))
    verdict = calib.gate(scores, gold, system="alpha", threshold=3)
    calib.report([*results, verdict.checks], tmp_path / "page.html")
    assert "shown to lie above" in (tmp_path / "page.html").read_text()


@pytest.mark.slow
def test_no_warning_where_nothing_is_odd():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calib.read_log(paths("deepeval-4.3.1/test_run_{}.json"))
        calib.read_log(LOGS / FILES["promptfoo"])


@pytest.mark.slow
def test_a_frame_is_read_as_the_file_that_holds_it():
    said = {"system": "info.tags.system", "item": "info.tags.item"}
    path = LOGS / "mlflow-3.17.2" / "alpha_eval_results.jsonl"
    tables = [calib.read_log(log, **said)[1] for log in (path, pd.read_json(path, lines=True))]
    assert tables[0].drop(columns="run").equals(tables[1].drop(columns="run"))
