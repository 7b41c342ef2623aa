"""What planning is compared with."""

import re

import pytest


@pytest.fixture(scope="session")
def ratio_with_judge():
    """Width with the judge over that of labels alone, also where these are the result: there its warning tells."""

    def ratio(result):
        told = [re.search(r"^labels_alone: .* \(([\d.]+) times", text) for text in result.warnings]
        return next((float(found[1]) for found in told if found), result.width_ratio)

    return ratio
