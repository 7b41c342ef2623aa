"""What a user and a reader of the package may rely on: names, imports that stay cheap, layers."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import calib
import calib.analysis
from calib import plot, stats
from calib.core.topic import topic_of

PACKAGE = Path(calib.__file__).parent
TOPICS = (
    *("agreement", "distributions", "draws", "means", "prompts", "planning", "calibration"),
    *("verdicts", "pairs", "bias", "drift", "gate"),
)
RESERVED = ("verbs", "plots", "words", "commands")
# what a module of each kind may import besides its own kind; a name is the module or package, up to the dot
STATISTICS = {
    # a topic may use the statistic files of those named here
    "agreement": (),
    "distributions": ("agreement",),
    "draws": ("agreement", "distributions"),
    "means": (),
    "prompts": ("means",),
    "planning": ("means", "prompts"),
    "calibration": ("agreement", "distributions", "means"),
    "verdicts": ("agreement", "means", "calibration"),
    "pairs": ("agreement", "means", "verdicts"),
    "bias": ("agreement", "means", "pairs"),
    "drift": ("distributions", "means"),
    "gate": ("means", "planning"),
}
HEAVY = ("pandas", "matplotlib", "statsmodels", "litellm")


# --- names ------------------------------------------------------------------------------------------------------


def test_all_is_sorted():
    assert calib.__all__ == sorted(calib.__all__)


@pytest.mark.parametrize("name", calib.__all__)
def test_each_name_resolves(name):
    assert getattr(calib, name) is not None


def test_dir_leads_to_the_main_names():
    listed = dir(calib)
    assert len(listed) < 35, "what is rare goes into _RARE"
    assert set(listed) < set(calib.__all__)
    assert not [name for name in listed if name.startswith("load_")], "sets stand in calib.datasets"
    unsaid = [name for name in listed if not re.search(rf"\b{name}\b", calib.__doc__)]
    assert unsaid == ["__version__"], "the docstring of calib says of each what it is for"


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"calib.* attribute .?nonsense"):
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
    loaded = loaded_by("import calib.stats; calib.stats.ppi_mean; calib.stats.agreement([1, 2], [1, 2]).conclusion")
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


MODULES = modules()


@cache
def imports(tree: ast.Module) -> set[tuple[str, bool]]:
    """Each imported module, and whether it is loaded when the module is."""
    found = set()

    def visit(node: ast.AST, at_load: bool) -> None:
        if isinstance(node, ast.Import):
            found.update((alias.name, at_load) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:  # `from package import module` names the module
                inner = f"{node.module}.{alias.name}"
                found.add((inner if inner in MODULES else node.module, at_load))
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        types_only = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.iter_child_nodes(node):
            visit(child, at_load and not inside and not types_only)

    visit(tree, True)
    return found


OURS = [name for name in MODULES if name not in ("calib", "calib.stats", "calib.plot")]
# lower numbers are imported by higher ones; modules of one number see each other only inside one package
ORDER = {
    "calib._version": 0,
    "calib.core": 1,
    "statistics": 2,
    "calib.stats": 3,
    "calib.table": 3,
    "calib.scale": 4,
    "calib.tables": 5,
    "calib.intake": 5.5,
    "calib.judge": 6,
    "calib.datasets": 7,
    "calib.labelling": 7,
    "calib.adapters": 7,
    "verbs": 6,
    "words": 6,
    "plots": 7,
    "calib.plot": 8,
    "calib.report": 9,
    "calib.console": 10,
    "commands": 11,
    "calib.cli": 12,
    "calib._pytest": 12,
}


def kind(name: str) -> str:
    """Which rule a module goes by: a reserved file name within a topic, `commands` anywhere, else its package."""
    last = name.rsplit(".", maxsplit=1)[-1]
    if last == "commands":
        return last
    if name.startswith("calib.analysis"):
        return last if last in RESERVED else "statistics"
    return ".".join(name.split(".")[:2])


def topic(name: str) -> str:
    return name.split(".")[2] if name.startswith("calib.analysis.") else ""


@pytest.mark.parametrize("name", OURS)
def test_imports_go_down_only(name):
    for imported, _at_load in imports(MODULES[name]):
        if imported == "calib":
            assert kind(name) in ("commands", "calib.cli", "calib.console", "calib._pytest"), (
                f"{name} imports calib itself"
            )
        elif imported.startswith("calib.") and kind(imported) != kind(name):
            assert ORDER[kind(imported)] < ORDER[kind(name)], f"{name} imports {imported}"
        elif kind(name) == "statistics" and imported.startswith("calib.") and topic(imported) != topic(name):
            assert topic(imported) in STATISTICS[topic(name)], f"{name} imports {imported}"


@pytest.mark.parametrize("name", OURS)
def test_only_reserved_file_names_see_tables_and_pictures(name):
    """In `core` and in a topic: arrays, numpy, scipy, and statsmodels or scikit-learn inside a function."""
    if kind(name) not in ("statistics", "calib.core"):
        return
    for imported, at_load in imports(MODULES[name]):
        top = imported.split(".")[0]
        ours = kind(imported) in ("statistics", "calib.core", "calib._version")
        free = top in sys.stdlib_module_names or top in ("numpy", "scipy") or ours
        late = ("pandas", "statsmodels", "sklearn", "threadpoolctl", "tqdm")
        assert free or (top in late and not at_load), f"{name} imports {imported}"


def test_no_module_imports_itself_in_a_circle():
    after = {
        name: {other for other, at_load in imports(tree) if at_load and other in OURS} for name, tree in MODULES.items()
    }
    while True:
        free = [name for name, needs in after.items() if not needs]
        if not free:
            break
        after = {name: needs - set(free) for name, needs in after.items() if name not in free}
    assert not after, f"in a circle: {sorted(after)}"


@pytest.mark.parametrize("name", OURS)
def test_no_private_name_is_imported(name):
    for node in ast.walk(MODULES[name]):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("calib"):
            private = [alias.name for alias in node.names if alias.name[0] == "_" and alias.name[:2] != "__"]
            assert not private, f"{name} imports {private} from {node.module}"


def defined(tree: ast.Module) -> list[str]:
    """Names of functions, classes and constants at the top of a module."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    named = [node.name for node in tree.body if isinstance(node, kinds)]
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    return named + [target.id for target in targets if isinstance(target, ast.Name)]


FOLDERS = sorted({name.rpartition(".")[0] for name in OURS if name.startswith("calib.analysis.")} - {"calib.analysis"})


@pytest.mark.parametrize(
    "folder", [*FOLDERS, "calib.core", "calib.table", "calib.tables", "calib.judge", "calib.datasets"]
)
def test_a_name_means_one_thing_in_a_topic(folder):
    """Only verbs, plots, words and commands may be called as the function on arrays is."""
    homes: dict[str, set[str]] = {}
    for name, tree in MODULES.items():
        for helper in defined(tree) if name.startswith(f"{folder}.") else ():
            if helper[0] == "_" or name.split(".")[-1] not in RESERVED:
                homes.setdefault(helper, set()).add(name)
    assert not {helper: names for helper, names in homes.items() if len(names) > 1 and helper != "__all__"}


@pytest.mark.parametrize("name", OURS)
def test_heavy_imports_stand_inside_functions(name):
    late = {"litellm", "matplotlib", "statsmodels"}
    assert not {imported.split(".")[0] for imported, at_load in imports(MODULES[name]) if at_load} & late


# --- topics -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", calib.analysis.TOPICS)
def test_what_a_topic_names_is_there(name):
    topic = import_module(f"calib.analysis.{name}").TOPIC
    assert topic.home == f"calib.analysis.{name}"
    for kind, shown in topic.results.items():
        assert topic_of(getattr(stats, kind)) is topic
        assert set(shown.plots) <= set(plot.__all__)
        for file, functions in {
            "plots": (*shown.plots, shown.pictures),
            "words": (
                shown.fact,
                shown.conclusions,
                shown.notes,
                shown.assumptions,
                shown.main,
                shown.light,
                shown.blocks,
                topic.frame,
            ),
            "commands": [name.replace("-", "_") for name in topic.commands],
        }.items():
            assert all(callable(topic.function(file, function)) for function in functions if function)


def test_every_plot_is_of_a_result_and_no_column_has_two_heads():
    topics = [import_module(f"calib.analysis.{name}").TOPIC for name in calib.analysis.TOPICS]
    assert {name for topic in topics for shown in topic.results.values() for name in shown.plots} == set(plot.__all__)
    heads = [name for topic in topics for name in topic.heads]
    assert len(heads) == len(set(heads))
    assert set(calib.analysis.TOPICS) == set(TOPICS)
