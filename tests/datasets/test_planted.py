"""The planted defects are what they claim to be, and the same on every machine."""

import json
import re
from collections import defaultdict
from hashlib import blake2b
from itertools import pairwise
from statistics import mean

import pytest

from calib.datasets.planted import CRITERIA, SEVERITIES, Text, inversions, ladder, planted_rows, planted_texts

TEXTS = planted_texts()
ITEMS, RATINGS = planted_rows()
GOLDEN = "71db1c6fe24bed37889a407d6586a6b6"

each_text = pytest.mark.parametrize("text", TEXTS, ids=[text["id"] for text in TEXTS])


def numbers(prose: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", prose)


def words(prose: str) -> list[str]:
    return re.findall(r"[a-z']+", prose.lower())


def rungs(text: Text, kind: str) -> list[str]:
    """Return the clean output and the three of one kind, by severity."""
    return [output for defect, _, output in ladder(text) if defect in ("none", kind)]


def foreign_share(output: str, text: Text) -> float:
    """Return the share of the words that the source does not have."""
    known = set(words(text["source"]))
    return mean(word not in known for word in words(output))


def facts(output: str, text: Text) -> list[str]:
    """Return the names and numbers of an output in their order."""
    return re.findall("|".join([*map(re.escape, text["names"]), r"\d+"]), output)


def mean_scores() -> dict[tuple[str, int], dict[str, float]]:
    """Return the mean simulated rating of each criterion for each kind and severity."""
    item = {row["item"]: (row["defect"], row["severity"]) for row in ITEMS}
    scores: dict[tuple, dict[str, list]] = defaultdict(lambda: defaultdict(list))
    for row in RATINGS:
        scores[item[row["item"]]][row["criterion"]].append(row["score"])
    return {key: {name: mean(values) for name, values in by.items()} for key, by in scores.items()}


def rises(values: list[float]) -> bool:
    return all(low < high for low, high in pairwise(values))


def test_there_are_three_texts_in_each_of_eight_registers():
    registers = [text["register"] for text in TEXTS]
    assert len({text["id"] for text in TEXTS}) == 24
    assert {registers.count(register) for register in registers} == {3}
    assert len(set(registers)) == 8


@each_text
def test_lengths(text):
    assert 110 <= len(text["source"].split()) <= 170
    assert 60 <= len(" ".join(text["sentences"]).split()) <= 90
    assert len(text["sentences"]) == 6
    assert len(set(text["padding"])) == 3
    assert (text["source"] + "".join(text["sentences"] + text["padding"])).isascii()


@each_text
def test_the_summary_is_supported_by_the_source(text):
    summary = " ".join(text["sentences"])
    assert len(numbers(text["source"])) >= 4
    assert set(numbers(summary)) <= set(numbers(text["source"]))
    assert len(numbers(summary)) >= 4
    assert foreign_share(summary, text) < 0.25


@each_text
def test_names_come_in_pairs_and_stand_in_source_and_summary(text):
    assert len(text["names"]) == len(set(text["names"])) == 4
    for name in text["names"]:
        assert name in text["source"]
        assert " ".join(text["sentences"]).count(name) == 1


@each_text
def test_padding_states_no_fact(text):
    padding = " ".join(text["padding"])
    assert not facts(padding, text)
    assert foreign_share(padding, text) > 0.5


@each_text
def test_a_ladder_has_thirteen_distinct_outputs(text):
    outputs = [output for _, _, output in ladder(text)]
    assert len(outputs) == len(set(outputs)) == 13
    assert not any("  " in output for output in outputs)


@each_text
def test_disorder_rises_and_no_sentence_is_lost(text):
    disorder = []
    for output in rungs(text, "coherence"):
        places = [output.find(sentence) for sentence in text["sentences"]]
        assert -1 not in places
        assert len(output) == len(" ".join(text["sentences"]))
        disorder.append(inversions(tuple(places)))
    assert disorder == [0, 4, 8, 13]


@each_text
def test_wrong_facts_rise_to_all_of_them(text):
    clean, *spoiled = (facts(output, text) for output in rungs(text, "consistency"))
    wrong = [sum(a != b for a, b in zip(clean, output, strict=True)) for output in spoiled]
    assert rises([0, *wrong])
    assert wrong[0] / len(clean) == pytest.approx(0.25, abs=0.1)
    assert wrong[1] / len(clean) == pytest.approx(0.5, abs=0.15)
    assert wrong[2] == len(clean)


@each_text
def test_wrong_facts_leave_the_rest_alone(text):
    pattern = "|".join([*map(re.escape, text["names"]), r"\d+"])
    assert len({re.sub(pattern, "#", output) for output in rungs(text, "consistency")}) == 1
    changed = numbers(rungs(text, "consistency")[3])
    assert not set(changed) & set(numbers(text["source"]))
    assert "0" not in changed and "1" not in changed


@each_text
def test_broken_words_rise_and_facts_stay(text):
    outputs = rungs(text, "fluency")
    assert rises([foreign_share(output, text) for output in outputs])
    assert {tuple(facts(output, text)) for output in outputs} == {tuple(facts(outputs[0], text))}


@each_text
def test_support_by_the_source_falls_with_lost_relevance(text):
    assert rises([foreign_share(output, text) for output in rungs(text, "relevance")])


@each_text
def test_relevance_drops_the_main_point_and_keeps_the_order(text):
    _, first, second, third = rungs(text, "relevance")
    main, *rest = text["sentences"]
    assert main in first and main not in second and main not in third
    assert all(sentence in second for sentence in rest)
    kept = [third.find(sentence) for sentence in rest if sentence in third]
    assert len(kept) == 2 and kept == sorted(kept)
    assert all(sentence in third for sentence in text["padding"])


def test_row_counts_and_columns():
    assert len(ITEMS) == 24 * 13
    assert len(RATINGS) == 24 * 13 * 4 * 3
    assert len({(row["item"], row["criterion"], row["rater"]) for row in RATINGS}) == len(RATINGS)
    assert {row["item"] for row in RATINGS} == {row["item"] for row in ITEMS}
    columns = {"item", "source", "output", "group", "system", "register", "defect", "severity"}
    assert all(set(row) == columns for row in ITEMS)


def test_item_names():
    names = [row["item"] for row in ITEMS if row["group"] == "story-clock"]
    assert names[:2] == ["story-clock/clean", "story-clock/coherence-1"]
    assert names[-1] == "story-clock/relevance-3"


def test_every_score_of_the_scale_is_used_and_no_other():
    assert {row["score"] for row in RATINGS} == {1, 2, 3, 4, 5}


def test_raters_differ_by_their_bias():
    scores = defaultdict(list)
    for row in RATINGS:
        scores[row["rater"]].append(row["score"])
    assert rises([mean(scores[f"simulated-{number}"]) for number in (1, 2, 3)])


@pytest.mark.parametrize("kind", CRITERIA)
def test_ratings_of_the_spoiled_criterion_fall_with_severity(kind):
    scores = mean_scores()
    ladder_means = [scores["none", 0][kind], *(scores[kind, severity][kind] for severity in SEVERITIES)]
    assert rises(ladder_means[::-1])


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("kind", CRITERIA)
def test_a_defect_moves_its_own_criterion_most(kind, severity):
    scores = mean_scores()
    drops = {name: scores["none", 0][name] - scores[kind, severity][name] for name in CRITERIA}
    own = drops.pop(kind)
    assert own > max(drops.values()) + 0.5


def test_the_same_on_every_call_and_machine():
    assert planted_rows.__wrapped__() == (ITEMS, RATINGS)
    whole = json.dumps([ITEMS, RATINGS], sort_keys=True).encode()
    assert blake2b(whole, digest_size=16).hexdigest() == GOLDEN
