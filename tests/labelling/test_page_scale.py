"""On one page the same words have the same values, and a long scale of the judge is asked for, not taken."""

import numpy as np
import pandas as pd
import pytest

import calib

ITEMS = pd.DataFrame({"id": [f"q{k}" for k in range(20)], "output": [f"answer {k}" for k in range(20)]})
WORDS = "awful|poor|fair|good|great"


def drawn(scale, criterion="coherence"):
    scores = np.resize([1, 2, 5], 20)
    return calib.choose(
        calib.scores_from(ITEMS.assign(score=scores), item="id", criterion=criterion, rater="j", scale=scale), 20
    )


def test_words_have_the_values_of_the_judge_for_all_criteria_of_a_page(tmp_path):
    asked = {"criteria": ["coherence", "fluency", "tone"], "scale": WORDS, "path": tmp_path / "page.html"}
    calib.label(ITEMS, drawn("1|2|3|4|5"), **asked)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "1|2|3|4|5" in text
    assert "0|1|2|3|4" not in text


@pytest.mark.filterwarnings("ignore:other_scale")
def test_the_same_words_with_other_values_are_refused(tmp_path):
    both = {"coherence": "poor=1|good=2", "fluency": "poor=0|good=1"}
    with pytest.raises(
        calib.ArgumentError, match=r"`scale` must give the same words the same values, but makes poor=1"
    ):
        calib.label(ITEMS, drawn("1|2|3|4|5"), criteria=list(both), scale=both, path=tmp_path / "page.html")


@pytest.mark.parametrize("scale", ["|".join(map(str, range(1, 11))), "0..100"])
def test_a_long_scale_of_the_judge_is_asked_for(tmp_path, scale):
    with pytest.raises(calib.ArgumentError, match=r"`scale` must be given for 'coherence'.*the judge's scores are on"):
        calib.label(ITEMS, drawn(scale), path=tmp_path / "page.html")
    with pytest.warns(UserWarning, match="other_scale"):
        calib.label(ITEMS, drawn(scale), scale="1|2|3|4|5", path=tmp_path / "page.html")
    assert calib.label(ITEMS, drawn(scale), scale=scale, path=tmp_path / "own.html").n_items == 20
