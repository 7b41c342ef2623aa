"""The planted defects are what they claim to be, and the same on every machine."""

import json
import re
from collections import defaultdict
from hashlib import blake2b
from itertools import combinations, count, pairwise, permutations
from statistics import mean

import pytest

from calib.datasets.planted import CRITERIA, SEVERITIES, Text, planted_rows, planted_texts

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
    return [output for system, output in text["outputs"].items() if system.partition("-")[0] in ("clean", kind)]


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
    outputs = list(text["outputs"].values())
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


# --- how the outputs were made ----------------------------------------------------------------------------------------

_DISORDER = {1: 0.27, 2: 0.55, 3: 0.87}  # share of the sentence pairs that stand in the wrong order
_SPOILED = {1: 0.12, 2: 0.25, 3: 0.45}  # share of the words that are hit
_NUMBER, _PLAIN_WORD = re.compile(r"\d+"), re.compile(r"(?!not\b)[a-z]{3,}[.,;]?")
_SLIPS = (
    {"a": "", "an": "", "the": "", "its": "it's", "he": "him", "she": "her", "they": "them", "who": "which"}
    | {"was": "were", "were": "was", "is": "are", "are": "is", "has": "have", "have": "has", "had": "haved"}
    | {"their": "there", "there": "their", "then": "than", "than": "then", "could": "can", "would": "will"}
)


def seed_of(*parts: object) -> int:
    """A 64-bit integer that depends on the parts alone."""
    key = "|".join(map(str, parts)).encode()
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big")


def inversions(order: tuple[int, ...]) -> int:
    """How many pairs of `order` stand in the wrong order."""
    return sum(a > b for a, b in combinations(order, 2))


def spoil_coherence(text: Text, severity: int) -> str:
    """The sentences in another order: about a quarter, half, seven eighths of their pairs are inverted."""
    size = len(text["sentences"])
    wanted = round(_DISORDER[severity] * size * (size - 1) / 2)
    orders = [order for order in permutations(range(size)) if inversions(order) == wanted]
    order = orders[seed_of(text["id"], "coherence", severity) % len(orders)]
    return " ".join(text["sentences"][index] for index in order)


def number_changes(text: Text) -> dict[str, str]:
    """A wrong value of similar size for each number of the summary, in the order of the summary."""
    used = {int(number) for number in _NUMBER.findall(text["source"])}
    changes: dict[str, str] = {}
    for number in map(int, dict.fromkeys(_NUMBER.findall(" ".join(text["sentences"])))):
        if number < 20:  # upwards, so that nothing becomes zero or a singular
            step = 2 if number < 10 else 3
        elif number < 32:  # downwards: it may be a day of the month
            step = -3
        elif 1500 <= number <= 2100:  # likely a year
            step = -6
        else:
            step = -round(number / 5)
        other = next(other for k in count(1) if (other := number + k * step) not in used)
        changes[str(number)] = str(other)
        used.add(other)
    return changes


def spoil_consistency(text: Text, severity: int) -> str:
    """The summary with wrong facts in right grammar: names change places, numbers are none of the source's.

    Severity 1: the first two names are exchanged (about a quarter of the facts are wrong); 2: half of the numbers
    are changed as well; 3: every name and number is wrong.
    """
    names = text["names"] if severity == 3 else text["names"][:2]
    numbers = list(number_changes(text).items())
    kept = {1: 0, 2: len(numbers) // 2, 3: len(numbers)}[severity]
    changes = dict(numbers[:kept])
    for one, other in zip(names[::2], names[1::2], strict=True):
        changes |= {one: other, other: one}
    # One pass over all of them, longest first: a second pass would swap the names back.
    pattern = "|".join(re.escape(old) for old in sorted(changes, key=len, reverse=True))
    return re.sub(rf"\b(?:{pattern})\b", lambda match: changes[match[0]], " ".join(text["sentences"]))


def spoil_fluency(text: Text, severity: int) -> str:
    """The summary with broken grammar and spelling; what is not in small letters is left alone.

    About 12, 25, 45 percent of the words are hit; those of a lower severity are among them.
    """
    words = " ".join(text["sentences"]).split()
    # in small letters and not very short; not "not": doubled, it might be read as a change of the facts
    plain = [place for place, word in enumerate(words) if word in _SLIPS or _PLAIN_WORD.fullmatch(word)]
    # Multiples of a Fibonacci number modulo the next but one fall evenly over the text.
    ranked = sorted(range(len(plain)), key=lambda rank: rank * 233 % 610)
    for rank in ranked[: round(_SPOILED[severity] * len(words))]:
        word = words[plain[rank]]
        core = word.rstrip(".,;")
        middle = len(core) // 2
        if core in _SLIPS:  # grammar; an article is lost altogether
            spoiled = _SLIPS[core]
        elif len(core) < 4:
            spoiled = f"{core} {core}"
        elif len(core) > 5 and core.endswith("ed") and not core.endswith("ied"):
            spoiled = core[:-2] + "ing"
        elif len(core) > 6 and core.endswith("ing"):
            spoiled = core[:-3] + "ed"
        elif len(core) % 2 or core[middle] == core[middle - 1]:
            spoiled = core[:middle] + core[middle + 1 :]
        else:
            spoiled = core[: middle - 1] + core[middle] + core[middle - 1] + core[middle + 1 :]
        words[plain[rank]] = spoiled + word[len(core) :]
    return " ".join(word for word in words if word)


def spoil_relevance(text: Text, severity: int) -> str:
    """What is left of the summary, in its own order, and then padding.

    Severity 1: one empty sentence is added; 2: the main point is lost and two are added; 3: only the two sentences
    with the fewest facts are left, and three are added.
    """
    sentences, facts = text["sentences"], [*text["names"], *number_changes(text)]
    kept = list(range(len(sentences)))[severity > 1 :]
    if severity == 3:
        weights = [sum(fact in sentence for fact in facts) for sentence in sentences]
        kept = sorted(sorted(kept, key=lambda index: weights[index])[:2])
    return " ".join([*(sentences[index] for index in kept), *text["padding"][:severity]])


def ladder(text: Text) -> list[tuple[str, int, str]]:
    """(kind, severity, output) of the clean summary and then for each planted defect."""
    clean = ("none", 0, " ".join(text["sentences"]))
    defects = zip(CRITERIA, (spoil_coherence, spoil_consistency, spoil_fluency, spoil_relevance), strict=True)
    return [clean, *((kind, level, spoil(text, level)) for kind, spoil in defects for level in SEVERITIES)]


@each_text
def test_the_outputs_are_those_that_the_rules_make(text):
    made = {f"{kind}-{severity}" if severity else "clean": output for kind, severity, output in ladder(text)}
    assert list(made.items()) == list(text["outputs"].items())
