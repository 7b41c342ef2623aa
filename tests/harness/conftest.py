"""The same items and judges for each harness, and what calib itself says of them."""

import os

import pytest

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
os.environ["OPIK_TRACK_DISABLE"] = "true"
os.environ["INSPECT_DISPLAY"] = "none"

from harness_judges import OFFLINE, PROMPT

import calib


@pytest.fixture(scope="session")
def items():
    return calib.load_planted()[0].head(6)


@pytest.fixture(scope="session")
def expected(items):
    """The scores of `summarize(rate(...))` by item."""
    ratings = calib.rate(items, PROMPT, OFFLINE, progress=False)
    return calib.summarize(ratings).set_index("item").loc[items["item"]]
