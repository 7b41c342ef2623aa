"""The reproductions: what they share, and G-Eval's file format. `.ci/run` runs them whole."""

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from calib.datasets import DatasetError

ROOT = Path(__file__).parents[2]


def module(path: str):
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / "paper_repro" / path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def check():
    return module("check.py")


@pytest.fixture
def summeval(monkeypatch):
    pytest.importorskip("rouge_score")
    monkeypatch.setattr(sys, "path", [*sys.path])
    return module("summeval/run.py")


def test_what_is_imported_from_calib_is_there():
    """Reproductions and benchmarks that take minutes would only say so weekly."""
    for path in sorted([*ROOT.glob("paper_repro/**/*.py"), *ROOT.glob("tests/bench/*.py"), *ROOT.glob("docs/*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "calib":
                exec(ast.unparse(node), {})


# --- comparing --------------------------------------------------------------------------------------------------


def expected() -> pd.DataFrame:
    rows = [("a", 0.5, 0.01), ("b", 0.5, 0.01), ("c", 0.5, 0.01), ("d", 0.5, None), ("e", 0.5, 0.01)]
    return pd.DataFrame(rows, columns=["name", "value", "tolerance"]).assign(source="Table 1")


def found() -> pd.DataFrame:
    note = "not available here"
    rows = [("x", 1.0, ""), ("e", None, note), ("d", 0.9, ""), ("b", 0.52, ""), ("a", 0.505, "")]
    return pd.DataFrame(rows, columns=["name", "value", "note"]).assign(conf_low=0.1)


def test_compare_says_hit_miss_absent_or_nothing(check):
    results = check.compare(expected(), found())
    assert list(results) == ["name", "expected", "tolerance", "source", "value", "difference", "ok", "conf_low"]
    assert dict(zip(results["name"], results["ok"], strict=True)) == {
        "a": True, "b": False, "c": False, "d": "", "e": check.ABSENT, "x": "",
    }  # fmt: skip
    assert results.loc[0, "difference"] == pytest.approx(0.005)


@pytest.mark.parametrize(("keep", "strict", "code"), [("abde", True, 1), ("abde", False, 0), ("a", True, 0)])
def test_report_fails_on_a_miss_only_when_strict(check, tmp_path, capsys, keep, strict, code):
    expected()[lambda rows: rows["name"].isin(list(keep))].to_csv(tmp_path / "expected.csv", index=False)
    assert check.report(tmp_path, found, strict=strict) == code
    written = pd.read_csv(tmp_path / "results.csv")
    assert written["name"].is_unique and set(keep) <= set(written["name"])
    assert f"{tmp_path.name}: 1 of {len(set(keep) & set('ab'))} values within tolerance" in capsys.readouterr().out


def test_report_is_skipped_without_the_data_alone(check, tmp_path, capsys, monkeypatch):
    def absent() -> pd.DataFrame:
        raise DatasetError("the file is not here.")

    monkeypatch.setenv("CALIB_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match="the file is not here"):
        check.report(tmp_path, absent, strict=True)
    monkeypatch.delenv("CALIB_DATA")
    assert check.report(tmp_path, absent, strict=True) == 0
    out = capsys.readouterr().out
    assert out == f"skipped: {tmp_path.name} needs data that are not here; set CALIB_DATA. the file is not here.\n"
    with pytest.raises(ZeroDivisionError):
        check.report(tmp_path, lambda: 1 / 0, strict=True)


@pytest.mark.parametrize(
    "paper",
    [
        "summeval",
        "topical_chat",
        "llm_rubric",
        "conversations",
        "unieval",
        "ppi",
        "sampling",
        "calibration",
        "escalation",
    ],
)
def test_expected_and_results_belong_together(paper):
    wanted, results = (pd.read_csv(ROOT / "paper_repro" / paper / f"{name}.csv") for name in ("expected", "results"))
    assert wanted["source"].notna().all()
    key = [name for name in wanted if name not in ("value", "tolerance", "source")]
    assert not wanted.duplicated(key).any()
    assert results[key].head(len(wanted)).equals(wanted[key])
    assert not results["ok"].astype(str).eq("False").any()


# --- what is missing --------------------------------------------------------------------------------------------

SCRIPTS = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "paper_repro").glob("*/[rfi]*.py") if "main" in path.read_text()
)


def run_without(package: str, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script where a package is not installed."""
    hide = (
        f"import runpy, sys; sys.modules[{package!r}] = None; sys.path[0] = {str(ROOT / script)!r}.rpartition('/')[0]"
    )
    code = f"{hide}; sys.argv = [{script!r}, '--check']; runpy.run_path(sys.argv[0], run_name='__main__')"
    variables = {name: value for name, value in os.environ.items() if name != "CALIB_DATA"} | environment
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_says_what_to_install(script):
    done = run_without("numpy" if "interval_report" in script else "pandas", script)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert line.startswith(f"{Path(script).parent.name}: the package ")
    assert line.endswith(f"-m pip install -e '{ROOT}[all]'")


@pytest.mark.slow
def test_rouge_is_a_package_of_its_own():
    done = run_without("rouge_score", "paper_repro/summeval/run.py")
    (line,) = done.stderr.splitlines()
    assert line == f"summeval: the package rouge_score is not installed: {sys.executable} -m pip install rouge-score"


@pytest.mark.slow
def test_a_folder_of_data_that_is_none_is_said_in_a_line(tmp_path):
    done = run_without("nothing", "paper_repro/unieval/run.py", CALIB_DATA=str(tmp_path / "nowhere"))
    assert done.returncode == 1
    assert done.stderr.startswith("unieval: `CALIB_DATA` must name a folder, but got ")
    assert done.stderr.count("\n") == 1


# --- SummEval ---------------------------------------------------------------------------------------------------


def write_replies(folder: Path) -> None:
    """Files in the format of G-Eval's results: two items, a few replies each."""
    replies = {"coh": ["4", " 3\n", "- Coherence: 2"], "con": ["5"], "flu": ["3", "4", "Fluent"], "rel": ["1.0"]}
    for short, texts in replies.items():
        records = [
            {"doc_id": "d1", "system_id": system, "scores": {"coherence": 4.0}, "prompt": "...", "all_responses": texts}
            for system in ("M1", "M2")
        ]
        (folder / f"gpt4_{short}_detailed.json").write_text(json.dumps(records), encoding="utf-8")


@pytest.mark.slow
def test_geval_replies_are_read_as_draws(summeval, tmp_path):
    write_replies(tmp_path)
    ratings = summeval.load_geval_replies(tmp_path)
    assert set(ratings["item"]) == {"d1__M1", "d1__M2"}
    first = ratings[ratings["item"] == "d1__M1"].groupby("criterion")["score"].agg(list)
    assert first["coherence"] == [4, 3, 2]
    assert first["consistency"] == [5]
    assert first["relevance"] == [1]
    fluency = ratings[(ratings["item"] == "d1__M2") & (ratings["criterion"] == "fluency")]
    assert list(fluency["draw"]) == [0, 1, 2]
    assert list(fluency["status"]) == ["ok", "off_scale", "unread"]
    assert list(fluency["score"].isna()) == [False, True, True]


def test_geval_replies_need_one_file_per_criterion(summeval, tmp_path):
    write_replies(tmp_path)
    (tmp_path / "gpt3_con_detailed.json").write_text("[]")
    with pytest.raises(
        FileNotFoundError, match=r"one file \*con\*\.json for consistency, but has gpt3_con_.*, gpt4_con"
    ):
        summeval.load_geval_replies(tmp_path)
    (tmp_path / "gpt4_coh_detailed.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"one file \*coh\*\.json for coherence, but has none\."):
        summeval.load_geval_replies(tmp_path)


@pytest.mark.slow
def test_geval_rows_come_from_the_replies_or_are_absent(summeval):
    items = pd.DataFrame({"item": list("abcd"), "group": list("1122"), "system": list("stst")})
    ratings = pd.DataFrame({"item": list("abcd"), "score": [1, 2, 2, 3], "rater": "G-Eval-4"})
    people = ratings.assign(rater="expert_mean", score=[1.0, 2, 3, 2])
    ratings, people = (pd.concat([r.assign(criterion=c) for c in summeval.CRITERIA]) for r in (ratings, people))
    human = summeval.calib.summarize(people, items)
    rows = summeval.within_documents(ratings, items, human, ("G-Eval-4",), "geval")
    gaps = summeval.within_documents(None, items, human, ("G-Eval-4",), "geval")
    key = ["rater", "criterion", "level", "coefficient"]
    assert rows["value"].eq(0).all() and len(rows) == 8  # +1 within group 1, -1 within group 2
    assert set(gaps["note"]) == {"not available here"}
    assert set(map(tuple, rows[key].values)) == set(map(tuple, gaps[key].values))


def test_rouge_is_the_mean_over_references_of_the_package(summeval):
    from rouge_score.rouge_scorer import RougeScorer

    references = ["The cats sat on mats. They slept.", "A dog barked!"]
    items = pd.DataFrame({"item": ["a"], "output": ["A cat sat. It was sleeping."], "references": [references]})
    ratings = summeval.rouge_ratings(items).set_index(["rater", "criterion"])["score"]
    plain = RougeScorer(["rouge1", "rougeLsum"], use_stemmer=True)
    scores = [plain.score(text.replace(". ", ".\n"), "A cat sat.\nIt was sleeping.") for text in references]
    assert ratings["ROUGE-1", "fluency"] == pytest.approx(sum(s["rouge1"].fmeasure for s in scores) / 2)
    assert ratings["ROUGE-L", "relevance"] == pytest.approx(sum(s["rougeLsum"].fmeasure for s in scores) / 2)
    assert len(ratings) == 12
