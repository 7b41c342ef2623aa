"""The interval of garbage collections is Python's own again when nobody needs another."""

import gc
import threading
from contextlib import suppress

import pytest

from calib.core.progress import no_collections, rare_collections
from calib.inputs import grids, source


@pytest.fixture(autouse=True)
def _own_interval():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize("error", [None, KeyError])
def test_rarer_inside_and_as_before_after_it_and_after_an_error(error):
    gc.set_threshold(700, 10, 9)
    with suppress(KeyError), rare_collections():
        assert gc.get_threshold() == (10_000, 10, 9)
        if error:
            raise error
    assert gc.get_threshold() == (700, 10, 9)
    with rare_collections():
        gc.set_threshold(123, 4, 5)
    assert gc.get_threshold() == (123, 4, 5), "what is set inside stays"


@pytest.mark.parametrize("own", [(0, 10, 10), (50_000, 5, 5)])
def test_an_interval_of_the_users_own_is_left_alone(own):
    gc.set_threshold(*own)
    with rare_collections():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


@pytest.mark.parametrize("own", [True, False])
def test_none_inside_and_as_before_after_an_error(own):
    (gc.enable if own else gc.disable)()
    try:
        with suppress(KeyError), no_collections():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() == own
    finally:
        gc.enable()


def test_a_file_is_read_without_collections_and_leaves_them_on(tmp_path, monkeypatch):
    path, seen = tmp_path / "a.csv", []
    path.write_text("id,score\na,1\n")
    monkeypatch.setattr(source, "cut", lambda *given: seen.append(gc.isenabled()) or grids.cut(*given))
    source.source_of(path, "a")
    assert seen == [False] and gc.isenabled()


def test_the_last_of_several_threads_restores_it():
    gc.set_threshold(700, 10, 10)
    inside, leave = threading.Barrier(3), [threading.Event(), threading.Event()]

    def work(mine: threading.Event) -> None:
        with rare_collections():
            inside.wait(10)
            mine.wait(10)

    threads = [threading.Thread(target=work, args=(one,)) for one in leave]
    for thread in threads:
        thread.start()
    inside.wait(10)
    leave[0].set()
    threads[0].join()
    assert gc.get_threshold() == (10_000, 10, 10)
    leave[1].set()
    threads[1].join()
    assert gc.get_threshold() == (700, 10, 10)
