"""Public sets that reproductions and tests read and calib has no loader for, each as items and ratings.

A file is read from the folder that CALIB_DATA names, or downloaded once from its repository at a fixed commit; its
sha256 is checked either way.
"""

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib import table
from calib.datasets import DatasetError

Tables = tuple[pd.DataFrame, pd.DataFrame]

CJE_POLICIES = ("base", "clone", "parallel_universe_prompt", "unhelpful")
LESION_SCALES = {**dict.fromkeys(("Asymmetry", "Border", "Dermo", "Blue"), "0|1|2"), "Color": "1|2|3|4|5|6"}
# folder within CALIB_DATA: repository, commit, sha256 of each file
FILES: dict[str, tuple[str, str, dict[str, str]]] = {
    "alt_test": ("nitaytech/AltTest", "18428b1f4f34ac61c4978bc180263b90111e7337", {
        "data/lesion/human_annotations.json": "a3bd4a7213d57d6ead4d103ad19fffac0962ab7b5023fa0626cd7f0ac94b1b07",
        "data/lesion/llm_annotations.json": "ac0f9d7e6483f1665a5e38a4c9c32e519dd228f1d1ae6a65c55ec222e474fb52",
        "data/wax/human_annotations.json": "d92dbfa23a4dcc828d2f40325bfaf3605acedb9bf7f82ef985d449f94a1bcedc",
        "data/wax/llm_annotations.json": "b5d5dfa2e58e17ab3c6f633f4554b46fb27d9bd6c8cf8abc6bb46814af6384af",
    }),
    "cje_arena": ("cimo-labs/cje", "bec2e2297a333bbfd9b449d23e3b6fb4cba71d6d", {
        f"examples/arena_sample/{path}": sha256
        for path, sha256 in {
            "fresh_draws/base_responses.jsonl": "0e926e511d44aada2b03ffbfe3129885f288c731739e53721a6e392bb11385ae",
            "fresh_draws/clone_responses.jsonl": "3472e0cd8909220f8760d0d3f6777f8fc5975b8be51872291e0a4a8d6cf75baf",
            "fresh_draws/parallel_universe_prompt_responses.jsonl":
                "584ad60e4a378036dbb9c23eeb460a1ab7b7fdfb5cd8fd7004debd09ff67c74b",
            "fresh_draws/unhelpful_responses.jsonl": "6929120fb0332131d749195f634baebd880290a12985b39eb427a71ca05e89ad",
            "probe_slice/clone_probe.jsonl": "7e0add7c8ac56ce6dffc6ff28ace92bb8a8b829cd8f8250f67f0c68a4d81db78",
            "probe_slice/parallel_universe_prompt_probe.jsonl":
                "a39b916deaa0af75a4665ef54443e1b191dcbed66b9499670c39204a54781ce4",
            "probe_slice/unhelpful_probe.jsonl": "766e79d7a56c0cf866e33a1a8db028ffd1e7515f0b74d00b62a4a90e7fd0918c",
        }.items()
    }),
    "ballots": ("aangelopoulos/prediction-powered-inference", "74c2da5d4c0673263e7145549edffc874664335e", {
        "ballots/ballot-data.npz": "ca01f48ec4421a43d7b60c95b85b01672430d48a1106c45dd3e903dfad3a6309",
    }),
    "forest_badmodel": ("aangelopoulos/ppi_py", "bd90caada03a1a3473eea62c53e39123371dedb8", {
        "examples/baselines/forest_badmodel.npz": "08e2126500de275a6dbc9e0682ccd66b2afe16203f09d872bacdc5ed1f275672",
    }),
}  # fmt: skip


def read_file(folder: str, path: str) -> bytes:
    """The content of one file, verified."""
    repository, commit, files = FILES[folder]
    own = Path(os.environ.get("CALIB_DATA", ""), folder, path)
    if os.environ.get("CALIB_DATA") and own.is_file():
        content = own.read_bytes()
        if hashlib.sha256(content).hexdigest() != files[path]:
            raise DatasetError(f"{own}: is not {path} of {repository} at commit {commit}: its sha256 differs.")
        return content
    import pooch

    url = f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"
    cache = Path(pooch.os_cache("calib"), folder, commit, path)
    try:
        pooch.retrieve(url, f"sha256:{files[path]}", fname=cache.name, path=cache.parent)
    except (OSError, ValueError) as error:  # no connection, no such page; another hash
        raise DatasetError(
            f"{folder}: {path} could not be downloaded from {url} ({type(error).__name__}: {error}). To provide it, "
            f"set the environment variable CALIB_DATA to a folder that holds it as {folder}/{path}."
        ) from None
    return cache.read_bytes()


def checked(items: Any, ratings: Any) -> Tables:
    """Both tables, as every loader of calib gives them."""
    return table.check_items(pd.DataFrame(items)), table.check_ratings(pd.DataFrame(ratings))


# --- arrays of zeros and ones: what a machine saw in all items, and people in the first ones ----------------------


def load_ballots() -> Tables:
    """Ballots of an election in San Francisco: is the vote for the winner, read by a person and by a machine.

    Items: 79,177 rows, `item` alone: the first 1,027 are those that people read.
    Ratings: 80,204 rows of criterion ``vote``, 0 or 1: raters ``human`` (1,027 ballots) and ``machine`` (all).
    The machine errs in nine of the 1,027, each a yes of people. Licence: MIT.

    Angelopoulos et al. (2023), Prediction-powered inference, Science 382(6671):669-674.
    """
    path = "ballots/ballot-data.npz"
    return _seen_by_two("ballots", path, "vote", "Y_labeled", ("Yhat_labeled", "Yhat_unlabeled"))


def load_forest_badmodel() -> Tables:
    """Parcels of the Amazon forest: cleared or not, seen by people and by a model that is of no use.

    Items: 1,596 rows, `item` alone.
    Ratings: 3,192 rows of criterion ``cleared``, 0 or 1: raters ``human`` and ``machine``, whose correlation is
    -0.05. Licence: MIT.

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
    return checked(items, ratings.assign(criterion=criterion, scale="0|1"))


# --- Chatbot Arena ----------------------------------------------------------------------------------------------


def load_cje_arena() -> Tables:
    """Chatbot Arena prompts answered by four policies: a judge's scores of all, a better model's of a few.

    Items: 4,000 rows: 1,000 prompts (`source`, `group`) answered under four policies (`system`): ``base``, and
    ``clone``, ``parallel_universe_prompt`` and ``unhelpful``.
    Ratings: 4,630 rows of criterion ``quality``, from 0 to 1: rater ``judge`` (4,000, GPT-4.1-nano) and rater
    ``oracle`` (GPT-5, no person): 480 of ``base``, 50 of each other policy: probes, to see whether the judge errs
    there as it does on ``base``. Licence: MIT.

    Landesberg and Narayan (2025), Causal Judge Evaluation, arXiv:2512.11150; prompts of Chiang et al. (2024), Chatbot
    Arena, ICML.
    """
    draws = {policy: cje_records(f"fresh_draws/{policy}_responses.jsonl") for policy in CJE_POLICIES}
    probes = {policy: cje_records(f"probe_slice/{policy}_probe.jsonl") for policy in CJE_POLICIES[1:]}
    items = [
        {
            "item": f"{record['prompt_id']}__{policy}", "source": record["prompt"], "output": record["response"],
            "group": record["prompt_id"], "system": policy,
        }
        for policy, records in draws.items()
        for record in records
    ]  # fmt: skip
    oracle = _policy_scores({**probes, "base": draws["base"]}, "oracle", "oracle_label")
    return checked(items, _policy_scores(draws, "judge", "judge_score") + oracle)


def cje_records(path: str) -> list[dict[str, Any]]:
    """The records of one file of the sample."""
    return [json.loads(line) for line in read_file("cje_arena", f"examples/arena_sample/{path}").splitlines()]


def _policy_scores(answers: dict[str, list[dict[str, Any]]], rater: str, field: str) -> list[dict[str, Any]]:
    shared = {"criterion": "quality", "rater": rater, "method": "sample", "scale": "0..1"}
    return [
        {**shared, "item": f"{record['prompt_id']}__{policy}", "score": record[field]}
        for policy, records in answers.items()
        for record in records
        if field in record
    ]


# --- two sets of the alternative annotator test -----------------------------------------------------------------


def load_lesion() -> Tables:
    """Lesion: five features of 100 skin images, rated by six students and four LLM judges.

    Items: 100 rows: `item`, the name of the image in the ISIC archive. The images are not part of the set.
    Ratings: 4,980 rows: criteria Asymmetry, Border, Color, Dermo and Blue, raters ``student_1`` to ``student_6`` (a
    few ratings are missing) and four judges, one number each. Licence: none stated.

    Cheplygina and Pluim (2018), Crowd disagreement about medical images is informative, LABELS; judges of Calderon,
    Reichart and Dror (2025), The Alternative Annotator Test, ACL.
    """
    rows = [(*key.rsplit("__", 1), *row) for key, *row in _annotations("lesion")]
    ratings = pd.DataFrame(rows, columns=["item", "criterion", "rater", "score", "method"])
    return checked({"item": ratings["item"].unique()}, ratings.assign(scale=ratings["criterion"].map(LESION_SCALES)))


def load_wax() -> Tables:
    """WAX: which of 17 relations holds between two words, given an explanation; a set of names, not numbers.

    Items: 246 rows: `cue`, `association`, `output` (the explanation), `group` (the cue; 159 of them).
    Ratings: 2,856 rows of criterion ``relation``: eight people (each item has five or six of them) and six judges.
    `label` is the name of the relation, `score` its place among the sorted names, counted from 0: a code, without
    order or distance, so that the scale is unknown. Licence: none stated.

    Liu, Cohn, De Deyne and Frermann (2022), WAX: A New Dataset for Word Association eXplanations, AACL; judges of
    Calderon, Reichart and Dror (2025), The Alternative Annotator Test, ACL.
    """
    ratings = pd.DataFrame(_annotations("wax"), columns=["item", "rater", "label", "method"])
    ratings = ratings.assign(criterion="relation", score=ratings["label"].astype("category").cat.codes)
    items = pd.DataFrame({"item": ratings["item"].unique()})
    items[["cue", "association", "output"]] = items["item"].str.split("__", expand=True)
    return checked(items.assign(group=items["cue"]), ratings)


def _annotations(name: str) -> list[tuple[str, str, Any, str]]:
    """Key, rater, label and method of each rating; a file of people and one of judges."""
    return [
        (key, rater, label, method)
        for file, method in {"human": "human", "llm": "sample"}.items()
        for rater, labels in json.loads(read_file("alt_test", f"data/{name}/{file}_annotations.json")).items()
        for key, label in labels.items()
    ]
