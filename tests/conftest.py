"""Shared by all tests. Nothing heavy here: tests/core and tests/analysis run where there is no pandas."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Iterator[None]:
    """Tests hold no examples: looked through as modules of examples they would be loaded for nothing."""
    found = yield
    return [node for node in found if type(node).__name__ != "DoctestModule"]


@pytest.fixture
def count_calls() -> Callable[[Callable[[], object]], Counter]:
    """Count the calls that some work makes, by name: what grows with them is seen on a busy machine, too."""

    def count(work: Callable[[], object]) -> Counter:
        calls: Counter[str] = Counter()

        def note(frame: object, event: str, function: object) -> None:
            if event == "call":
                calls[frame.f_code.co_qualname] += 1
            elif event == "c_call":
                calls[function.__qualname__] += 1

        sys.setprofile(note)
        try:
            work()
        finally:
            sys.setprofile(None)
        return calls

    return count
