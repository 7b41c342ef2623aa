"""The judge's own page: its numbers by hand, its list, its pictures, its section, its command."""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import calib
from calib import plot, stats
from calib.analysis.distributions.display import blocks
from calib.cli import main
from calib.table import TableError

needs_data = pytest.mark.skipif(not os.environ.get("CALIB_DATA"), reason="needs the real data: set CALIB_DATA")
NAN = float("nan")
SCALE = "1|2|3|4|5"
# an id may hold all of this; a text half a character, too
HOSTILE = (
    "<script>alert(1)</script></script> a|b `c` [d](http://e.example) \"q\" 'r' &lt; {{7*7}}\n\n# g\x1b[31m \u202e\x00"
)
TEXT = HOSTILE + "\ud800<img src=x onerror=alert(2)>"


def drawn(scores, replies=None, **columns):
    """Ratings of a sampled judge: a list of draws for each item, None for a reply that was refused."""
    rows = [
        {"item": item, "draw": draw, "score": NAN if score is None else score, "reply": f"{item} gets {score}."}
        for item, given in scores.items()
        for draw, score in enumerate(given)
    ]
    frame = pd.DataFrame(rows, dtype=object).astype({"score": float, "draw": int})
    status = np.where(frame["score"].isna(), "refused", "ok")
    made = {"criterion": "quality", "rater": "judge", "prompt": "p", "scale": SCALE, "method": "sample", "weight": 1.0}
    return frame.assign(status=status, temperature=1.0, **made | columns)


def labelled(scores, rater="ann", scale=SCALE):
    frame = pd.DataFrame({"item": list(scores), "score": list(scores.values())})
    return frame.assign(criterion="quality", rater=rater, scale=scale)


@pytest.fixture(scope="module")
def planted():
    items, people = calib.load_planted()
    prompt, judge = calib.geval_prompt("fluency"), calib.Judge("offline")
    return items, people, calib.rate(items, prompt, judge, progress=False, replies=True)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


# --- numbers ----------------------------------------------------------------------------------------------------


def test_the_planted_judge_by_hand(planted):
    _, people, ratings = planted
    found = calib.profile(ratings, people).one()
    wide = ratings[ratings["status"] == "ok"].pivot_table(index="item", columns="score", values="weight").to_numpy()
    mass, p = wide.sum(axis=1), wide / wide.sum(axis=1, keepdims=True)
    nats, score = -(p * np.log(p)).sum(axis=1), p @ np.arange(1, 6)
    assert found.shares.levels == (1, 2, 3, 4, 5)
    np.testing.assert_allclose(found.shares.judge, p.mean(axis=0))
    np.testing.assert_allclose([found.mean, found.sd], [score.mean(), score.std(ddof=1)])
    np.testing.assert_allclose(found.entropy.quantiles, np.quantile(nats, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]))
    np.testing.assert_allclose(found.mass.quantiles, np.quantile(mass, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]))
    assert sum(found.entropy.counts) == sum(found.mass.counts) == found.n == 312
    assert found.entropy.edges[-1] == pytest.approx(np.log(5))
    assert found.little == 0
    fluent = people[people["criterion"] == "fluency"]
    np.testing.assert_allclose(found.shares.labels, [(fluent["score"] == level).mean() for level in range(1, 6)])
    theirs = fluent.groupby("item", observed=True)["score"].mean()
    ours = pd.Series(score, index=sorted(ratings["item"].unique()))
    gap = ours - theirs.rename(index=str).reindex(ours.index)
    np.testing.assert_allclose([found.difference, found.distance], [gap.mean(), gap.abs().mean()])
    assert (found.n_labels, found.label_mean) == (312, pytest.approx(theirs.mean()))
    # by the replies: each was read, each had a little on other words
    assert dict(found.statuses) == {"ok": 312, "off_scale": 312}
    assert (found.n_replies, found.n_unread, found.n_missing) == (312, 0, 0)
    listed = found.items
    # what differs by rounding alone is in the order of the names, as the index is
    for why, by in {"labels": gap.abs(), "entropy": pd.Series(nats, index=ours.index)}.items():
        first = by.round(9).sort_values(ascending=False, kind="stable").index[:20]
        assert listed.loc[listed["why"] == why, "item"].tolist() == first.tolist()


def test_each_item_counts_the_same_whatever_was_captured_of_it():
    found = stats.profile([[0.1, 0.1], [0.0, 0.8]], levels=[1, 2])
    assert found.shares.judge == pytest.approx((0.25, 0.75))
    assert stats.profile([[0.0, 0.0], [0.0, 0.8]], levels=[1, 2]).shares.judge == (0, 1)


def test_each_reply_of_an_item_counts_the_same():
    """Two chains of one item, of which little and much was captured."""
    rows = [("a", 0, 1, 0.1), ("a", 1, 2, 0.9)]
    ratings = pd.DataFrame(rows, columns=["item", "draw", "score", "weight"])
    chains = ratings.assign(criterion="q", rater="j", method="chain", scale="1|2", temperature=1.0)
    assert calib.profile(chains).one().shares.judge == (0.5, 0.5)
    assert calib.profile(chains).one().mean == calib.summarize(chains)["score"].item() == 1.5


@pytest.mark.parametrize(
    ("scores", "scale", "share"),
    [
        ([1, 2, 2, 3], [1, 2, 3], (0.25, 0.5, 0.25)),
        ([1.4, 1.6, 3], [1, 2, 3], (1 / 3, 1 / 3, 1 / 3)),
        ([1.5, 2.5], [1, 2, 3], (0.25, 0.5, 0.25)),  # halfway: to both by half
        ([0, 9], [1, 2, 3], (0.5, 0, 0.5)),
        ([1, NAN], [1, 2], (1, 0)),
    ],
)
def test_scores_are_counted_at_the_nearest_value(scores, scale, share):
    found = stats.profile(scores, scale=scale)
    assert found.shares.judge == pytest.approx(share)
    assert found.shares.rounded == (not set(np.nan_to_num(scores, nan=1.0)) <= set(scale))


def test_many_values_are_counted_in_bins_over_the_whole_scale():
    scores = np.linspace(50, 99, 200)
    found = stats.profile(scores, scale=range(101))
    counts, edges = np.histogram(scores, 20, (0, 100))
    assert found.shares.width == 5
    np.testing.assert_allclose(found.shares.levels, edges[:-1] + 2.5)
    np.testing.assert_allclose(found.shares.judge, counts / 200)
    assert found.unused == ()
    assert "% of the judge's scores are 50 to 60" in found.shares.most
    # without a scale over what occurs
    assert stats.profile(scores).shares.width == pytest.approx(49 / 20)


def test_what_a_judge_uses_most_is_two_neighbours_or_one_of_three():
    found = stats.profile([1, 4, 4, 5, 5, 3], [1, 1, 2, 5, 4, 3], scale=[1, 2, 3, 4, 5])
    assert found.shares.most == "67 % of the judge's scores are 4 or 5 (people's: 33 %)"
    assert stats.profile([0, 1, 1], scale=[0, 1]).shares.most == "67 % of the judge's scores are 1"
    assert stats.profile([4, 4], scale=[1, 2, 3, 4, 5]).shares.most == "100 % of the judge's scores are 4"
    assert stats.profile([4.2, 4], scale=[1, 2, 3, 4, 5]).shares.most.endswith("are 4, rounded")
    assert stats.profile([NAN]).shares.most == "there are no scores"


# --- the list ---------------------------------------------------------------------------------------------------


def test_equal_items_are_in_the_order_of_their_names_whatever_the_rows():
    scores = {name: [1, 5] for name in "dbac"} | {"z": [3, 3]}
    one = calib.profile(drawn(scores), top=3).one().items
    other = calib.profile(drawn(dict(reversed(scores.items()))), top=3).one().items
    pd.testing.assert_frame_equal(one, other)
    assert one.loc[one["why"] == "entropy", "item"].tolist() == ["a", "b", "c"]
    assert "z" not in set(one["item"])


def test_mirrored_distributions_tie_though_rounding_tells_them_apart():
    rng = np.random.default_rng(1)
    p = rng.permuted(np.tile(rng.dirichlet(np.ones(9)), (4, 1)), axis=1)
    assert len(set(stats.entropy(p).tolist())) > 1
    found = stats.profile(p, levels=range(9), items=["d", "c", "b", "a"])
    assert [look.item for look in found.looks] == ["a", "b", "c", "d"]


def test_top_is_for_each_reason():
    ratings = drawn({"a": [1, 5], "b": [2, None], "c": [None, None], "d": [3, 4]})
    people = labelled({"a": 1, "b": 5, "d": 3})
    for top, counts in ((0, {}), (1, dict.fromkeys(("labels", "entropy", "draws", "unread"), 1))):
        assert calib.profile(ratings, people, top=top).one().items["why"].value_counts().to_dict() == counts
    every = calib.profile(ratings, people).one().items
    assert every["why"].value_counts().to_dict() == {"labels": 3, "entropy": 2, "draws": 2, "unread": 2}
    assert every.loc[every["why"] == "unread", "item"].tolist() == ["c", "b"]
    assert every.loc[every["why"] == "labels", "value"].tolist() == [-3, 2, 0.5]
    with pytest.raises(ValueError, match=r"`top` must be a whole number of 0 or more, but got -1\."):
        calib.profile(ratings, top=-1)


def test_the_words_are_those_of_the_lowest_and_the_highest_reply_and_one_not_read():
    found = calib.profile(drawn({"a": [2, 5, 1, None, 5]})).one().items
    (words,) = set(found["reply"])
    assert words == "[1] a gets 1. [5] a gets 5. [refused] a gets None."
    (detail,) = set(found["detail"])
    assert detail == "1 25 %, 2 25 %, 5 50 %"
    alone = calib.profile(drawn({"a": [2]}), labelled({"a": 4})).one().items
    assert alone[["why", "reply", "detail"]].to_numpy().tolist() == [["labels", "a gets 2.", "labels 4"]]
    assert "entropy" not in alone


def test_prompts_that_contradict_each_other():
    first, other = drawn({"a": [2], "b": [3], "c": [5]}), drawn({"a": [5], "b": [3]}, prompt="q")
    results = calib.profile(pd.concat([first, other, drawn({"a": [3]}, prompt="r")]))
    assert [label["prompt"] for label in results.labels] == ["p", "q", "r"]
    for result in results:
        (look,) = [look for look in result.looks if look.why == "prompts"]
        assert (look.item, look.value) == ("a", 3)
        said = dict(look.texts)
        assert said["detail"] == "p 2, r 3, q 5"
        assert said["reply"] == "[p 2] a gets 2. [q 5] a gets 5."


def test_texts_of_the_items_stand_beside_them():
    ratings, people = drawn({"a": [2], "b": [3]}), labelled({"a": 4, "b": 5})
    items = pd.DataFrame({"item": ["b", "a"], "output": ["out b", "out a"], "source": ["from b", ""], "n": [1, 2]})
    found = calib.profile(ratings, people, items=items).one().items
    assert found[["item", "source", "output"]].to_numpy().tolist() == [["a", "", "out a"], ["b", "from b", "out b"]]
    asked = pd.DataFrame({"item": ["a"], "question": ["why?"], "reply": ["own"], "n": [3]})
    found = calib.profile(ratings, people, items=asked).one().items
    assert found["question"].tolist() == ["why?", ""]
    assert found["reply of the item"].tolist() == ["own", ""]
    assert found["reply"].tolist() == ["a gets 2.", "b gets 3."]
    bare = calib.profile(ratings, people, items=items[["item"]]).one().items
    assert list(bare) == ["why", "item", "value", "score", "label", "detail", "reply"]


# --- what comes in ----------------------------------------------------------------------------------------------


def test_scores_of_ones_own_have_no_entropy():
    mine = pd.DataFrame({"id": [*"abc"], "grade": [4, 2, 5], "label": [5, 1, None]})
    scores = calib.scores_from(mine, item="id", score="grade", rater="judge", scale=SCALE)
    people = calib.scores_from(mine, item="id", score="label", rater="me")
    found = calib.profile(scores, people).one()
    assert found.entropy is found.mass is None
    assert found.n_labels == 2
    assert not {"median_entropy", "median_mass", "entropy"} & {*found.to_frame(), *found.items}
    assert not found.to_frame().isna().any(axis=None)
    assert "entropy" not in f"{found} {found.conclusion}"
    with pytest.raises(ValueError, match=r"`show` 'entropy' needs distributions of scores"):
        plot.profile(found, show="entropy")
    text = calib.report([calib.profile(scores, people)])
    assert "entropy" not in str(text)
    # without names of their own the judge and people are both "human"
    same = calib.profile(scores.assign(rater="human"), people.assign(rater="human")).one()
    assert same.difference == found.difference


def test_scores_made_of_ratings_keep_what_they_know(planted):
    _, people, ratings = planted
    known, found = (calib.profile(table, people).one() for table in (ratings, calib.summarize(ratings)))
    assert found.entropy == known.entropy
    assert found.mass == known.mass
    assert found.looks[0][:-1] == pytest.approx(known.looks[0][:-1], nan_ok=True)
    assert found.shares.rounded
    assert found.unused == ()
    assert found.shares.labels == known.shares.labels


def test_one_file_of_ones_own_with_its_texts(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("id,question,answer,gpt,label\na,why?,so,4,5\nb,how?,thus,2,1\nc,when?,now,5,\n", encoding="utf-8")
    results = calib.profile(path, judge="gpt", label="label", scale=SCALE)
    found = results.one().items
    rows = [["a", -1, "why?", "so"], ["b", 1, "how?", "thus"]]
    assert found[["item", "value", "source", "output"]].to_numpy().tolist() == rows
    texts = tmp_path / "items.csv"
    texts.write_text("item,output\na,A\nb,B\n", encoding="utf-8")
    assert calib.profile(path, judge="gpt", items=texts, scale=SCALE).one().items["output"].tolist() == ["A", "B"]


def test_unread_replies_of_scores_are_counted():
    scores = calib.summarize(drawn({"a": [1, None, 2], "b": [None, None]}))
    found = calib.profile(scores).one()
    assert (found.n_replies, found.n_unread, found.n_missing) == (5, 3, 1)
    assert dict(found.statuses) == {"ok": 2, "unread": 3}
    assert dict(calib.profile(drawn({"a": [1, None, 2], "b": [None, None]})).one().statuses) == {"ok": 2, "refused": 3}


def test_people_in_one_table_with_judges_are_people():
    people = labelled({"a": 4, "b": 5}).assign(method="human", prompt="", weight=1.0, draw=0, status="ok")
    both = pd.concat([drawn({"a": [2], "b": [3]}), people])
    (found,) = calib.profile(both)
    assert (found.n_labels, found.difference) == (2, -2)
    (other,) = calib.profile(both, labelled({"a": 1}))
    assert (other.n_labels, other.difference) == (1, 1)
    assert [label["rater"] for label in calib.profile(people).labels] == ["ann"]


def test_several_people_are_averaged_and_their_labels_counted_one_by_one():
    people = pd.concat([labelled({"a": 1, "b": 3}), labelled({"a": 4}, "bob"), labelled({"x": 2}, "bob")])
    results = calib.profile(drawn({"a": [2], "b": [3]}), people)
    assert results.labels[0]["n_unmatched"] == 1
    found = results.one()
    assert found.shares.labels == pytest.approx((1 / 3, 0, 1 / 3, 1 / 3, 0))
    assert (found.label_mean, found.n_labels) == (2.75, 2)
    assert dict(found.looks[0].texts)["detail"] == "labels 1, 4"


def test_labels_on_another_scale_are_left_out_and_said():
    ratings = drawn({"a": [2], "b": [3]})
    found = calib.profile(ratings, labelled({"a": 80}, scale="0..100")).one()
    assert found.n_labels == 0
    assert found.warnings[0] == "other_scale: people are left out, as scores are on '1|2|3|4|5' and labels on '0..100'"
    assert calib.profile(ratings, labelled({"a": 80}, scale="")).one().warnings[0].startswith("other_scale")


@pytest.mark.parametrize(
    ("labels", "items", "said"),
    [
        ({"zz": 4}, None, r"`labels` must have labels .* 'zz'.*, while `scores` have .*'a' and 'b'"),
        (None, ["zz"], r"`items` must have the items of `scores`, but has 'zz', while `scores` have 'a' and 'b'\."),
    ],
)
def test_what_does_not_match_is_refused_with_two_ids_of_each_side(labels, items, said):
    options = {} if items is None else {"items": pd.DataFrame({"item": items, "source": "s"})}
    with pytest.raises(TableError, match=said):
        calib.profile(drawn({"a": [2], "b": [3]}), None if labels is None else labelled(labels), **options)


# --- what to mind -----------------------------------------------------------------------------------------------


def names_of(found):
    return [text.partition(":")[0] for text in found.warnings]


def test_each_warning_where_it_holds_and_nowhere_else():
    good, fine = np.repeat([1, 2, 3, 4, 5], 10), {"mass": np.ones(50), "unread": np.zeros(50)}
    scale = [1, 2, 3, 4, 5]
    assert stats.profile(good, scale=scale, **fine).warnings == ()
    assert names_of(stats.profile(good, scale=scale, mass=np.r_[np.full(49, 0.9), 0.4])) == ["little_mass"]
    assert names_of(stats.profile(np.r_[good[1:].astype(float), NAN], scale=scale)) == ["unread"]
    assert names_of(stats.profile(np.full(50, 3), scale=scale)) == ["constant"]
    ends = stats.profile(np.clip(good, 2, 4), good, scale=scale)
    assert ends.warnings == ("ends_unused: the judge hardly uses 1 and 5 (people's: 40 %)",)
    assert ends.unused == (1, 5)
    # nobody uses them, or too few scores to tell
    assert stats.profile(np.clip(good, 2, 4), np.clip(good, 2, 4), scale=scale).warnings == ()
    assert stats.profile([2, 3, 4], scale=scale).warnings == ()


# --- pictures ---------------------------------------------------------------------------------------------------


def test_bars_are_as_high_as_the_shares():
    found = stats.profile([1, 2, 3, 3], [3, 3, 3, 1], scale=[1, 2, 3])
    ax = plot.profile(found)
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == pytest.approx([*found.shares.judge, *found.shares.labels])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["judge", "people"]
    assert ax.get_title(loc="left") == "50 % of the judge's scores are 3 (people's: 75 %)"
    assert len(plot.profile(stats.profile([1, 2], scale=[1, 2])).patches) == 2


def test_entropy_is_a_histogram(planted):
    results = calib.profile(planted[2])
    ax = plot.profile(results, show="entropy")
    assert tuple(ax.patches[0].get_data().values) == results.one().entropy.counts
    title = ax.get_title(loc="left").replace("\n", " ")
    assert "half of the items have an entropy above 0.6 nats (of at most 1.6)" in title
    with pytest.raises(ValueError, match=r"`show` must be 'scores' or 'entropy', but got 'mass'\."):
        plot.profile(results, show="mass")


def test_several_judges_are_rows_with_people_once():
    ratings = pd.concat([drawn({"a": [2, 3], "b": [3, 3]}), drawn({"a": [5, 1], "b": [3, 3]}, rater="other")])
    results = calib.profile(ratings, labelled({"a": 1, "b": 1}))
    ax = plot.profile(results)
    rows = [tick.get_text() for tick in ax.get_yticklabels()]
    assert rows == ["judge", "other", "people"]
    widths = np.reshape([bar.get_width() for bar in ax.patches if abs(bar.get_height() - 0.6) < 1e-9], (3, 5))
    parts = [results[0].shares.judge, results[1].shares.judge, results[0].shares.labels]
    np.testing.assert_allclose(widths, parts)
    entropy = plot.profile(results, show="entropy")
    dots = [line.get_xdata()[0] for line in entropy.lines if line.get_marker() == "o"]
    assert dots == pytest.approx([result.entropy.median for result in results])


# --- the page ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_has_counts_and_the_list(planted, tmp_path):
    items, people, ratings = planted
    results = calib.profile(ratings, people, items=items)
    calib.report([results], tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The judge&#39;s own page" in page
    assert page.count('class="sortable"') == 1
    assert "<h3>What came back</h3>" in page
    assert "<h3>Items that deserve a look</h3>" in page
    listed = results.one().items
    assert all(item in page for item in listed["item"])
    assert page.count("<svg") == 4  # scores and entropy, for wide and for narrow screens
    calib.report([results], tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert "### Items that deserve a look" in text
    assert max(map(len, re.split(r"(?<!\\) \| ", text))) < 450


@pytest.mark.slow
def test_many_judges_at_several_temperatures_share_one_page(tmp_path):
    scores = {f"i{i}": [1 + i % 5, 5] for i in range(30)}
    parts = [drawn(scores, rater=f"j{k // 2}").assign(temperature=0.3 + 0.4 * (k % 2)) for k in range(100)]
    items = pd.DataFrame({"item": list(scores), "judge": "a text", "people": "b"})
    results = calib.profile(pd.concat(parts, ignore_index=True), items=items)
    calib.report([results], tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert len(page) < 1_500_000
    assert page.count("judge of the item") > 0
    came_back, listed = blocks(results)
    assert came_back.frame["temperature"].tolist() == [0.3, 0.7] * 50
    # each judge has three items for each of two reasons
    assert 300 <= len(listed.frame) <= 600


def test_a_list_of_contradicting_prompts_stands_once_on_the_page():
    ratings = pd.concat([drawn({"a": [2], "b": [3]}, prompt="p"), drawn({"a": [5], "b": [3]}, prompt="q")])
    text = str(calib.report([calib.profile(ratings)]))
    assert text.count("prompts differ (3)") == 1


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".html", ".md"])
def test_hostile_texts_are_data(ending, tmp_path):
    names = [f"{HOSTILE}{i}" for i in range(15)]
    words = {"criterion": HOSTILE, "rater": HOSTILE}
    parts = [drawn({name: [low, 5, None] for name in names}, **words, prompt=f"{HOSTILE}{low}") for low in (1, 2)]
    ratings = pd.concat(parts, ignore_index=True)
    long = ratings["item"] == names[3]
    ratings["reply"] = pd.Series(np.where(long, TEXT + "<b>x" * 250_000, TEXT), dtype=object)
    people = labelled(dict.fromkeys(names, 4), HOSTILE + "ann").assign(criterion=HOSTILE)
    items = pd.DataFrame(
        {"item": names, "source": [TEXT] * 15, HOSTILE: ["t"] * 15, "output": [TEXT] * 15}, dtype=object
    )
    results = calib.profile(ratings, people, items=items)
    assert results[0].items["reply"].str.len().max() > 1_000_000
    calib.report([results], tmp_path / f"r{ending}", title=HOSTILE)
    text = (tmp_path / f"r{ending}").read_text(encoding="utf-8")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", text)
    assert len(text) < 1_500_000
    if ending == ".html":
        assert "characters)" in text
        assert text.count("<script") == 1
        assert "<img" not in text
        assert "alert(1)" not in text[text.index("<script") :]
    else:
        assert not re.search(r"(?<!\\)[<\[`]", re.sub(r"`[^`]*`", "", text.replace(r"\`", "")))


@pytest.mark.long
@pytest.mark.slow
def test_a_page_of_many_items_and_long_texts_stays_small(tmp_path):
    n = 100_000
    rng = np.random.default_rng(1)
    names = np.array([f"item-{i:06d}" for i in range(n)], dtype=object)
    weights = rng.dirichlet([0.3, 0.5, 1, 2, 1.5], n)
    frame = pd.DataFrame(
        {"item": np.repeat(names, 5), "score": np.tile([1.0, 2, 3, 4, 5], n), "weight": weights.ravel()}
    )
    parts = [frame.assign(criterion=name, rater="judge", method="logprob", scale=SCALE) for name in "ab"]
    items = pd.DataFrame({"item": names, "source": 'quoted " & <long> ' * 500, "output": "\u6f22\u5b57" * 3000})
    people = pd.DataFrame({"item": names[:500], "score": rng.integers(1, 6, 500).astype(float), "rater": "ann"})
    everyone = pd.concat([people.assign(criterion=name) for name in "ab"])
    results = calib.profile(pd.concat(parts, ignore_index=True), everyone, items=items)
    calib.report([results], tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size < 3_000_000
    assert sum(results[0].entropy.counts) == n
    np.testing.assert_allclose(results[0].shares.judge, weights.mean(axis=0))


# --- the shell --------------------------------------------------------------------------------------------------


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return end.value.code, *capsys.readouterr()


@pytest.fixture
def files(tmp_path, planted):
    items, people, ratings = planted
    for name, frame in {"items": items, "people": people, "ratings": ratings}.items():
        calib.table.write(frame, tmp_path / f"{name}.csv")
    return tmp_path


def test_the_command_says_what_the_verb_does(files, capsys, planted):
    options = (files / "people.csv", "--items", files / "items.csv", "--top", 7)
    code, out, err = run(capsys, "profile", files / "ratings.csv", *options, "--out", files / "look.csv")
    assert (code, err[:6]) == (0, "next: ")
    items, people, ratings = planted
    results = calib.profile(ratings, people, items=items, top=7)
    said = " ".join(out.split())
    assert all(" ".join(str(line).split()) in said for line in (results, *calib.conclusions(results)))
    assert f"people differ: {results.one().looks[0].item} (+" in said
    written = pd.read_csv(files / "look.csv")
    assert written["item"].tolist() == results.one().items["item"].tolist()
    assert {"criterion", "rater", "why", "value", "score", "label", "source", "output", "reply"} <= set(written)
    code, out, _ = run(capsys, "profile", files / "ratings.csv", "--out", files / "page.html")
    assert code == 0
    assert "Items that deserve a look" in (files / "page.html").read_text(encoding="utf-8")
    assert f"wrote {files / 'page.html'}" in out


def test_the_command_takes_a_file_of_ones_own(tmp_path, capsys):
    path = Path(tmp_path, "mine.csv")
    path.write_text("id,grade,label\na,4,5\nb,2,1\nc,5,\n", encoding="utf-8")
    own = ("--column", "item=id", "--judge", "grade", "--label", "label", "--scale", SCALE)
    code, out, _ = run(capsys, "profile", path, *own)
    assert code == 0
    assert "+0 from people on 2" in " ".join(out.split())
    code, _, err = run(capsys, "profile", path, "--out", tmp_path / "x.pdf")
    assert code == 2
    assert "must end in .html, .md, .csv, .jsonl or .parquet" in err


# --- recorded judges --------------------------------------------------------------------------------------------


@needs_data
def test_llm_rubric_by_hand():
    _, ratings = calib.load_llm_rubric()
    found = calib.profile(ratings).select(criterion="Q0").one()
    asked = ratings[ratings["criterion"] == "Q0"]
    p = asked[asked["method"] == "logprob"].pivot_table(index="item", columns="score", values="weight", observed=True)
    p = p.div(p.sum(axis=1), axis=0)
    np.testing.assert_allclose(found.shares.judge, p.mean())
    labels = asked[(asked["method"] == "human") & asked["score"].notna()]
    np.testing.assert_allclose(found.shares.labels, labels["score"].value_counts(normalize=True).reindex([1, 2, 3, 4]))
    gap = p @ [1, 2, 3, 4] - labels.groupby("item", observed=True)["score"].mean().rename(index=str).reindex(p.index)
    assert found.difference == pytest.approx(gap.mean())
    assert found.looks[0].item == gap.abs().idxmax()


@pytest.mark.slow
@needs_data
def test_topical_chat_by_hand():
    items, ratings = calib.load_topical_chat()
    found = calib.profile(ratings, items=items).select(criterion="groundedness").one()
    asked = ratings[(ratings["criterion"] == "groundedness") & (ratings["method"] == "sample")]
    assert dict(found.statuses) == asked["status"].value_counts().loc[lambda n: n > 0].to_dict()
    assert names_of(found) == ["unread"]
    first = found.items[found.items["why"] == "unread"].iloc[0]
    lost = asked[asked["score"].isna()].groupby("item", observed=True).size()
    assert first["value"] == lost.max()
    words = asked[(asked["item"] == first["item"]) & asked["score"].isna()]["reply"].iloc[0]
    assert words in first["reply"]
    assert first["output"] == items.set_index("item").loc[first["item"], "output"]
