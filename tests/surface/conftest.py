"""Shared by the tests of the faces: a command run as from a shell, and what an interpreter has loaded."""

import subprocess
import sys

import pytest

from calib import cli


@pytest.fixture
def run(capsys):
    """Run a command; exit code, stdout, stderr without the next step, which `test_json` reads."""

    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        messages = [line for line in output.err.splitlines(keepends=True) if not line.startswith("next: ")]
        return ended.value.code, output.out, "".join(messages)

    return call


@pytest.fixture(scope="session")
def loaded_by():
    """The top-level packages in a fresh interpreter after some code."""

    def loaded(code):
        code += "\nimport sys; print('loaded', *{name.split('.')[0] for name in sys.modules})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
        return set(done.stdout.splitlines()[-1].split())

    return loaded
