"""What a user and a reader of the package may rely on: names, imports that stay cheap, layers."""

import ast
import inspect
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import calib
import calib.analysis
from calib import plot, stats
from calib.console.program import commands
from calib.core.result import Result
from calib.core.topic import topic_of

PACKAGE = Path(calib.__file__).parent
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
    "runs": ("means", "pairs"),
}
HEAVY = ("pandas", "matplotlib", "statsmodels", "litellm")


# --- names ------------------------------------------------------------------------------------------------------


def test_all_is_sorted_each_name_resolves_and_no_other():
    assert calib.__all__ == sorted(calib.__all__)
    assert not [name for name in calib.__all__ if getattr(calib, name) is None]
    with pytest.raises(AttributeError, match=r"calib.* attribute .?nonsense"):
        calib.nonsense  # noqa: B018


def test_dir_lists_every_name_and_the_docstring_every_verb():
    assert set(dir(calib)) == set(calib.__all__)
    verbs = {name.replace("-", "_") for name in commands()} - {"demo", "data"}
    unsaid = [name for name in verbs if not re.search(rf"\b{name}\b", calib.__doc__)]
    assert not unsaid, "the docstring of calib says of each verb what it is for"


# --- what an import loads ---------------------------------------------------------------------------------------


def test_import_calib_loads_nothing_heavy(loaded_by):
    assert not loaded_by("import calib") & {*HEAVY, "numpy", "scipy"}


def test_import_calib_stats_loads_no_table_and_no_model(loaded_by):
    loaded = loaded_by("import calib.stats; calib.stats.ppi_mean; calib.stats.agreement([1, 2], [1, 2])")
    assert "scipy" in loaded
    assert not loaded & set(HEAVY)


def test_the_analysis_and_the_offline_judge_load_neither_litellm_nor_matplotlib(loaded_by):
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
    "calib._version": 0, "calib.core": 1, "statistics": 2, "calib.stats": 3, "calib.table": 4, "calib.scale": 5,
    "calib.inputs": 6, "calib.judge": 7, "calib.datasets": 8, "frames": 8, "display": 9, "calib.labelling": 9,
    "calib.adapters": 9, "calib.gate": 10, "calib.runs": 10,
    "calib.plot": 11, "calib.report": 12, "calib.view": 12, "calib.console": 13, "commands": 14,
    "calib.cli": 15, "calib.gate.plugin": 15, "calib.__main__": 16,
}  # fmt: skip
ARRAYS_OF_THE_GATE = ("calib.gate.outcomes", "calib.gate.judge_bars")
_ARRAYS_OF_RUNS = ("attempts", "changes", "comparison", "nested", "power", "ranks")
ARRAYS_OF_RUNS = tuple(f"calib.runs.{name}" for name in _ARRAYS_OF_RUNS)


def kind(name: str) -> str:
    """Which rule a module goes by: a reserved file name within a topic, `commands` anywhere, else its package."""
    last = "commands" if ".commands" in name else name.rsplit(".", maxsplit=1)[-1]
    if last == "commands" or name == "calib.gate.plugin":
        return "commands" if last == "commands" else name
    if name in ARRAYS_OF_THE_GATE + ARRAYS_OF_RUNS:
        return "statistics"
    if name.startswith("calib.analysis"):
        reserved = next((one for one in ("display", "frames") if last.startswith(one)), "")
        return reserved or "statistics"
    return ".".join(name.split(".")[:2])


def topic(name: str) -> str:
    if name in ARRAYS_OF_RUNS:
        return "runs"
    return "gate" if name in ARRAYS_OF_THE_GATE else name.split(".")[2] if name.startswith("calib.analysis.") else ""


def test_imports_go_down_only():
    up = []
    for name in OURS:
        mine = kind(name)
        for imported, _at_load in imports(MODULES[name]):
            if imported == "calib":
                wrong = mine not in ("commands", "calib.cli", "calib.console", "calib.gate.plugin")
            elif not imported.startswith("calib."):
                wrong = False
            elif kind(imported) != mine:
                wrong = ORDER[kind(imported)] >= ORDER[mine]
            else:
                beside = mine == "statistics" and topic(imported) != topic(name)
                wrong = beside and topic(imported) not in STATISTICS[topic(name)]
            up += [f"{name} imports {imported}"] * wrong
    assert not up


def test_only_frames_and_display_see_tables_and_pictures():
    """In `core` and in a statistic file: arrays, numpy, scipy, and statsmodels or scikit-learn inside a function."""
    wrong = []
    late = ("pandas", "statsmodels", "sklearn", "threadpoolctl", "tqdm")
    for name in OURS:
        for imported, at_load in imports(MODULES[name]) if kind(name) in ("statistics", "calib.core") else ():
            top = imported.split(".")[0]
            ours = kind(imported) in ("statistics", "calib.core", "calib._version")
            free = top in sys.stdlib_module_names or top in ("numpy", "scipy") or ours
            wrong += [f"{name} imports {imported}"] * (not free and not (top in late and not at_load))
    assert not wrong


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


def test_no_private_name_is_imported():
    private = []
    for name in OURS:
        for node in ast.walk(MODULES[name]):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("calib"):
                hidden = [alias.name for alias in node.names if alias.name[0] == "_" and alias.name[:2] != "__"]
                private += [f"{name} imports {one} from {node.module}" for one in hidden]
    assert not private


def test_heavy_imports_stand_inside_functions():
    late = {"litellm", "matplotlib", "statsmodels"}
    early = {name: {top.split(".")[0] for top, at_load in imports(MODULES[name]) if at_load} & late for name in OURS}
    assert not {name: tops for name, tops in early.items() if tops}


# --- topics -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", calib.analysis.TOPICS)
def test_what_a_topic_names_is_there(home):
    topic = import_module(home).TOPIC
    assert topic.home == home
    for kind, display in topic.results.items():
        assert topic_of(getattr(stats, kind)) is topic
        assert set(display.plots) <= set(plot.__all__)
        words = display.headline, display.conclusions, display.notes, display.assumptions
        functions = (*display.plots, display.pictures, *words, display.blocks, display.side, topic.frame)
        assert all(callable(topic.function("display", name)) for name in functions if name)


def test_every_plot_is_of_a_result_and_no_column_has_two_heads():
    topics = [import_module(home).TOPIC for home in calib.analysis.TOPICS]
    displays = [display for topic in topics for display in topic.results.values()]
    assert {name for display in displays for name in display.plots} == set(plot.__all__)
    heads = [name for topic in topics for name in topic.heads]
    assert len(heads) == len(set(heads))
    assert {home.rpartition(".")[2] for home in calib.analysis.TOPICS} == set(STATISTICS)


# --- words --------------------------------------------------------------------------------------------------------


OTHER_WORDS = re.compile(r"(^|_)(gold|humans?|people|persons?)(_|$)")  # for people's scores, which are `labels`


@pytest.mark.parametrize("face", [calib, stats], ids=["calib", "calib.stats"])
def test_scores_of_people_are_called_labels(face):
    public = {name: getattr(face, name) for name in face.__all__}
    arguments = {
        f"{name}({argument})"
        for name, thing in public.items()
        if inspect.isroutine(thing)
        for argument in inspect.signature(thing).parameters
        if OTHER_WORDS.search(argument)
    }
    fields = {
        f"{name}.{field}"
        for name, thing in public.items()
        for field in getattr(thing, "__dataclass_fields__", ())
        if OTHER_WORDS.search(field)
    }
    assert not arguments | fields


def test_results_with_an_interval_have_the_columns_of_their_frames():
    public = {name: getattr(stats, name) for name in stats.__all__}
    results = {name: thing for name, thing in public.items() if isinstance(thing, type) and issubclass(thing, Result)}
    with_interval = {
        name: thing for name, thing in results.items() if "interval" in getattr(thing, "__dataclass_fields__", ())
    }
    assert len(with_interval) > 15
    assert [name for name, thing in with_interval.items() if not hasattr(thing, "conf_low")] == []
