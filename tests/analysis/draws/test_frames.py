"""Draws, probabilities and chains on tables: each verb says what `calib.stats` says of arrays put together by hand."""

import math

import numpy as np
import pandas as pd
import pytest

import calib
from calib import stats
from calib.table import TableError

NAN = math.nan
FIVE = "1|2|3|4|5"
LEVELS = np.arange(1.0, 6.0)
RNG = np.random.default_rng(11)
P = RNG.dirichlet(np.ones(5), 30)
X = np.stack([RNG.choice(LEVELS, 6, p=row) for row in P])
HUMAN = np.clip(np.round(P @ LEVELS + RNG.normal(0, 0.7, 30)), 1, 5)
ITEMS = [f"i{k}" for k in range(30)]
OWNERS = [f"g{k // 3}" for k in range(30)]


def sampled(x=X, **columns):
    item, draw = (place.ravel() for place in np.indices(x.shape))
    frame = pd.DataFrame({"item": [f"i{i}" for i in item], "draw": draw, "score": x.ravel()})
    known = {"criterion": "fluency", "rater": "judge", "prompt": "p", "method": "sample", "temperature": 1.0}
    return frame.assign(**known | {"scale": FIVE} | columns)


def told(p=P, **columns):
    """Token probabilities; a tenth of the mass is not on the scale."""
    item, level = (place.ravel() for place in np.indices(p.shape))
    frame = pd.DataFrame({"item": [f"i{i}" for i in item], "score": LEVELS[level], "weight": 0.9 * p.ravel()})
    known = {"criterion": "fluency", "rater": "judge", "prompt": "p", "method": "logprob", "temperature": 1.0}
    return frame.assign(**known | {"scale": FIVE} | columns)


def people(labels=HUMAN, **columns):
    frame = pd.DataFrame({"item": [f"i{k}" for k in range(len(labels))], "score": labels})
    return frame.assign(**{"criterion": "fluency", "rater": "ann", "scale": FIVE} | columns)


def same(found, wanted):
    """As text, in which NaN equals itself, and number by number."""
    assert repr(found) == repr(wanted)
    pd.testing.assert_frame_equal(found.to_frame(), wanted.to_frame(), check_exact=True)


def close(found, wanted):
    """Up to rounding: weights are summed in another order."""
    assert type(found) is type(wanted)
    pd.testing.assert_frame_equal(found.to_frame(), wanted.to_frame(), rtol=1e-9)


def said(error, verb, *args, **options):
    with pytest.raises(error) as caught:
        verb(*args, **options)
    return str(caught.value)


QUIET = pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")


# --- variance components ----------------------------------------------------------------------------------------


def test_components_of_draws_and_of_probabilities():
    results = calib.variance_components(pd.concat([sampled(), told()]))
    assert [label["method"] for label in results.labels] == ["sample", "logprob"]
    same(results[0], stats.variance_components(X))
    mean = P @ LEVELS
    close(results[1], stats.variance_components(mean, P @ LEVELS**2 - mean**2))
    assert results[0].n_draws == pytest.approx(6)
    same(
        calib.variance_components(sampled(), confidence_level=0.8).one(),
        stats.variance_components(X, confidence_level=0.8),
    )


def test_each_prompt_and_temperature_is_a_result():
    parts = {("p", 1.0): X, ("q", 1.0): X[::-1], ("p", 0.5): X[:, ::2]}
    table = pd.concat([sampled(x, prompt=prompt, temperature=tau) for (prompt, tau), x in parts.items()])
    results = calib.variance_components(pd.concat([table, people(method="human")]))
    assert [(label["prompt"], label["temperature"]) for label in results.labels] == list(parts)
    for result, x in zip(results, parts.values(), strict=True):
        same(result, stats.variance_components(x))


def test_unread_draws_and_several_runs():
    x = X.copy()
    x[0, 0] = x[4, :5] = x[9] = NAN
    found = calib.variance_components(sampled(x)).one()
    same(found, stats.variance_components(x))
    assert (found.n, found.n_unread) == (29, 6)
    two = pd.concat([sampled(X[:, :2], run="b"), sampled(X[:, 2:], run="a")])
    close(calib.variance_components(two).one(), stats.variance_components(X))


@pytest.mark.parametrize("kind", ["category", "string", "int"])
def test_ids_of_any_kind_in_any_order(kind):
    mixed = sampled().sample(frac=1, random_state=1)
    mixed["item"] = mixed["item"].str[1:].astype(int) if kind == "int" else mixed["item"].astype(kind)
    close(calib.variance_components(mixed).one(), stats.variance_components(X))


# --- which number to read ---------------------------------------------------------------------------------------


def test_what_reading_refuses():
    wanted = "must hold draws (method 'sample') or probabilities ('logprob', 'chain')"
    assert wanted in said(TableError, calib.variance_components, people())
    text = said(ValueError, calib.variance_components, sampled(np.full((4, 2), NAN)))
    assert text.startswith("fluency, judge, p, sample: ")


@pytest.mark.parametrize("verb", [
    calib.variance_components,
    calib.temperature_curve,
    lambda scores: calib.convergence(scores.assign(method="sample")),
])  # fmt: skip
def test_scores_are_no_ratings(verb):
    # as draws without any spread they would say that the judge is sure
    assert "must be ratings" in said(TableError, verb, calib.summarize(told()))


# --- temperature ------------------------------------------------------------------------------------------------


def test_temperature_curve_is_that_of_the_probabilities():
    table = pd.concat([sampled(), told(), told(P[::-1], prompt="q")])
    results = calib.temperature_curve(table, taus=[0.5, 1, 2])
    assert [label["prompt"] for label in results.labels] == ["p", "q"]
    close(results[0], stats.temperature_curve(P, LEVELS, taus=[0.5, 1, 2]))
    assert "must hold token probabilities (method 'logprob')" in said(TableError, calib.temperature_curve, sampled())


# --- samples against probabilities ------------------------------------------------------------------------------


def test_convergence_takes_the_draws_as_they_are():
    exact = calib.summarize(told())
    found = calib.convergence(sampled(), exact, labels=people(group=OWNERS), rng=1, n_subsets=20)
    wanted = stats.convergence(X, exact=exact["score"], labels=HUMAN, groups=OWNERS, rng=1, n_subsets=20)
    close(found.one(), wanted)
    alone = calib.convergence(sampled(), rng=1, n_subsets=20, confidence_level=0.8, sizes=[1, 3]).one()
    close(alone, stats.convergence(X, rng=1, n_subsets=20, confidence_level=0.8, sizes=[1, 3]))
    assert "`groups` must be a column of `items`, `exact` or `labels`" in said(
        TableError, calib.convergence, sampled(), groups="topic"
    )
    assert said(ValueError, calib.convergence, sampled(), sizes=[9]).startswith("fluency, judge, p, sample: ")


# --- files ------------------------------------------------------------------------------------------------------


def own(x=X, labels=HUMAN):
    """A user's file: a row for each draw, and the label of its item in each of its rows."""
    item, _ = (place.ravel() for place in np.indices(x.shape))
    frame = pd.DataFrame({"id": [f"i{i}" for i in item], "doc": [OWNERS[i] for i in item], "score": x.ravel()})
    return frame if labels is None else frame.assign(human=labels[item])


def test_a_path_to_ratings_is_the_same_as_the_frame(tmp_path):
    table = pd.concat([sampled(), told()])
    path = calib.table.write(table, tmp_path / "ratings.csv")
    close(calib.variance_components(path), calib.variance_components(table))
    close(calib.temperature_curve(path), calib.temperature_curve(told()))
    exact = calib.table.write(calib.summarize(told()), tmp_path / "exact.csv")
    labels = calib.table.write(people(group=OWNERS), tmp_path / "labels.csv")
    options = {"rng": 1, "n_subsets": 20}
    wanted = calib.convergence(sampled(), calib.summarize(told()), labels=people(group=OWNERS), **options)
    close(calib.convergence(path, exact, labels=labels, **options), wanted)


def test_each_row_of_an_own_file_is_a_draw_and_so_is_each_column_of_scores(tmp_path):
    path = tmp_path / "own.csv"
    own().to_csv(path, index=False)
    wide = pd.DataFrame({"id": ITEMS, **{f"r{k}": column for k, column in enumerate(X.T)}})
    for mine in (path, own(labels=None), wide):
        close(calib.variance_components(mine).one(), stats.variance_components(X))
    assert calib.variance_components(wide, judge=["r0", "r1"]).one().n_draws == 2


def test_labels_of_an_own_file_stand_beside_its_draws(tmp_path):
    path = tmp_path / "own.csv"
    own().to_csv(path, index=False)
    options = {"rng": 1, "n_subsets": 20}
    wanted = stats.convergence(X, labels=HUMAN, groups=OWNERS, **options)
    close(calib.convergence(path, group="doc", **options).one(), wanted)
    close(calib.convergence(path, groups="doc", group="doc", **options).one(), wanted)
    close(
        calib.convergence(path, group="doc", groups=None, **options).one(),
        stats.convergence(X, labels=HUMAN, **options),
    )
    # in files of their own, of which each word names a column where there is one
    mine = pd.DataFrame({"id": ITEMS, "mark": HUMAN})
    exact = pd.DataFrame({"id": ITEMS, "score": P @ LEVELS})
    found = calib.convergence(own(labels=None), exact, labels=mine, label="mark", group="doc", **options).one()
    close(found, stats.convergence(X, exact=P @ LEVELS, labels=HUMAN, groups=OWNERS, **options))


def test_items_say_what_is_shared():
    items = pd.DataFrame({"item": ITEMS, "group": OWNERS})
    found = calib.convergence(sampled(), items=items, rng=1, n_subsets=20).one()
    close(found, stats.convergence(X, groups=OWNERS, rng=1, n_subsets=20))


def test_labels_of_several_people_are_pooled():
    two = pd.concat([people(method="human"), people(HUMAN[::-1], rater="bob", method="human")])
    found = calib.convergence(sampled(), labels=two, rng=1, n_subsets=20).one()
    close(found, stats.convergence(X, labels=(HUMAN + HUMAN[::-1]) / 2, rng=1, n_subsets=20))


def test_labels_as_they_came_back_from_a_page(tmp_path):
    head = "item,criterion,rater,scale,method,score,status,seconds,time,comment,position,swapped,page"
    rows = [f"i{k},fluency,ann,{FIVE},human,{label:g},ok,9,,,,,3e90d600b322" for k, label in enumerate(HUMAN)]
    path = tmp_path / "labels.csv"
    path.write_text("\n".join([head, *rows]), encoding="utf-8")
    wanted = stats.convergence(X, labels=HUMAN, rng=1, n_subsets=20)
    for labels in (path, calib.read_labels(path)):
        close(calib.convergence(sampled(), labels=labels, rng=1, n_subsets=20).one(), wanted)


@pytest.mark.parametrize("verb", [calib.variance_components, calib.temperature_curve, calib.convergence])
def test_what_is_wrong_in_a_file_is_said_of_its_path(verb, tmp_path):
    argument = "sampled" if verb is calib.convergence else "ratings"
    assert f"`{argument}`: there is no file" in said(FileNotFoundError, verb, tmp_path / "none.csv")
    path = tmp_path / "bad.csv"
    told().assign(score=9.0).to_csv(path, index=False)
    assert said(TableError, verb, path).startswith(f"{path}: ratings: column `score`, row 0: must lie on the scale")
    with pytest.raises(TableError, match="`item` must name the column of ids"):
        verb({"grade": [1.0, 2.0], "other": [3.0, 3.0]})
    assert f"`{argument}` must be one table" in said(ValueError, verb, iter([told()]))


def test_words_for_columns_are_of_files_of_your_own():
    assert "`item` describes your own file" in said(ValueError, calib.variance_components, sampled(), item="item")
    assert "must hold token probabilities (method 'logprob')" in said(TableError, calib.temperature_curve, own())


# --- chains -----------------------------------------------------------------------------------------------------


def chains(kind=str):
    """Three chains of 12 items, each with probabilities of its own; the last item has two."""
    p = np.random.default_rng(5).dirichlet(np.ones(5), (12, 3))
    frame = pd.concat([told(p[:, k], method="chain", draw=k) for k in range(3)])
    mean = p @ LEVELS
    variance = p @ LEVELS**2 - mean**2
    mean[11, 2] = variance[11, 2] = NAN
    frame = frame[~((frame["item"] == "i11") & (frame["draw"] == 2))]
    return frame.assign(item=frame["item"].str[1:].astype(kind)), mean, variance


@pytest.mark.parametrize("kind", [str, int])
def test_chain_components_are_those_of_the_matrices(kind):
    frame, mean, variance = chains(kind)
    wanted = stats.variance_components(mean, variance)
    close(calib.variance_components(frame).one(), wanted)
    close(calib.variance_components(frame.sample(frac=1, random_state=6)).one(), wanted)
    # chains of two runs are chains all the same
    runs = frame.assign(run=np.where(frame["draw"] == 0, "x", "y"), draw=np.where(frame["draw"] == 2, 1, 0))
    close(calib.variance_components(runs).one(), wanted)


def test_chains_of_hostile_items_are_told_apart():
    frame, mean, variance = chains()
    names = {str(k): f"{k}\n,\x1f|<b>{'0' * k}" for k in range(12)}
    close(
        calib.variance_components(frame.assign(item=frame["item"].map(names))).one(),
        stats.variance_components(mean, variance),
    )


def test_draws_probabilities_and_chains_are_results_side_by_side():
    frame, mean, variance = chains()
    results = calib.variance_components(pd.concat([sampled(), told(), frame, people(method="human")]))
    assert [label["method"] for label in results.labels] == ["sample", "logprob", "chain"]
    close(results[2], stats.variance_components(mean, variance))
    assert [np.isnan(result.label) for result in results] == [True, True, False]
    alone = frame[frame["draw"] == 0]
    assert "two for one of them" in said(ValueError, calib.variance_components, alone)


def test_chains_without_a_reading_are_counted():
    frame, _, _ = chains()
    lost = frame["item"] == "3"
    frame = frame.assign(score=frame["score"].mask(lost), status=np.where(lost, "unread", "ok"))
    found = calib.variance_components(frame).one()
    assert (found.n, found.n_dropped) == (11, 1)


# --- how they look ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@QUIET
def test_every_result_can_be_shown_and_reported(tmp_path):
    bad = {"prompt": "<img src=x onerror=alert(1)>", "rater": "=1+1|\n<script>"}
    draws, exact = sampled(**bad), told(**bad)
    answers = [
        calib.variance_components(pd.concat([draws, exact])),
        calib.temperature_curve(exact),
        calib.convergence(draws, rng=1, n_subsets=20),
        calib.variance_components(chains()[0].assign(**bad)),
    ]
    for results in answers:
        assert str(results)
        assert "<script" not in results._repr_html_()
        frame = results.to_frame()
        back = calib.table.read_frame(calib.table.write(frame, tmp_path / "out.csv"))
        assert set(back["prompt"]) == {bad["prompt"]}
        numbers = frame.select_dtypes("float").columns
        np.testing.assert_allclose(back[numbers].astype(float), frame[numbers], equal_nan=True)
    page = calib.report([*answers, ("<b>head</b>", "text")], tmp_path / "all.html").text
    assert page.count("<script") == 1  # the page's own
    assert "<img src=x" not in page
    text = calib.report([*answers], tmp_path / "all.md").text
    for results in answers:
        assert results[0].signature in text
    assert ".." not in text


def test_batches_of_items_may_come_from_runs_of_their_own():
    items, _ = calib.load_planted()
    judge = calib.Judge("offline", method="sample", draws=6)
    ratings = calib.rate(items.head(40), calib.geval_prompt("fluency"), judge, progress=False)
    first = ratings["item"].isin(items["item"].head(20))
    parted = ratings.assign(run=np.where(first, "a", "b"))
    whole, apart = (calib.convergence(table, sizes=[3, 6], rng=1).one() for table in (ratings, parted))
    assert repr(apart) == repr(whole)
    assert apart.n_draws == 6
