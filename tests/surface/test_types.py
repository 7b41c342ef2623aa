"""Arguments of a wrong type: every keyword of every verb, and every option, refuses them in words."""

import inspect
import re
import warnings
from functools import cache
from itertools import product
from typing import get_type_hints

import pandas as pd
import pytest
from typer.models import ArgumentInfo

import calib
from calib import cli, stats
from calib.console.command import built
from calib.console.program import commands
from calib.core.check import ArgumentError
from calib.inputs.names import Columns

WRONG = {
    "text": "nonsense", "none": None, "number": -7.5, "flag": True, "list": [1, "x"], "object": object(),
    "frame": pd.DataFrame({"a": [1]}),
}  # fmt: skip
NEEDS = {
    "interval": ("scores", "gold"), "difference": ("scores", "human", "clean", "coherence-1"),
    "agreement": ("scores", "human"), "compare": ("scores", "other", "human"), "rank_judges": ("two", "human"),
    "reliability": ("raters", "scores"), "alternative_annotator_test": ("scores", "raters"),
    "convergence": ("sampled", "scores"), "variance_components": ("sampled",), "temperature_curve": ("ratings",),
    "sensitivity": ("asked", "items"), "prompt_mean": ("several",), "choose": ("scores", 10),
    "labels_needed": ("scores", "gold"), "will_it_help": ("scores", "gold"), "plan": ("scores", "gold"),
    "transport_test": ("scores", "human"), "label": ("items", "scores"), "summarize": ("ratings", "items"),
    "scores_from": ("own",), "profile": ("ratings", "human"), "report": ("results",),
    "rate": ("items", "prompt", "judge"), "geval_prompt": ("coherence",), "Judge": ("offline",),
}  # fmt: skip
# without these the verb has nothing to do
GIVEN = {"labels_needed": {"half_width": 0.3}, "plan": {"prices": {"label": 1.0, "judge": 0.1}, "budget": 50}}
GIVEN |= {"label": {"path": "label.html", "scale": "1|2|3|4|5"}}
# a name is as good as a column's; what is wrong with a scale is told beside the rest
FREE = ("rater", "criterion", "scale")
# of one rule with another argument, which the message names, or by the name that it has now
ALSO = {"method": ("estimator", "design", "coefficient"), "judges": ("ratings",)}


@cache
def tables() -> dict[str, object]:
    items, people = calib.load_planted()
    items = items[items["group"].isin(sorted(set(items["group"]))[:12])]
    people = people[people["item"].isin(items["item"]) & (people["criterion"] == "coherence")]
    prompt, judge = calib.geval_prompt("coherence"), calib.Judge("offline", method="logprob")
    draws = calib.Judge("offline", method="sample", draws=2)
    ratings = calib.rate(items, prompt, judge, progress=False)
    asked = calib.rate(items, prompt.variants(3), draws, progress=False)
    scores, human = calib.summarize(ratings, items), calib.summarize(people, items, pool="rater")
    other = scores.assign(rater="other", score=scores["score"].to_numpy()[::-1])
    return {
        "items": items, "people": people, "prompt": prompt, "judge": judge, "ratings": ratings, "scores": scores,
        "human": human, "other": other, "two": pd.concat([scores, other], ignore_index=True), "asked": asked,
        "gold": human.sample(20, random_state=1), "raters": calib.summarize(people, items),
        "sampled": calib.rate(items, prompt, draws, progress=False), "several": calib.summarize(asked, items),
        "own": pd.DataFrame({"item": ["a", "b"], "score": [4, 2]}), "results": calib.conclusions(calib.profile(scores)),
    }  # fmt: skip


def keywords(verb: str) -> list[str]:
    function = getattr(calib, verb)
    found = inspect.signature(function).parameters.values()
    named = (one for one in found if one.kind is one.KEYWORD_ONLY or isinstance(function, type))
    return [one.name for one in named if one.name != "model"]


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "name"), [(verb, name) for verb in NEEDS for name in keywords(verb)])
def test_an_argument_of_a_wrong_type_is_refused_by_its_name(verb, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a text is a store's name
    function, refused = getattr(calib, verb), []
    given = [tables().get(thing, thing) if isinstance(thing, str) else thing for thing in NEEDS[verb]]
    for kind, wrong in WRONG.items():
        options = GIVEN.get(verb, {}) | ({"progress": False} if verb == "rate" else {}) | {name: wrong}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function(*given, **options)
            except (
                ValueError,
                TypeError,
                FileNotFoundError,
            ) as error:  # one of numpy or pandas knows no argument of ours
                told = (name, *ALSO.get(name, ()))
                assert any(f"`{word}`" in str(error) for word in told), f"{kind}: {error}"
                refused.append(kind)
    # a frame, an object and a list of two kinds fit nothing but an argument that takes tables
    assert refused or name == "human"
    if name != "human":
        assert {"object", "frame", "list"} <= set(refused)


@pytest.mark.parametrize("word", get_type_hints(Columns))
def test_a_word_for_columns_of_a_wrong_type_is_refused_by_its_name(word):
    own = {"item": ["a", "b"], "gpt-4o": [4, 2], "label": [5, 1]}
    for wrong in ("nonsense", -7.5, True, [1, "x"], object(), WRONG["frame"]):
        if isinstance(wrong, str) and word in FREE:
            continue
        with pytest.raises(ValueError, match=f"`{word}` "):
            calib.look(own, **{word: wrong})


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: calib.difference(tables()["scores"], tables()["human"], ["clean"]), "`a` must be a text or None"),
        (lambda: calib.difference(tables()["scores"], tables()["human"], "clean", 0.5), "`b` must be a text or texts"),
        (lambda: calib.rate(tables()["items"], "fluency", tables()["judge"]), "`prompt` must be .* but got 'fluency'"),
        (lambda: calib.report("text", 5), "`path` must be a path or None"),
        (lambda: calib.report(5), "`results` must hold results"),
        (lambda: calib.rate(tables()["items"], ["x"], tables()["judge"]), "`prompt` must be a calib.Prompt or several"),
        (lambda: calib.look({"id": [1], "score": [1]}, scale=[1, 2]), r"`scale` must read '1\|2\|3', .* \[1, 2\]"),
        (lambda: calib.conclusions("x"), "`results` must be Results"),
    ],
)
def test_what_has_a_place_is_refused_by_its_name_too(call, told):
    with pytest.raises((ValueError, TypeError), match=told):
        call()


@pytest.mark.parametrize("wrong", ["x", None, [0.9], object(), True])
def test_a_confidence_level_of_a_wrong_type_is_refused_on_arrays_too(wrong):
    with pytest.raises(ArgumentError, match="`confidence_level` must be between 0 and 1, but got "):
        stats.mean_interval([1.0, 2.0, 3.0], confidence_level=wrong)


def test_what_is_nearly_of_the_type_is_taken():
    import numpy as np

    scores, gold = tables()["scores"], tables()["gold"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = calib.interval(scores, gold).one()
        near = calib.interval(scores, gold, confidence_level=np.float64(0.95), min_labels=np.int64(10), null=None)
    assert near.one().interval == plain.interval


LINES = {
    "agreement": "scores.csv human.csv", "compare": "scores.csv other.csv human.csv",
    "reliability": "raters.csv scores.csv", "convergence": "sampled.csv scores.csv",
    "sensitivity": "asked.csv --items items.csv", "interval": "scores.csv gold.csv",
    "difference": "scores.csv human.csv clean coherence-1", "choose": "scores.csv 10 --out chosen.csv",
    "label": "scores.csv items.csv --out label.html",
    "plan": "scores.csv gold.csv --price-label 1 --price-judge .1 --budget 50",
    "rate": "items.csv --criterion coherence --model offline --out ratings-2.csv", "summarize": "ratings.csv",
    "report": "scores.csv gold.csv --out page.md", "data": "planted --out .",
}  # fmt: skip
# a model's name is for its provider to refuse, in words of its own
ANYTHING = ("model",)


def options_of(command: str) -> list[str]:
    shown = built(commands()[command]).__signature__.parameters
    notes = {name: getattr(one.annotation, "__metadata__", ()) for name, one in shown.items()}
    return [name for name, note in notes.items() if not any(isinstance(one, ArgumentInfo) for one in note)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("command", LINES)
def test_the_shell_speaks_of_options(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, table in tables().items():
        if isinstance(table, pd.DataFrame):
            calib.table.write(table, f"{name}.csv")

    def run(*words: str) -> tuple[object, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main([command, *LINES[command].split(), *words])
        return ended.value.code, capsys.readouterr().err

    assert run()[0] == 0
    options = options_of(command)
    for name, wrong in product(options, ("nonsense", "3,4", "-7")):
        code, said = run(f"--{name.replace('_', '-')}", wrong)
        if code == 0 or name in ANYTHING:
            continue
        assert code in (1, 2)
        line = said.splitlines()[-1]
        assert line.startswith("calib: "), said
        words = {word.partition("=")[0] for word in re.findall(r"`([^`]+)`", line)}
        assert not words & {*options, "judge", "labels"}, line
        assert not [word for word in words if "." in word or "(" in word], line
