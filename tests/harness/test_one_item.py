"""What is refused, and one item's reading against the table's; needs no harness."""

import json
import math
import subprocess
import sys

import pytest
from harness_judges import OFFLINE, PROMPT, SAMPLED, SECRET, by_turns, fails, said, unreadable

import calib
from calib.adapters.harness import to_deepeval_metric, to_inspect_scorer, to_opik_metric
from calib.adapters.session import JudgeSession

ALL = pytest.mark.parametrize("made", [to_inspect_scorer, to_deepeval_metric, to_opik_metric])
TEXTS = {"source": "The boat sank at noon.", "output": "A boat sank."}


@ALL
def test_pairs_are_refused(made):
    pairwise = calib.Prompt.pairwise("The clearer text.")
    with pytest.raises(ValueError, match=r"`prompt` must ask about one output"):
        made(pairwise, OFFLINE)


@ALL
def test_what_each_item_would_settle_anew_is_refused(made):
    with pytest.raises(ValueError, match=r"`prompt` must have its steps.*calib.write_steps"):
        made(calib.Prompt.from_criteria("clarity", "The text is clear."), OFFLINE)
    with pytest.raises(ValueError, match=r"`judge` must have method='logprob'"):
        made(PROMPT, calib.Judge("openai/gpt-4o-mini"))


@ALL
def test_other_things_than_prompt_and_judge_are_refused(made):
    with pytest.raises(TypeError, match="prompt"):
        made("coherence", OFFLINE)
    with pytest.raises(TypeError, match="judge"):
        made(PROMPT, "offline")


@pytest.mark.slow
def test_the_numbers_are_those_of_the_tables(items, expected):
    read = JudgeSession(PROMPT, OFFLINE, None, None).read
    for row in items.to_dict("records"):
        reading, want = read(row), expected.loc[row["item"]]
        assert reading.score == want["score"]
        assert {name: reading.details[name] for name in ("entropy", "sd", "mass", "low", "high", "n", "n_unread")} == {
            name: want[name] for name in ("entropy", "sd", "mass", "low", "high", "n", "n_unread")
        }
        assert sum(reading.details["distribution"].values()) == pytest.approx(want["mass"])
        assert json.loads(json.dumps(reading.details, allow_nan=False)) == reading.details


def test_draws_that_cannot_be_read_are_counted_and_leave_their_mass_out():
    reading = JudgeSession(PROMPT, SAMPLED, None, by_turns()).read(TEXTS)
    assert (reading.score, reading.details["n"], reading.details["n_unread"]) == (3.0, 2, 1)
    assert reading.details["distribution"] == pytest.approx({"1": 0, "2": 1 / 3, "3": 0, "4": 1 / 3, "5": 0})
    assert reading.details["mass"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(("complete", "status"), [(fails, "failed"), (unreadable, "unread")])
def test_nothing_read_is_no_score_and_holds_no_key(complete, status):
    reading = JudgeSession(PROMPT, SAMPLED, None, complete).read(TEXTS)
    assert math.isnan(reading.score)
    assert reading.details["status"] == status
    assert status in reading.words
    assert SECRET not in str(reading)
    json.dumps(reading.details, allow_nan=False)


def test_an_endpoint_with_a_key_is_in_no_detail():
    judge = calib.Judge("m", method="sample", draws=1, base_url=f"https://me:{SECRET}@host/v1?key={SECRET}")
    assert SECRET not in str(JudgeSession(PROMPT, judge, None, by_turns()).read(TEXTS))


def test_words_of_a_scale_are_its_labels():
    prompt = calib.geval_prompt("fluency", scale="poor=0|fair=1|good=2")
    reading = JudgeSession(prompt, SAMPLED, None, lambda _request: said("good")).read(TEXTS)
    assert reading.details["distribution"] == {"poor": 0.0, "fair": 0.0, "good": 1.0}
    assert reading.score == 2.0


def test_a_column_that_the_sample_lacks_is_named():
    prompt = calib.geval_prompt("fluency", inputs=("reference", "output"))
    with pytest.raises(ValueError, match=r"`prompt` shows 'reference', which this sample does not have"):
        JudgeSession(prompt, OFFLINE, None, None).read(TEXTS)


def test_with_a_store_nothing_is_asked_twice(tmp_path):
    first = JudgeSession(PROMPT, SAMPLED, tmp_path / "replies.sqlite", one := by_turns()).read(TEXTS)
    assert JudgeSession(PROMPT, SAMPLED, tmp_path / "replies.sqlite", one).read(TEXTS) == first


@pytest.mark.parametrize(
    ("made", "package"), [(to_inspect_scorer, "inspect_ai"), (to_deepeval_metric, "deepeval"), (to_opik_metric, "opik")]
)
def test_a_harness_that_is_not_there_is_asked_for(made, package, monkeypatch):
    for name in [one for one in sys.modules if one.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    extra = package.partition("_")[0]
    with pytest.raises(ImportError, match=rf"{package}.*pip install 'calib-judge\[{extra}\]'"):
        made(PROMPT, OFFLINE)


@pytest.mark.slow
def test_no_harness_is_loaded_before_it_is_called():
    code = "import calib.adapters.harness, sys"
    code += "; print({'inspect_ai', 'deepeval', 'opik', 'anyio'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "set()"
