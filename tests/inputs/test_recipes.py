"""The page of recipes: every line of it runs in an empty folder and answers what the page says.

`python tests/inputs/test_recipes.py` writes the answers anew.
"""

import doctest
import io
import math
import os
import re
import shlex
import tempfile
import warnings
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from calib import cli

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
BLOCK = re.compile(r"^```(python|console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def answered(text):
    """The page with what its blocks answer here and now, one after the other; of "sh" only the commands are shown."""
    names = {}
    run = {"python": lambda block: of_python(block, names), "console": of_shell, "sh": only_run}
    return BLOCK.sub(lambda block: f"```{block[1]}\n{run[block[1]](block[2])}```", text)


def of_python(block, names):
    said = []
    for example in doctest.DocTestParser().get_examples(block):
        first, *more = example.source.splitlines()
        said += [f">>> {first}", *(f"... {line}".rstrip() for line in more)]
        heard = io.StringIO()
        with redirect_stdout(heard), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(compile(example.source, "recipes", "single"), names)
            except ValueError as error:
                print(f"Traceback (most recent call last):\n    ...\n{type(error).__name__}: {error}")
        said += plain(heard)
    return "".join(f"{line}\n" for line in said)


def of_shell(block):
    said = []
    for line in block.splitlines():
        if line[:2] == "$ ":
            said += [line, *plain(called(line[2:])[1])]
    return "".join(f"{line}\n" for line in said)


def only_run(block):
    for line in block.splitlines():
        code, heard = called(line)
        assert code == 0, heard.getvalue()
    return block


def called(command):
    """Exit code of a command, and all that it says."""
    heard = io.StringIO()
    with redirect_stdout(heard), redirect_stderr(heard), warnings.catch_warnings():
        warnings.simplefilter("default")
        with pytest.raises(SystemExit) as ended:
            cli.main(shlex.split(command)[1:])
    return ended.value.code, heard


def plain(heard):
    return [line.rstrip() for line in heard.getvalue().rstrip().splitlines()]


def alike(one, other):
    """Words that are the same, and numbers that differ by no more than machines do."""
    if one == other:
        return True
    with suppress(ValueError):
        return math.isclose(float(one), float(other), rel_tol=1e-3)
    return False


def words(text):
    return [word for word in re.split(r"([\s\[\],;|()%]+)", text) if word.strip()]


@pytest.mark.slow
def test_every_recipe_answers_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    text = PAGE.read_text(encoding="utf-8")
    now = answered(text)
    pairs = zip(words(now), words(text), strict=False)
    assert not [(a, b) for a, b in pairs if not alike(a, b)][:1]
    assert len(words(now)) == len(words(text))


def test_a_recipe_that_answers_otherwise_is_noticed():
    page = "```python\n>>> 1 / 3\n0.33333\n>>> [0.5]\n[0.5]\n```\n"
    assert words(answered(page)) != words(page)
    assert all(alike(a, b) for a, b in zip(words(answered(page)), words(page), strict=True))
    assert not alike("0.5", "0.51")
    assert not alike("yes", "no")


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        new = answered(PAGE.read_text(encoding="utf-8"))
        os.chdir(before)
    PAGE.write_text(new, encoding="utf-8")
