"""Prompts on tables: each verb says what `calib.stats` says of arrays made by hand, and loses nothing silently."""

import math
import re

import numpy as np
import pandas as pd
import pytest

import calib
from calib import stats
from calib.table import TableError

NAN = math.nan
FIVE = "1|2|3|4|5"


def scores_of(n=12, prompts=3, draws=4, seed=0):
    """Whole scores from 1 to 5, as (items, prompts, draws)."""
    rng = np.random.default_rng(seed)
    quality, harsh = rng.normal(3, 0.9, (n, 1, 1)), rng.normal(0, 0.4, (1, prompts, 1))
    taste, noise = rng.normal(0, 0.4, (n, prompts, 1)), rng.normal(0, 0.6, (n, prompts, draws))
    return np.round(quality + harsh + taste + noise).clip(1, 5)


def ratings_of(x, **columns):
    """Sampled replies, one row each; NaN is one that could not be read."""
    item, prompt, draw = (place.ravel() for place in np.indices(x.shape))
    frame = pd.DataFrame({"item": [f"i{i}" for i in item], "prompt": [f"p{p}" for p in prompt], "draw": draw})
    frame = frame.assign(criterion="fluency", rater="judge", method="sample", temperature=1.0, scale=FIVE)
    return frame.assign(score=x.ravel(), **columns)


def probabilities(n=10, prompts=3, seed=1, **columns):
    """Token probabilities of all five labels, and beside them mean and variance, computed here."""
    p = np.random.default_rng(seed).dirichlet(np.ones(5), (n, prompts))
    levels = np.arange(1.0, 6.0)
    item, prompt, level = (place.ravel() for place in np.indices(p.shape))
    frame = pd.DataFrame({"item": [f"i{i}" for i in item], "prompt": [f"p{q}" for q in prompt], "score": level + 1.0})
    # a fifth of the mass is not on the scale: what is told is normalised
    frame = frame.assign(criterion="fluency", rater="judge", method="logprob", temperature=1.0, scale=FIVE)
    mean = p @ levels
    return frame.assign(weight=0.8 * p.ravel(), **columns), mean, p @ levels**2 - mean**2


def items_of(n=12, systems=("A", "B")):
    """Two systems that answer the same groups in turn."""
    k = len(systems)
    return pd.DataFrame(
        {
            "item": [f"i{i}" for i in range(n)],
            "group": [f"g{i // k}" for i in range(n)],
            "system": [systems[i % k] for i in range(n)],
        }
    )


def labels_of(labels, **columns):
    frame = pd.DataFrame({"item": [f"i{i}" for i in range(len(labels))], "score": labels})
    return frame.assign(**{"criterion": "fluency", "rater": "ann", "scale": FIVE} | columns)


X = scores_of()
RATINGS, ITEMS = ratings_of(X), items_of()
SCORES = calib.summarize(RATINGS, ITEMS)
GROUPS = ITEMS["group"].tolist()
LABELS = [3, 4, 2, 5, 1, 3, 4, 2, 5, 1, 3, 4]


def cube(ratings):
    """The same by loops: items, prompts and draws as they come."""
    items, prompts = (list(dict.fromkeys(ratings[name])) for name in ("item", "prompt"))
    cells = {}
    for row in ratings.itertuples():
        cells.setdefault((row.item, row.prompt), []).append(row.score)
    x = np.full((len(items), len(prompts), max(map(len, cells.values()))), NAN)
    for (item, prompt), found in cells.items():
        x[items.index(item), prompts.index(prompt), : len(found)] = found
    return items, prompts, x


def named(verb, *arrays, **options):
    """The function of `calib.stats` with the prompts' ids, which are p0, p1, ... here."""
    ids = [f"p{place}" for place in range(arrays[-1].shape[1])]
    return getattr(stats, verb)(*arrays, **({"names": ids} | options))


def same(found, wanted):
    """As text, in which NaN equals itself, and number by number."""
    assert repr(found) == repr(wanted)
    pd.testing.assert_frame_equal(found.to_frame(), wanted.to_frame(), check_exact=True)


def said(error, verb, *args, **options):
    with pytest.raises(error) as caught:
        verb(*args, **options)
    return str(caught.value)


# --- sensitivity ------------------------------------------------------------------------------------------------


def test_sensitivity_is_the_g_study_of_the_cube():
    results = calib.sensitivity(RATINGS)
    same(results.one(), stats.g_study(X))
    assert results.labels == ({"criterion": "fluency", "rater": "judge", "method": "sample", "temperature": 1.0},)
    same(calib.sensitivity(RATINGS, ITEMS).one(), stats.g_study(X, groups=GROUPS))
    same(calib.sensitivity(RATINGS, ITEMS, groups=None).one(), stats.g_study(X))
    same(calib.sensitivity(RATINGS, ITEMS, groups="system").one(), stats.g_study(X, groups=ITEMS["system"].tolist()))
    options = {"estimator": "reml", "confidence_level": 0.9}
    same(calib.sensitivity(RATINGS, **options).one(), stats.g_study(X, **options))


def test_rows_come_in_any_order_and_items_too():
    mixed = RATINGS.sample(frac=1, random_state=1)
    items, prompts, x = cube(mixed)
    assert items != [f"i{i}" for i in range(12)]
    assert prompts != ["p0", "p1", "p2"]
    owners = ITEMS.set_index("item")["group"].reindex(items).tolist()
    same(calib.sensitivity(mixed, ITEMS.sample(frac=1, random_state=1)).one(), stats.g_study(x, groups=owners))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["category", "int", "float", "string"])
def test_ids_of_any_kind(kind):
    texts = ["item", "prompt", "criterion", "rater"]
    if kind in ("category", "string"):
        ratings, items = RATINGS.astype(dict.fromkeys(texts, kind)), ITEMS.astype(kind)
        if kind == "category":  # categories that no row has
            ratings["prompt"] = ratings["prompt"].cat.add_categories(["unused"])
    else:
        ratings = RATINGS.assign(**{name: RATINGS[name].str[1:].astype(kind) for name in ("item", "prompt")})
        items = ITEMS.assign(item=ITEMS["item"].str[1:].astype(kind))
    same(calib.sensitivity(ratings, items).one(), stats.g_study(X, groups=GROUPS))
    scores = calib.summarize(ratings, items)
    names = {"names": pd.unique(scores["prompt"])}
    same(calib.prompt_mean(scores).one(), named("prompt_mean", X.mean(axis=2), groups=GROUPS, **names))


def test_token_probabilities_are_expectations_with_a_known_variance():
    ratings, mean, variance = probabilities()
    found, wanted = calib.sensitivity(ratings).one(), stats.g_study(mean, draw_variance=variance)
    assert math.isinf(found.n_draws)
    numbers = ["estimate", "share", "conf_low", "conf_high", "items_low", "items_high"]
    np.testing.assert_allclose(found.to_frame()[numbers], wanted.to_frame()[numbers], rtol=1e-9, equal_nan=True)
    assert found.value("draw") == pytest.approx(variance.mean())
    # asked for twice, they estimate the same; their mean is taken
    again, mean_again, variance_again = probabilities(seed=2, run="second")
    both = calib.sensitivity(pd.concat([ratings.assign(run="first"), again])).one()
    wanted = stats.g_study((mean + mean_again) / 2, draw_variance=(variance + variance_again) / 2)
    np.testing.assert_allclose(both.to_frame()[numbers], wanted.to_frame()[numbers], rtol=1e-9, equal_nan=True)
    assert both.n_prompts == 3


def test_after_reasoning_the_expectations_of_the_chains_are_the_draws():
    parts = [probabilities(seed=seed, method="chain", draw=k) for k, seed in enumerate((3, 4))]
    x = np.stack([mean for _, mean, _ in parts], axis=2)
    found, wanted = calib.sensitivity(pd.concat([frame for frame, _, _ in parts])).one(), stats.g_study(x)
    assert found.n_draws == 2
    assert [c.estimate for c in found.components] == pytest.approx([c.estimate for c in wanted.components])


def test_several_runs_of_a_prompt_are_more_draws():
    more = scores_of(seed=5)
    both = pd.concat([RATINGS.assign(run="monday"), ratings_of(more, run="tuesday")])
    same(calib.sensitivity(both).one(), stats.g_study(np.concatenate([X, more], axis=2)))


def test_what_could_not_be_read_is_not_there():
    x = X.copy()
    x[0, 0, 1] = x[3, 2, :2] = NAN
    found = calib.sensitivity(ratings_of(x)).one()
    same(found, stats.g_study(x))
    assert (found.estimator, found.n_unread, found.n_dropped) == ("moments", 3, 0)
    x[5, 1] = NAN
    found = calib.sensitivity(ratings_of(x)).one()
    assert (found.estimator, found.n_items, found.n_unread) == ("reml", 12, 7)
    left = calib.sensitivity(ratings_of(x), ITEMS, estimator="moments").one()
    same(left, stats.g_study(x, estimator="moments", groups=GROUPS))
    assert (left.n_items, left.n_dropped) == (11, 1)
    # rows that are not there at all are the same as rows without a score
    gone = ratings_of(x).dropna(subset="score")
    assert calib.sensitivity(gone).one().value("item") == pytest.approx(found.value("item"))


def test_each_criterion_rater_method_and_temperature_is_a_result():
    exact, mean, variance = probabilities(12)
    parts = {
        ("fluency", "judge", "sample", 1.0): (RATINGS, X),
        ("coherence", "judge", "sample", 1.0): (
            ratings_of(scores_of(seed=1), criterion="coherence"),
            scores_of(seed=1),
        ),
        ("fluency", "other", "sample", 1.0): (ratings_of(scores_of(seed=2), rater="other"), scores_of(seed=2)),
        ("fluency", "judge", "sample", 0.5): (ratings_of(scores_of(seed=3), temperature=0.5), scores_of(seed=3)),
    }
    people = labels_of(LABELS, method="human")
    table = pd.concat([people, *(frame for frame, _ in parts.values()), exact])
    results = calib.sensitivity(table, ITEMS)
    assert [tuple(label.values()) for label in results.labels] == [*parts, ("fluency", "judge", "logprob", 1.0)]
    for found, (_, x) in zip(results, parts.values(), strict=False):
        same(found, stats.g_study(x, groups=GROUPS))
    assert results[4].value("draw") == pytest.approx(variance.mean())
    means = calib.prompt_mean(calib.summarize(table, ITEMS))
    assert [label["method"] for label in means.labels] == ["sample"] * 4 + ["logprob"]
    assert means[4].estimate == pytest.approx(mean.mean())
    assert "temperature 0.5" in str(results)


def test_judges_are_a_facet_of_their_own():
    other = scores_of(seed=7)
    both = pd.concat([RATINGS, ratings_of(other, rater="other")])
    results = calib.sensitivity(both, ITEMS, judges=True)
    same(results.one(), stats.g_study(np.stack([X, other], axis=2), groups=GROUPS))
    assert "rater" not in results.labels[0]
    assert results.one().n_judges == 2
    text = said(ValueError, calib.sensitivity, RATINGS, judges=True)
    assert "two judges" in text
    assert "`x`" not in text
    ratings, *_ = probabilities()
    text = said(ValueError, calib.sensitivity, pd.concat([ratings, ratings.assign(rater="other")]), judges=True)
    assert "`judges` needs sampled replies" in text


SCALED = pd.concat([RATINGS[RATINGS["prompt"] != "p1"], RATINGS[RATINGS["prompt"] == "p1"].assign(scale="0..100")])


@pytest.mark.parametrize(
    "verb",
    [
        calib.sensitivity,
        calib.prompt_mean,
        lambda frame: calib.prompt_mean(calib.summarize(frame)),
        lambda frame: calib.plan(frame, labels_of(LABELS), prices={"label": 1, "judge": 1}, budget=9),
    ],
)
def test_prompts_of_unlike_scales_are_refused(verb):
    assert "must have one scale, but have 0..100, 1|2|3|4|5" in said(TableError, verb, SCALED)


def test_one_prompt_says_nothing_about_prompts():
    one = RATINGS[RATINGS["prompt"] == "p0"]
    text = said(TableError, calib.sensitivity, one)
    assert "fluency, judge, sample: `ratings` must be under two prompts at least (" in text
    assert "but are under one, 'p0'" in text
    scores = calib.summarize(one, ITEMS)
    result = calib.prompt_mean(scores).one()
    same(result, named("prompt_mean", X[:, :1].mean(axis=2), groups=GROUPS))
    assert result.conditional
    assert "conditional on this prompt" in str(result)
    # a slice with one prompt among others is named
    mixed = pd.concat([RATINGS, one.assign(criterion="coherence")])
    assert said(TableError, calib.sensitivity, mixed).startswith("coherence, judge, sample: ")


def test_groups_that_are_not_there():
    assert "`groups` must be a column of the items, but got 'topic'" in said(
        TableError, calib.sensitivity, RATINGS, ITEMS, groups="topic"
    )
    assert "came without `items`" in said(TableError, calib.sensitivity, RATINGS, groups="topic")
    assert "7 have none" in said(TableError, calib.sensitivity, RATINGS, ITEMS.head(5))
    gaps = ITEMS.assign(group=ITEMS["group"].where(ITEMS["item"] != "i3"))
    assert "column `group`, row 3: must not be missing" in said(TableError, calib.sensitivity, RATINGS, gaps)
    same(calib.sensitivity(RATINGS, ITEMS.drop(columns="group")).one(), stats.g_study(X))
    # groups of one item each are no groups
    same(calib.sensitivity(RATINGS, ITEMS.assign(group=ITEMS["item"])).one(), stats.g_study(X))
    assert "`groups` must be a column" in said(TableError, calib.prompt_mean, SCORES, groups="topic")


def test_what_sensitivity_refuses():
    for ratings in (probabilities()[0], RATINGS):
        assert "`ratings` must be ratings" in said(TableError, calib.sensitivity, calib.summarize(ratings))
    assert "`ratings` must hold scores of a judge, but has none" in said(TableError, calib.sensitivity, RATINGS.head(0))
    assert "`ratings` must hold scores of a judge" in said(TableError, calib.sensitivity, labels_of(LABELS))
    for option in ({"estimator": "magic"}, {"confidence_level": 95}):
        text = said(ValueError, calib.sensitivity, RATINGS, **option)
        assert text.startswith("fluency, judge, sample: ")
        assert next(iter(option)) in text
    text = said(ValueError, calib.sensitivity, RATINGS.assign(score=NAN))
    assert "`ratings` must have scores of two items" in text
    twice = pd.concat([RATINGS, RATINGS.head(1)])
    assert "must be unique" in said(TableError, calib.sensitivity, twice)


# --- the mean over prompts --------------------------------------------------------------------------------------


def wide(x):
    return x.mean(axis=2)


def test_prompt_mean_is_that_of_the_matrix():
    same(calib.prompt_mean(SCORES).one(), named("prompt_mean", wide(X), groups=GROUPS))
    same(calib.prompt_mean(RATINGS).one(), named("prompt_mean", wide(X)))
    same(calib.prompt_mean(SCORES, groups=None).one(), named("prompt_mean", wide(X)))
    found = calib.prompt_mean(SCORES, groups="system", confidence_level=0.8).one()
    same(found, named("prompt_mean", wide(X), groups=ITEMS["system"].tolist(), confidence_level=0.8))
    mixed = SCORES.sample(frac=1, random_state=4)
    items, _, x = cube(mixed)
    owners = ITEMS.set_index("item")["group"].reindex(items).tolist()
    same(calib.prompt_mean(mixed).one(), named("prompt_mean", x[:, :, 0], groups=owners))


def test_prompt_mean_by_system():
    results = calib.prompt_mean(SCORES, by="system")
    assert [label["system"] for label in results.labels] == ["A", "B"]
    for place, result in enumerate(results):  # within a system no group repeats
        same(result, named("prompt_mean", wide(X)[place::2]))
    assert "`by` must be a column of the scores, but got 'topic'" in said(
        TableError, calib.prompt_mean, SCORES, by="topic"
    )


def test_an_item_that_one_prompt_lacks_is_left_out_and_counted():
    x = X.copy()
    x[2, 1], x[5] = NAN, NAN
    found = calib.prompt_mean(calib.summarize(ratings_of(x), ITEMS)).one()
    same(found, named("prompt_mean", wide(x), groups=GROUPS))
    assert (found.n, found.n_dropped) == (10, 2)
    assert any(text.startswith("dropped: 2 items") for text in found.warnings)
    gone = ratings_of(x).dropna(subset="score")
    # an item without any row is not known to the table
    assert (calib.prompt_mean(gone).one().n, calib.prompt_mean(gone).one().n_dropped) == (10, 1)


def test_people_have_no_prompt():
    both = pd.concat([RATINGS, labels_of(LABELS, method="human")])
    same(calib.prompt_mean(calib.summarize(both, ITEMS)).one(), calib.prompt_mean(SCORES).one())
    assert "must hold scores of a judge" in said(TableError, calib.prompt_mean, labels_of(LABELS))


# --- files ------------------------------------------------------------------------------------------------------


def own(x=X):
    """A user's file: a row for each draw of each item under each wording."""
    item, prompt, _ = (place.ravel() for place in np.indices(x.shape))
    frame = pd.DataFrame({"id": [f"i{i}" for i in item], "wording": [f"p{p}" for p in prompt], "score": x.ravel()})
    return frame.assign(doc=[GROUPS[i] for i in item], model=[ITEMS["system"][i] for i in item])


def test_a_path_is_the_same_as_its_table(tmp_path):
    paths = [
        calib.table.write(frame, tmp_path / f"{name}.csv")
        for name, frame in (("ratings", RATINGS), ("items", ITEMS), ("scores", SCORES))
    ]
    same(calib.sensitivity(*paths[:2]).one(), stats.g_study(X, groups=GROUPS))
    same(calib.prompt_mean(paths[2]).one(), named("prompt_mean", wide(X), groups=GROUPS))
    same(calib.prompt_mean(paths[0]).one(), named("prompt_mean", wide(X)))


def test_a_column_of_an_own_file_says_the_prompt(tmp_path):
    path = tmp_path / "own.csv"
    own().to_csv(path, index=False)
    roles = {"prompt": "wording", "group": "doc", "system": "model"}
    for mine in (path, own()):
        same(calib.sensitivity(mine, **roles).one(), stats.g_study(X, groups=GROUPS))
        same(calib.prompt_mean(mine, **roles).one(), named("prompt_mean", wide(X), groups=GROUPS))
    same(calib.sensitivity(path, groups="model", **roles).one(), stats.g_study(X, groups=ITEMS["system"].tolist()))
    same(calib.sensitivity(path, ITEMS, prompt="wording").one(), stats.g_study(X, groups=GROUPS))
    systems = calib.prompt_mean(path, by="model", **roles)
    assert [label["system"] for label in systems.labels] == ["A", "B"]
    same(systems[1], named("prompt_mean", wide(X)[1::2]))


def test_columns_of_scores_are_prompts():
    mine = pd.DataFrame({"id": [f"i{i}" for i in range(12)], **{f"p{k}": X[:, k, 0] for k in range(3)}})
    same(calib.sensitivity(mine).one(), stats.g_study(X[:, :, :1]))
    same(calib.prompt_mean(mine).one(), named("prompt_mean", X[:, :, 0]))


@pytest.mark.parametrize(("verb", "argument"), [(calib.sensitivity, "ratings"), (calib.prompt_mean, "scores")])
def test_what_is_wrong_in_a_file_is_refused(verb, argument, tmp_path):
    assert f"`{argument}`: there is no file" in said(FileNotFoundError, verb, tmp_path / "none.csv")
    text = said(ValueError, verb, own(), prompt="topic")
    assert text.startswith("`prompt` must be a column of the frame, but got 'topic'; there are 'id', 'wording'")
    assert "`prompt` describes your own file" in said(ValueError, verb, RATINGS, prompt="prompt")
    assert "`item` describes your own file" in said(ValueError, verb, RATINGS, item="item")
    path = tmp_path / "bad.csv"
    RATINGS.assign(score=9.0).to_csv(path, index=False)
    assert "must lie on the scale" in said(TableError, verb, path)
    assert "prompt=, in a shell --prompt" in said(TableError, calib.sensitivity, own())


# --- pooled scores ----------------------------------------------------------------------------------------------


def test_pooled_prompts_count_alike_however_often_they_were_asked():
    uneven = pd.concat([RATINGS, ratings_of(scores_of(prompts=1, seed=9), run="again")])  # eight draws of p0
    first = np.concatenate([X[:, 0], scores_of(prompts=1, seed=9)[:, 0]], axis=1).mean(axis=1)
    wanted = np.column_stack([first, wide(X)[:, 1:]]).mean(axis=1)
    pooled = calib.summarize(uneven, ITEMS, pool="prompt")
    assert pooled["score"].tolist() == pytest.approx(wanted)
    assert set(pooled["prompt"]) == {"mean of 3 prompts"}
    assert set(pooled["n"]) == {3}
    assert pooled["group"].tolist() == GROUPS
    assert pooled["method"].unique().tolist() == ["sample"]


def test_pooling_counts_what_a_prompt_lacks():
    x = X.copy()
    x[0, 0], x[1] = NAN, NAN
    pooled = calib.summarize(ratings_of(x), pool="prompt").set_index("item")
    assert pooled["score"]["i0"] == pytest.approx(X[0, 1:].mean())
    assert (pooled["n"]["i0"], pooled["n_unread"]["i0"]) == (2, 1)
    assert math.isnan(pooled["score"]["i1"])
    assert pooled["n_unread"]["i1"] == 3


def test_pooling_keeps_judges_temperatures_and_people_apart():
    one = RATINGS[RATINGS["prompt"] == "p0"].assign(rater="other")
    cold = ratings_of(scores_of(seed=3), temperature=0.0)
    people = pd.concat([labels_of(LABELS, method="human"), labels_of(LABELS[::-1], method="human", rater="bob")])
    pooled = calib.summarize(pd.concat([RATINGS, one, cold, people]), pool="prompt")
    found = pooled.groupby(["rater", "prompt", "temperature"], observed=True, dropna=False).size()
    named = {(rater, prompt): size for (rater, prompt, _), size in found.items()}
    assert named == {("judge", "mean of 3 prompts"): 12, ("other", "p0"): 12, ("ann", ""): 12, ("bob", ""): 12}
    assert len(found) == 5
    ann = pooled[pooled["rater"] == "ann"]
    assert ann["score"].tolist() == LABELS


def test_unlike_scales_are_not_pooled():
    text = said(TableError, calib.summarize, SCALED, pool="prompt")
    assert "one scale" in text
    assert "'fluency' is on 0..100 and 1|2|3|4|5" in text
    wanted = "`pool` must be one of 'rater', 'prompt', but got 'judge'"
    assert wanted in said(ValueError, calib.summarize, RATINGS, pool="judge")


def test_people_may_have_another_scale_than_the_judge_whose_prompts_are_pooled():
    people = labels_of(LABELS, method="human", scale="1|2|3|4|5|6|7")
    pooled = calib.summarize(pd.concat([RATINGS, people]), pool="prompt")
    assert pooled.groupby("rater", observed=True)["scale"].first().to_dict() == {"ann": "1|2|3|4|5|6|7", "judge": FIVE}


def test_what_pooled_scores_say_of_doubt_is_that_of_a_prompt():
    ratings, mean, variance = probabilities()
    pooled, alone = calib.summarize(ratings, pool="prompt"), calib.summarize(ratings)
    assert pooled["score"].tolist() == pytest.approx(mean.mean(axis=1))
    means = alone.groupby("item", observed=True, sort=False)[["entropy", "mass", "low", "high"]].mean()
    for name in means:
        assert pooled[name].tolist() == pytest.approx(means[name].tolist())
    assert set(pooled["mass"].round(9)) == {0.8}
    assert pooled["sd"].tolist() == pytest.approx(np.sqrt(variance.mean(axis=1)))


# --- how they look ----------------------------------------------------------------------------------------------

HOSTILE = ["<script>alert(1)</script>", 'a,b "q"\nnew|line', "=cmd()|A1", "\u202edrow", "*f* [d](http://e)", "\x1b[31m"]


@pytest.mark.slow
@pytest.mark.parametrize("make", [
    lambda s, r, i: calib.sensitivity(r, i),
    lambda s, r, i: calib.prompt_mean(s, by="system"),
])  # fmt: skip
def test_hostile_names_are_only_text(make, tmp_path):
    systems = ("<img src=x onerror=alert(1)>", "B|,\n=1")
    names = {f"i{k}": f"{HOSTILE[k % 6]}{k}" for k in range(12)}
    ratings = RATINGS.assign(
        item=RATINGS["item"].map(names), rater="<script>", criterion="flu|<i>", prompt="<b>" + RATINGS["prompt"]
    )
    items = items_of(12, systems).assign(item=list(names.values()))
    results = make(calib.summarize(ratings, items), ratings, items)
    assert str(results)
    assert "<script" not in results._repr_html_()
    assert "<img" not in results._repr_html_()
    for ending in ("html", "md"):
        page = calib.report(results, tmp_path / f"x.{ending}").text
        # without the page's own script, at its end
        theirs = re.sub(r"<script>.*</script>\n</body>", "", page, flags=re.DOTALL)
        assert not re.search(r"(?<!\\)<(script|img src=x|i>|b>)", theirs)
        assert "\x1b" not in page
    frame = results.to_frame()
    back = calib.table.read_frame(calib.table.write(frame, tmp_path / "x.csv"))
    assert back["rater"].tolist() == ["<script>"] * len(frame)
    numbers = frame.select_dtypes("float").columns
    np.testing.assert_allclose(back[numbers].astype(float), frame[numbers], equal_nan=True)


def test_sentences_of_a_report_end_once(tmp_path):
    things = [calib.prompt_mean(SCORES), calib.sensitivity(RATINGS, ITEMS)]
    assert ".." not in calib.report(things).text.replace("...", "")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")
def test_one_report_takes_every_kind(tmp_path):
    study = calib.sensitivity(RATINGS, ITEMS)
    things = [
        ("components", study),
        study.one().d_study([1, 8], [1, 4]),
        study.one().equal_calls(8),
        study.one().cheapest(0.8),
        calib.prompt_mean(SCORES),
        calib.prompt_mean(SCORES, by="system"),
        calib.plan(RATINGS, labels_of(LABELS), prices={"label": 1, "judge": 0.01}, budget=20),
        calib.summarize(RATINGS, ITEMS, pool="prompt"),
    ]
    text, page = (calib.report(things, tmp_path / f"all.{ending}").text for ending in ("md", "html"))
    shown = [thing[1] if isinstance(thing, tuple) else thing for thing in things]
    for thing in shown[:-1]:
        first = thing[0] if isinstance(thing, calib.Results) else thing
        assert first.signature in text
        assert first.signature in page
        assert "<table" in thing._repr_html_()
        assert str(first)
        assert not thing.to_frame().empty
    assert "nan" not in re.sub(r"data:image[^\"]*", "", page).lower().split()
    # a single result is said in its own words
    assert "variance of one score: item" in text
    assert "judge mean over 3 prompts" in text
