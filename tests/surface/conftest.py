"""Shared by the tests of the faces: a command run as from a shell."""

import pytest

from calib import cli


@pytest.fixture
def run(capsys):
    """Run a command; exit code, stdout, stderr."""

    def call(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return ended.value.code, output.out, output.err

    return call
