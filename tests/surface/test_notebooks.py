"""The notebooks run from top to bottom, as a user would run them, and answer what their files say.

`python tests/surface/test_notebooks.py [FILE ...]` runs them (or those named) and writes their outputs.
"""

import base64
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
MOST = 400_000  # bytes of a file
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)")


def executed(path, folder):
    """A notebook with outputs of its own, as small as they can be read."""
    import nbclient
    import nbformat
    from PIL import Image

    notebook = nbformat.read(path, as_version=4)
    language = dict(notebook.metadata.language_info)
    client = nbclient.NotebookClient(
        notebook, timeout=600, record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    notebook.metadata.language_info = language  # without the version of this machine's Python
    for data in (output["data"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output):
        if "image/png" in data:
            picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGB")
            small = io.BytesIO()
            picture.quantize(64, dither=Image.Dither.NONE).save(small, "png", optimize=True)
            data["image/png"] = base64.b64encode(small.getvalue()).decode()
    return notebook


def shown(notebook):
    """What each code cell shows: kind and text; of a picture only that it is there, of prints all together."""
    for k, cell in enumerate(notebook.cells):
        outputs = cell.get("outputs", [])
        for name in ("stdout", "stderr"):  # which come in one piece or in several
            if texts := [one["text"] for one in outputs if one["output_type"] == "stream" and one["name"] == name]:
                yield f"cell {k}: {name}", "".join(texts)
        for output in outputs:
            if output["output_type"] == "stream":
                continue
            if output["output_type"] == "error":
                yield f"cell {k}: error", output["ename"]
            else:
                for kind, text in sorted(output["data"].items()):
                    yield f"cell {k}: {kind}", "" if kind == "image/png" else text


def alike(one, other):
    """Texts of the same words, whose decimals differ by a few of the last digits at most."""
    ours, theirs = NUMBER.split(one), NUMBER.split(other)
    if len(ours) != len(theirs) or [text.split() for text in ours[::2]] != [text.split() for text in theirs[::2]]:
        return False
    return all(close(*pair) for pair in zip(ours[1::2], theirs[1::2], strict=True))


def close(one, other):
    if one == other or "." not in one:  # counts are counts
        return one == other
    last = 10.0 ** -len(one.partition("e")[0].partition(".")[2])
    return abs(float(one) - float(other)) <= max(2 * last, 2e-3 * abs(float(one)))


def read(path):
    return pytest.importorskip("nbformat").read(path, as_version=4)


def test_there_are_eight_notebooks_with_outputs_of_one_run():
    assert [path.name[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05", "06", "07", "08"]
    for path in NOTEBOOKS:
        notebook = read(path)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), path.name
        kinds = [kind.partition(": ")[2] for kind, _ in shown(notebook)]
        assert "image/png" in kinds and not {"stderr", "error"} & {*kinds}, path.name
        assert path.stat().st_size <= MOST, path.name


def test_outputs_hold_no_ids_of_the_data_and_no_folder_of_a_machine():
    for path in NOTEBOOKS:
        text = "\n".join(text for _, text in shown(read(path)))
        assert not re.search(r"dm-test-|/(?:home|root|tmp|work|Users)/|<iframe", text), path.name


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("CALIB_DATA"), reason="needs the real data: set CALIB_DATA")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")  # the Jupyter machinery's own; the notebook runs in another process
def test_notebook_answers_what_its_file_says(path, tmp_path, monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)  # a notebook chooses its own
    monkeypatch.setenv("TQDM_DISABLE", "1")  # the bars of long cells say nothing afterwards
    pytest.importorskip("nbclient")
    now, before = list(shown(executed(path, tmp_path))), list(shown(read(path)))
    assert [kind for kind, _ in now] == [kind for kind, _ in before]
    pairs = zip(now, before, strict=True)
    other = [(kind, text, old) for (kind, text), (_, old) in pairs if not alike(old, text)]
    assert other[:1] == [], "if this is meant: python tests/surface/test_notebooks.py"


def test_an_output_that_differs_is_noticed():
    assert alike("mean 0.535,  95 % CI", "mean 0.536, 95 % CI")
    assert not alike("mean 0.535", "mean 0.545")
    assert not alike("60 labels", "61 labels")
    assert not alike("mean 0.5", "median 0.5")
    assert not alike("0.5 0.5", "0.5")


def test_prints_are_compared_all_together():
    def notebook(*texts):
        streams = [{"output_type": "stream", "name": "stdout", "text": text} for text in texts]
        return SimpleNamespace(cells=[{"outputs": streams}])

    assert list(shown(notebook("a\n", "b\n"))) == list(shown(notebook("a\nb\n"))) == [("cell 0: stdout", "a\nb\n")]


if __name__ == "__main__":
    import nbformat

    os.environ.pop("MPLBACKEND", None)
    os.environ["TQDM_DISABLE"] = "1"
    for file in [path for path in NOTEBOOKS if not sys.argv[1:] or path.name in sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(file, folder), file)
