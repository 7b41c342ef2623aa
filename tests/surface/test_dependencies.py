"""What calib installs with it: licences that a company may use, versions that fit, none of those that are barred."""

import re
import tomllib
from email.message import Message
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
LICENCES = {
    *("MIT", "MIT-CMU", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Zlib", "CC0-1.0", "Unlicense"),
    *("Apache-2.0", "PSF-2.0", "Python-2.0", "CNRI-Python", "MPL-2.0"),
}
CLASSIFIERS = {
    *("MIT License", "BSD License", "ISC License (ISCL)", "Apache Software License", "The Unlicense (Unlicense)"),
    *("Python Software Foundation License", "Mozilla Public License 2.0 (MPL 2.0)"),
}


def barred(metadata: Message) -> str:
    """What of a distribution's licence is not on the lists; empty where all is."""
    found = {one.rpartition(" :: ")[2] for one in metadata.get_all("Classifier", ()) if one.startswith("License :: ")}
    expression = metadata.get("License-Expression") or ""
    if not expression and not found:  # the field, which may hold the whole text
        expression = (metadata.get("License") or "none").strip().splitlines()[0]
    if expression:
        found = {expression} if expression in CLASSIFIERS else set(re.findall(r"[^\s()]+", expression)) - {"AND", "OR"}
    other = found - LICENCES - CLASSIFIERS - {"OSI Approved"}
    return f"{metadata['Name']}: {', '.join(sorted(other))}" if other else ""


def installed(extra: str) -> dict[str, list[Requirement]]:
    """The distributions that calib brings with an extra, each with what asks for it."""
    asked: dict[str, list[Requirement]] = {}
    waiting, seen = [Requirement(f"calib-judge[{extra}]" if extra else "calib-judge")], set()
    while waiting:
        one = waiting.pop()
        asked.setdefault(one.name, []).append(one)
        for text in distribution(one.name).requires or ():
            next_one = Requirement(text)
            wanted = next_one.marker is None or any(next_one.marker.evaluate({"extra": e}) for e in one.extras or {""})
            if wanted and (one.name, text) not in seen:
                seen.add((one.name, text))
                waiting.append(next_one)
    return asked


@pytest.fixture(params=["", "all"])
def asked(request):
    try:
        return installed(request.param)
    except PackageNotFoundError as missing:
        pytest.skip(f"{missing}, which calib-judge[{request.param}] brings")


def test_licences_are_on_the_list(asked):
    assert [said for name in asked if (said := barred(distribution(name).metadata))] == []


def test_versions_fit_what_asks_for_them(asked):
    unfit = [
        str(one)
        for name, requirements in asked.items()
        for one in requirements
        if not one.specifier.contains(distribution(name).version, prereleases=True)
    ]
    assert unfit == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"License-Expression": "MIT AND (Apache-2.0 OR BSD-2-Clause)"}, ""),
        ({"License-Expression": "MIT OR GPL-3.0-only"}, "x: GPL-3.0-only"),
        ({"Classifier": "License :: OSI Approved :: GNU General Public License v3 (GPLv3)", "License": "MIT"},
         "x: GNU General Public License v3 (GPLv3)"),
        ({"License": "Proprietary"}, "x: Proprietary"),
        ({}, "x: none"),
    ],
)  # fmt: skip
def test_what_is_not_on_the_list_is_named(fields, said):
    metadata = Message()
    for name, value in {"Name": "x", **fields}.items():
        metadata[name] = value
    assert barred(metadata) == said


def test_the_releases_of_litellm_that_stole_keys_are_barred():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    litellm = next(one for one in map(Requirement, extras["litellm"]) if one.name == "litellm")
    assert not any(litellm.specifier.contains(version) for version in ("1.82.7", "1.82.8"))
