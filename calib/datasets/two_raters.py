"""Arrays of zeros and ones: what a machine saw in all items, and people in the first ones."""

import io

import numpy as np
import pandas as pd

from calib.datasets.registry import Tables, checked_tables, read_file


def load_ballots() -> Tables:
    """Ballots of an election in San Francisco: is the vote for the winner, read by a person and by a machine.

    Returns
    -------
    items : DataFrame
        79,177 rows, `item` alone: the first 1,027 are those that people read.
    ratings : DataFrame
        80,204 rows of criterion ``vote``, 0 or 1: rater ``human`` (1,027 ballots) and rater
        ``machine``, computer vision (all ballots).

    Raises
    ------
    DatasetError
        If the file cannot be found or downloaded, or has other counts.

    References
    ----------
    Angelopoulos et al. (2023), Prediction-powered inference, Science 382(6671):669-674.
    """
    path = "ballots/ballot-data.npz"
    return _seen_by_two("ballots", path, "vote", "Y_labeled", ("Yhat_labeled", "Yhat_unlabeled"))


def load_forest_badmodel() -> Tables:
    """Parcels of the Amazon forest: cleared or not, seen by people and by a model that is of no use.

    Returns
    -------
    items : DataFrame
        1,596 rows, `item` alone.
    ratings : DataFrame
        3,192 rows of criterion ``cleared``, 0 or 1: raters ``human`` and ``machine``, whose
        correlation is -0.05.

    Raises
    ------
    DatasetError
        If the file cannot be found or downloaded, or has other counts.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), PPI++: Efficient Prediction-Powered Inference, arXiv:2311.01453.
    """
    return _seen_by_two("forest_badmodel", "examples/baselines/forest_badmodel.npz", "cleared", "Y", ("Yhat",))


def _seen_by_two(name: str, path: str, criterion: str, human: str, machine: tuple[str, ...]) -> Tables:
    arrays = np.load(io.BytesIO(read_file(name, path)))
    seen = {"human": arrays[human], "machine": np.concatenate([arrays[part] for part in machine])}
    items = pd.DataFrame({"item": [f"{name}-{number:05d}" for number in range(len(seen["machine"]))]})
    ratings = pd.concat(
        items.head(len(score)).assign(rater=rater, score=score, method="human" if rater == "human" else "sample")
        for rater, score in seen.items()
    )
    return checked_tables(name, items, ratings.assign(criterion=criterion, scale="0|1"))
