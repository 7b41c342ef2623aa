"""What other programs compute, where the repository is there."""

import pytest


@pytest.fixture(scope="session")
def oracles():
    return pytest.importorskip("oracles", reason="paper_repro comes with the repository, not with the package")
