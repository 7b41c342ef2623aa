"""What a user and a reader of the package may rely on: names, imports that stay cheap, layers, examples."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import calib

PACKAGE = Path(calib.__file__).parent
# higher numbers may import lower ones; equal numbers may not, unless they are of one package
LAYERS = {
    "calib.cli": 10,
    "calib._report": 9,
    "calib.plot": 8,
    "calib._plot_draws": 7,
    "calib._figure": 3,
    "calib.datasets": 7,
    "calib._plan": 6,
    "calib._prompts": 5,
    "calib._agree": 4,
    "calib._analyze": 4,
    "calib.judge": 4,
    "calib._planted": 4,
    "calib._draws": 4,
    "calib._pairs": 3,
    "calib._results": 2,
    "calib._scores": 2,
    "calib.stats": 1,
    "calib.table": 1,
    "calib._version": 0,
}
HEAVY = ("pandas", "matplotlib", "statsmodels", "litellm")
DOWNLOADS = {
    "load_summeval",
    "load_summeval_judges",
    "load_topical_chat",
    "load_llm_rubric",
    "load_unieval",
    "load_lesion",
    "load_wax",
    "load_cje_arena",
    "load_triviaqa_judges",
    "load_ballots",
    "load_forest_badmodel",
    "load_composo",
    "load_hanna",
    "load_llm_summeval",
}


# --- names ------------------------------------------------------------------------------------------------------


def test_all_is_sorted():
    assert calib.__all__ == sorted(calib.__all__)


@pytest.mark.parametrize("name", calib.__all__)
def test_each_name_resolves(name):
    assert getattr(calib, name) is not None


def test_dir_is_all_and_another_name_is_an_attribute_error():
    assert sorted(dir(calib)) == sorted(calib.__all__)
    with pytest.raises(AttributeError, match="module 'calib' has no attribute 'nonsense'"):
        calib.nonsense  # noqa: B018


# --- what an import loads ---------------------------------------------------------------------------------------


def loaded_by(code: str) -> set[str]:
    """The top-level packages in a fresh interpreter after this code."""
    code += "; import sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_import_calib_loads_nothing_heavy():
    assert not loaded_by("import calib") & {*HEAVY, "numpy", "scipy"}


def test_import_calib_stats_loads_no_table_and_no_model():
    loaded = loaded_by("import calib.stats")
    assert "scipy" in loaded
    assert not loaded & set(HEAVY)


def test_the_analysis_and_the_offline_judge_load_neither_litellm_nor_matplotlib():
    code = "import calib; calib.rate, calib.agreement, calib.load_planted"
    assert not loaded_by(code) & {"litellm", "matplotlib", "statsmodels"}


# --- layers -----------------------------------------------------------------------------------------------------


def modules() -> dict[str, ast.Module]:
    """Each module of the package under its name, parsed."""
    parsed = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        parsed[".".join(parts).removesuffix(".__init__")] = ast.parse(path.read_text(encoding="utf-8"))
    return parsed


def imports(tree: ast.Module) -> set[tuple[str, bool]]:
    """Each imported module, and whether it is loaded when the module is."""
    found = set()

    def visit(node: ast.AST, at_load: bool) -> None:
        if isinstance(node, ast.Import):
            found.update((alias.name, at_load) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"calib.{alias.name}" for alias in node.names] if node.module == "calib" else [node.module]
            found.update((name, at_load) for name in names)
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        types_only = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.iter_child_nodes(node):
            visit(child, at_load and not inside and not types_only)

    visit(tree, True)
    return found


def home(name: str) -> str:
    """The layer's name of a module, or of a public name that is imported from `calib`."""
    name = calib._HOMES.get(name.removeprefix("calib."), name)
    return next((layer for layer in LAYERS if name == layer or name.startswith(layer + ".")), name)


OURS = [name for name in modules() if name != "calib"]


@pytest.mark.parametrize("name", OURS)
def test_imports_go_down_only(name):
    mine = home(name)
    for imported, _ in imports(modules()[name]):
        if imported == "calib":
            assert mine == "calib.cli", f"{name} imports calib itself, which resolves to any layer"
        elif imported.startswith("calib.") and home(imported) != mine:
            assert LAYERS[home(imported)] < LAYERS[mine], f"{name} imports {imported}"


@pytest.mark.parametrize("name", [name for name in OURS if name.startswith("calib.stats")])
def test_the_statistics_need_numpy_and_scipy_alone(name):
    for imported, at_load in imports(modules()[name]):
        top = imported.split(".")[0]
        ours = imported.startswith("calib.stats") or imported == "calib._version"
        free = top in sys.stdlib_module_names or top in ("numpy", "scipy") or ours
        assert free or (top in ("pandas", "statsmodels") and not at_load), f"{name} imports {imported}"


@pytest.mark.parametrize("name", OURS)
def test_heavy_imports_stand_inside_functions(name):
    late = {"litellm", "matplotlib", "statsmodels"} - ({"matplotlib"} if name == "calib.plot" else set())
    assert not {imported.split(".")[0] for imported, at_load in imports(modules()[name]) if at_load} & late


# --- docstrings -------------------------------------------------------------------------------------------------


def public_functions() -> dict[str, object]:
    """Every function that `calib` or one of its public modules shows."""
    spaces = [(calib, calib.__all__)]
    for name in calib._MODULES:
        try:
            module = import_module(f"calib.{name}")
        except ModuleNotFoundError:
            continue  # test_each_name_resolves says so
        own = [n for n, v in vars(module).items() if inspect.isfunction(v) and v.__module__ == module.__name__]
        spaces.append((module, getattr(module, "__all__", [n for n in own if not n.startswith("_")])))
    found = {f"{space.__name__}.{name}": getattr(space, name, None) for space, names in spaces for name in names}
    return {name: value for name, value in found.items() if inspect.isfunction(value)}


@pytest.mark.parametrize("name", public_functions())
def test_each_function_has_a_docstring_with_an_example(name):
    doc = inspect.getdoc(public_functions()[name]) or ""
    assert doc.splitlines()[0].endswith("."), "the first line is a sentence"
    if name.split(".")[-1] not in DOWNLOADS:
        assert ">>> " in doc
