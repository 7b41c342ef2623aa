"""On one page the same words have the same values, and a long scale of the judge is asked for, not taken."""

import numpy as np
import pandas as pd
import pytest
from page_data import page_data

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
    with pytest.raises(calib.ArgumentError, match=r"`scale` must say .* label 'coherence'.*the judge's scores are on"):
        calib.label(ITEMS, drawn(scale), path=tmp_path / "page.html")
    with pytest.warns(UserWarning, match="other_scale"):
        calib.label(ITEMS, drawn(scale), scale="1|2|3|4|5", path=tmp_path / "page.html")
    assert calib.label(ITEMS, drawn(scale), scale=scale, path=tmp_path / "own.html").n_items == 20


def test_a_scale_that_choose_guessed_is_asked_for_with_the_values_that_the_judge_used(tmp_path):
    data = pd.DataFrame({"id": range(20), "output": map("text {}".format, range(20)), "judge": [1, 2, 4, 5] * 5})
    guessed, stated = calib.choose(data, 10, rng=1), calib.choose(data, 10, rng=1, scale="1|2|3|4|5")
    assert set(guessed["scale"]) == {""}
    rule = r"such as `scale` '1\|2\|3\|4\|5' .*; the judge used 1, 2, 4, 5, and no scale is stated"
    with pytest.raises(calib.ArgumentError, match=rule):
        calib.label(data, guessed, path=tmp_path / "page.html")
    for drawn, scale in ((guessed, "1|2|3|4|5"), (stated, None)):
        assert calib.label(data, drawn, scale=scale, path=tmp_path / "page.html").n_items == 10
    chosen = stated.loc[stated["chosen"], ["item", "score"]]
    labels = calib.scores_from(chosen.reset_index(), scale="1|2|3|4|5")
    one, other = (calib.interval(drawn, labels).one() for drawn in (guessed, stated))
    assert one.interval == other.interval


def test_words_take_the_values_that_the_judge_used_where_its_scale_is_not_stated(tmp_path):
    data = pd.DataFrame({"id": range(20), "output": map("text {}".format, range(20)), "judge": [1, 2, 4, 5] * 5})
    path = tmp_path / "page.html"
    calib.label(data, calib.choose(data, 10, rng=1), scale="bad|poor|fair|good|great", path=path)
    assert [one["scale"] for one in page_data(path)["criteria"]] == ["1|2|3|4|5"]
