"""Bars beside long work: who sees one, and that the work is the same with and without."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr
from types import SimpleNamespace

import pytest

from calib.core import progress as module
from calib.core.progress import is_watched, progress
from calib.stats import agreement


class Terminal(io.StringIO):
    """What a bar takes for a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_once(monkeypatch):
    """Without patience the bar comes with the second step."""
    pytest.importorskip("tqdm")
    monkeypatch.setattr(module, "_SILENT", -1.0)


def shown_to(stream, work):
    """What the work gives, and what it writes beside that."""
    with redirect_stderr(stream):  # not in a fixture: pytest has a stream of its own for each phase
        return work(), stream.getvalue()


def test_unwatched_work_loads_no_bar_and_short_work_shows_none(monkeypatch, at_once):
    monkeypatch.setattr(module, "bar_class", lambda: pytest.fail("a bar was made"))
    assert shown_to(io.StringIO(), lambda: list(progress(range(3), "steps"))) == ([0, 1, 2], "")
    monkeypatch.setattr(module, "_SILENT", 2.0)
    assert shown_to(Terminal(), lambda: list(progress(iter("abc"), "steps"))) == (["a", "b", "c"], "")


def test_long_work_shows_a_bar_that_goes_away(at_once):
    steps, bar = shown_to(Terminal(), lambda: list(progress(range(5), "resamples")))
    assert steps == [0, 1, 2, 3, 4]
    assert "resamples:  20%" in bar
    assert "1/5" in bar
    assert bar.endswith("\r")  # wiped out
    assert "1/4" in shown_to(Terminal(), lambda: list(progress(iter(range(4)), "steps", total=4)))[1]


def test_an_interrupt_passes_and_takes_the_bar_away(at_once):
    def stopped():
        steps = progress(range(9), "steps")
        with pytest.raises(KeyboardInterrupt):
            for step in steps:
                if step == 3:
                    raise KeyboardInterrupt
        steps.close()

    _, bar_text = shown_to(Terminal(), stopped)
    assert "steps" in bar_text
    assert bar_text.endswith("\r")


def test_without_tqdm_the_work_is_done_all_the_same(at_once, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "tqdm"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert shown_to(Terminal(), lambda: list(progress(range(3), "steps"))) == ([0, 1, 2], "")


@pytest.mark.parametrize(("shell", "watched"), [
    (SimpleNamespace(kernel=1), True),  # a notebook
    (SimpleNamespace(), False),  # IPython, with its errors sent to a file
    (None, False),
])  # fmt: skip
def test_a_notebook_is_known_by_its_kernel_and_no_stream_is_a_terminal(shell, watched, monkeypatch):
    closed = Terminal()
    closed.close()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    for stream in (io.StringIO(), closed, None):
        with redirect_stderr(stream):
            assert is_watched() is watched


@pytest.mark.slow
def test_a_bootstrap_gives_the_same_numbers_with_a_bar(at_once):
    x, y = [1, 2, 3, 4, 5, 3, 2, 4] * 500, [2, 1, 3, 5, 4, 3, 2, 5] * 500
    options = {"groups": [k // 8 for k in range(4000)], "interval": "boot-groups", "n_resamples": 3000, "rng": 1}
    with_bar, bar_text = shown_to(Terminal(), lambda: agreement(x, y, **options).interval)
    without, silence = shown_to(io.StringIO(), lambda: agreement(x, y, **options).interval)
    assert with_bar == without
    assert "resamples" in bar_text
    assert not silence


def test_bars_that_the_environment_forbids_are_none():
    """tqdm reads TQDM_DISABLE when it is loaded, and such a bar has no clock."""
    pytest.importorskip("tqdm")
    code = (
        "import io, sys; from calib.core import progress as module; module._SILENT = -1.0;"
        "sys.stderr = io.StringIO(); sys.stderr.isatty = lambda: True;"
        "print(sum(module.progress(range(5), 'steps')), repr(sys.stderr.getvalue()))"
    )
    environment = {**os.environ, "TQDM_DISABLE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, timeout=300
    )
    assert done.stdout.split() == ["10", "''"]
