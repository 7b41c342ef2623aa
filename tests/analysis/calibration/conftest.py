"""Data sets that several tests of calibration read; a test without them is skipped."""

import pytest

import calib


@pytest.fixture(scope="session")
def loaded():
    """A loader of a data set by its name."""
    pytest.importorskip("pandas")

    def load(name, *options):
        try:
            return getattr(calib.datasets, name)(*options)
        except calib.datasets.DatasetError as error:
            pytest.skip(str(error))

    return load


@pytest.fixture(scope="session")
def summeval(loaded):
    """Of a criterion GPT-4o's digit, the median label of three experts, and the document, of 1,600 summaries."""

    def read(criterion):
        items, ratings = loaded("load_summeval_judges")
        rows = ratings[ratings["criterion"] == criterion]
        labels = rows[rows["method"] == "human"].pivot(index="item", columns="rater", values="score").median(axis=1)
        digit = rows[rows["rater"] == "gpt-4o"].set_index("item")["score"].reindex(labels.index)
        document = items.drop_duplicates("item").set_index("item")["group"].reindex(labels.index)
        return digit.to_numpy(), labels.to_numpy(), document.to_numpy()

    return read
