"""Do the quick tests notice faults in the statistics? Seeded faults, one at a time, in a copy of the package.

`python tests/bench/mutations.py --n 60 --seed 1` prints each fault and whether the first tier catches it: the tests and
examples of the fault's own topic, and the golden results of every class. A fault is a changed sign, factor, ddof,
comparison, quantile, or an index that is off by one, in a line of a statistic file that computes something.
"""

import argparse
import ast
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_STATISTICS = ("frames", "display", "commands", "__init__")
SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
COMPARED = {ast.Lt: ast.GtE, ast.LtE: ast.Lt, ast.Gt: ast.LtE, ast.GtE: ast.Gt}


def statistic_files():
    gate = [ROOT / "calib/gate/outcomes.py"]
    core = [ROOT / f"calib/core/{name}.py" for name in ("gaffke", "gamma_form", "laws", "numeric")]
    topics = [p for p in (ROOT / "calib/analysis").glob("*/*.py") if not p.stem.startswith(NOT_STATISTICS)]
    return sorted([*gate, *core, *topics])


def places(path):
    """Every node that a fault can be made of, in functions that compute; messages and annotations are none."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    silent = {id(inner) for node in ast.walk(tree) if is_words(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in silent or not hasattr(node, "lineno"):
            continue
        numbers = isinstance(node, ast.BinOp) and not any(isinstance(s, ast.Constant | ast.JoinedStr) and isinstance(
            getattr(s, "value", ""), str) for s in (node.left, node.right))  # fmt: skip
        if numbers and type(node.op) in SWAPPED:
            yield node, "operator"
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
            yield node, "comparison"
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value in (1, 2, 0.5, 0.05):
            yield node, "constant"
        elif (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and not isinstance(node.operand, ast.Constant)
        ):
            yield node, "sign"


def is_words(node):
    """What says something and computes nothing: errors, displays, annotations, text, defaults of a table."""
    if isinstance(node, ast.FunctionDef):
        return (
            node.name.startswith(("__", "_rows", "_terms", "_cells", "conclusion", "_cautions"))
            or "warning" in node.name
        )
    texts = isinstance(node, ast.Raise | ast.JoinedStr | ast.AnnAssign | ast.arguments | ast.Assert)
    return texts or (isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Error", "warn", "short")))


def faulty(node, kind):
    """The node with its fault."""
    if kind == "operator":
        return ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)
    if kind == "comparison":
        return ast.Compare(node.left, [COMPARED[type(node.ops[0])]()], node.comparators)
    if kind == "sign":
        return node.operand
    return ast.Constant({1: 0, 2: 1, 0.5: 0.25, 0.05: 0.1}[node.value])


def written(path, node, kind):
    """The text of a file with one fault in it, and the fault in a line."""
    text = path.read_text(encoding="utf-8")
    old, new = ast.get_source_segment(text, node), f"({ast.unparse(faulty(node, kind))})"
    lines = text.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    whole = text.encode()
    return (whole[:start] + new.encode() + whole[end:]).decode(), f"{kind}: {' '.join(old.split())[:70]} -> {new[:70]}"


def caught(path, text):
    """Whether the quick tests fail."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("calib", "tests", "paper_repro", "docs"):
            shutil.copytree(
                ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "results.csv", "*.png")
            )
        for name in ("conftest.py", "pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, copy)
        inside = path.relative_to(ROOT)
        (copy / inside).write_text(text, encoding="utf-8")
        own = inside.parent.relative_to("calib")
        steps = (["tests/surface/test_golden.py", "-k", "result_stay or small_file"], [f"tests/{own}", f"calib/{own}"])
        for arguments in steps if own.name != "core" else (*steps, ["tests/analysis/means"]):
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments],
                cwd=copy, capture_output=True, text=True, timeout=600, check=False,
            )  # fmt: skip
            if done.returncode not in (0, 5):
                return True
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    every = [(path, node, kind) for path in statistic_files() for node, kind in places(path)]
    faults = [(path, *written(path, node, kind)) for path, node, kind in chance.sample(every, asked.n)]
    with ThreadPoolExecutor(asked.workers) as pool:
        for (path, _, what), hit in zip(faults, pool.map(lambda one: caught(*one[:2]), faults), strict=True):
            print("caught  " if hit else "SURVIVED", path.relative_to(ROOT), what, flush=True)


if __name__ == "__main__":
    main()
