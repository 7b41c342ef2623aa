"""Agreement on tables: alignment by item, gaps as zero, conventions, several judges and prompts, panels of people."""

import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

import calib
from calib import stats
from calib.table import TableError

NAN = math.nan
SYSTEMS, GROUPS = (index.ravel() for index in np.indices((5, 12)))
ITEMS = np.array([f"item {k}" for k in np.random.default_rng(0).permutation(60)])  # not in the order of their names
RNG = np.random.default_rng(8)
TRUTH = RNG.integers(1, 6, 60).astype(float)
FINE, COARSE, POOR = (np.clip(np.round(TRUTH + RNG.normal(0, sd, 60), 1), 1, 5) for sd in (0.8, 1.2, 2.0))
PEOPLE = np.clip(TRUTH[:, None] + RNG.integers(-1, 2, (60, 4)), 1, 5)
DESIGN = {"groups": GROUPS, "systems": SYSTEMS}
people_warn = pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")


def table(rater, scores, *, design=True, **columns):
    """A table of scores of one rater; NaN as an unread score."""
    frame = pd.DataFrame({"item": ITEMS, "criterion": "tone", "rater": rater, "method": "sample", "score": scores})
    frame = frame.assign(n=np.where(np.isnan(frame["score"]), 0, 1), n_unread=np.isnan(frame["score"]).astype(int))
    if design:
        frame = frame.assign(group=[f"doc {g}" for g in GROUPS], system=[f"sys {s}" for s in SYSTEMS])
    return frame.assign(**columns)


def human(scores=TRUTH, rater="ann", **columns):
    return table(rater, scores, method="human", **columns)


def panel(**columns):
    return pd.concat([human(PEOPLE[:, k], f"person {k}", **columns) for k in range(4)], ignore_index=True)


def shuffled(frame, seed=1):
    return frame.sample(frac=1, random_state=seed)


def same(found, wanted):
    """The numbers of two results."""
    assert_frame_equal(found.to_frame(), wanted.to_frame(), check_exact=False, rtol=1e-12)


def message(error, function, *args, **options):
    with pytest.raises(error) as caught:
        function(*args, **options)
    return str(caught.value)


def unique(results):
    texts = [str(label) for label in results.labels]
    return len(set(texts)) == len(texts)


# --- alignment --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["item", "group", "system"])
def test_items_are_matched_whatever_their_order_and_who_has_them(level):
    judge, people = table("judge", FINE).iloc[:50], human().iloc[10:]
    result = calib.agreement(shuffled(judge), shuffled(people, 2), level=level)
    cut = slice(10, 50)
    labels = {name: v[cut] for name, v in DESIGN.items()}
    same(result.one(), stats.agreement(FINE[cut], TRUTH[cut], **labels, level=level))
    assert (result.labels[0]["n_unlabelled"], result.labels[0]["n_unmatched"]) == (10, 10)


@pytest.mark.parametrize("kind", ["category", "int", "odd index", "ordered category"])
def test_ids_of_any_kind(kind):
    judge, people = shuffled(table("judge", FINE)), human()
    if kind == "int":
        number = {item: k for k, item in enumerate(ITEMS)}
        judge, people = (
            f.assign(item=f["item"].map(number), group=f["group"].str[4:].astype(int)) for f in (judge, people)
        )
    elif kind == "category":
        judge = judge.astype(dict.fromkeys(["item", "criterion", "rater", "group", "system"], "category"))
    elif kind == "odd index":
        judge.index = people.index = ["same label"] * 60
    else:  # categories in another order on each side, and some that do not occur
        levels = [*sorted(ITEMS), "no such item"]
        judge = judge.assign(item=pd.Categorical(judge["item"], levels, ordered=True))
        people = people.assign(item=pd.Categorical(people["item"], levels[::-1], ordered=True))
    same(calib.agreement(judge, people, level="group").one(), stats.agreement(FINE, TRUTH, **DESIGN, level="group"))


@pytest.mark.parametrize("side", ["judge", "human", "both"])
def test_the_design_comes_from_either_side(side):
    judge, people = table("judge", FINE, design=side != "human"), human(design=side != "judge")
    same(calib.agreement(shuffled(judge), people).one(), stats.agreement(FINE, TRUTH, **DESIGN))


# --- gaps as zero -----------------------------------------------------------------------------------------------

DRAWS = [
    # item, draw, score, status: two of three read; none read; all read; one of two read
    ("a", 0, 4, "ok"), ("a", 1, 5, "ok"), ("a", 2, NAN, "unread"),
    ("b", 0, NAN, "refused"), ("b", 1, NAN, "truncated"),
    ("c", 0, 3, "ok"), ("c", 1, 4, "ok"),
    ("d", 0, 2, "ok"), ("d", 1, NAN, "failed"),
    ("e", 0, 5, "ok"),
]  # fmt: skip
AS_ZERO, AS_MEAN = [3.0, 0.0, 3.5, 1.0, 5.0], [4.5, NAN, 3.5, 2.0, 5.0]
LABELS = [4.0, 3.0, 1.0, 2.0, 5.0]


def drawn():
    ratings = pd.DataFrame(DRAWS, columns=["item", "draw", "score", "status"])
    return ratings.assign(
        criterion="tone", rater="judge", method="sample", temperature=1.0, scale="1|2|3|4|5", weight=1.0
    )


def labelled(scores=LABELS):
    return pd.DataFrame({"item": list("abcde"), "criterion": "tone", "rater": "ann", "score": scores})


@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall"])
def test_each_unread_draw_is_zero_within_the_mean(method):
    options = {"method": method, "interval": "none"}
    zero = calib.agreement(drawn(), labelled(), missing="zero", **options).one()
    drop = calib.agreement(drawn(), labelled(), missing="drop", **options).one()
    wanted = [stats.agreement(x, LABELS, **options).estimate for x in (AS_ZERO, AS_MEAN)]
    assert_allclose([zero.estimate, drop.estimate], wanted, rtol=1e-12)
    assert_allclose([zero.estimate_other_missing, drop.estimate_other_missing], wanted[::-1], rtol=1e-12)
    assert zero.estimate != drop.estimate
    assert (zero.n, drop.n) == (5, 4)
    assert (zero.n_missing, drop.n_missing) == (1, 1)
    assert (zero.missing, drop.missing) == ("zero", "drop")
    assert "missing-as-zero" in zero.signature
    assert "missing-as-zero" not in drop.signature


def test_an_item_that_the_judge_was_not_asked_about_stays_out():
    ratings = drawn()[lambda f: f["item"] != "c"]
    result = calib.agreement(ratings, labelled(), missing="zero", method="pearson", interval="none")
    keep = [0, 1, 3, 4]
    wanted = stats.agreement(np.take(AS_ZERO, keep), np.take(LABELS, keep), method="pearson", interval="none")
    assert_allclose(result.one().estimate, wanted.estimate)
    assert (result.one().n, result.labels[0]["n_unmatched"]) == (4, 1)


@pytest.mark.parametrize("judge_first", [True, False])
def test_a_human_gap_is_never_zero(judge_first):
    people = labelled([4.0, 3.0, 1.0, NAN, 5.0]).assign(status=["ok"] * 3 + ["unread", "ok"])
    tables = (drawn(), people) if judge_first else (people, drawn())
    result = calib.agreement(*tables, missing="zero", method="pearson", interval="none").one()
    x = AS_ZERO if judge_first else AS_MEAN  # a judge on the side of the human is not filled
    keep = [0, 1, 2, 4]
    wanted = stats.agreement(np.take(x, keep), np.take(LABELS, keep), method="pearson", interval="none")
    assert_allclose(result.estimate, wanted.estimate)


def test_two_people_have_nothing_to_fill_and_missing_is_one_of_two():
    gaps = human(np.where(np.arange(60) < 5, NAN, TRUTH), "bob")
    zero, drop = (calib.agreement(gaps, human(FINE), missing=m).one() for m in ("zero", "drop"))
    assert (zero.estimate, zero.n, zero.estimate_other_missing) == (drop.estimate, 55, drop.estimate)
    said = message(ValueError, calib.agreement, drawn(), labelled(), missing="mean")
    assert "`missing` must be one of 'drop', 'zero'" in said


@pytest.mark.parametrize("missing", ["drop", "zero"])
def test_both_estimates_are_on_the_stated_scale(missing):
    """By their values alone the two sides would be on two scales."""
    ratings = drawn().assign(scale="0..100", score=lambda f: f["score"] * 10 + 40)
    labels = labelled().assign(scale="0..100")
    found = calib.agreement(ratings, labels, missing=missing, method="exact", interval="none").one()
    assert found.estimate == found.estimate_other_missing == 0


# --- parts ------------------------------------------------------------------------------------------------------


def test_each_part_is_the_agreement_of_its_items():
    language = np.where(SYSTEMS < 2, "de", "en")
    found = calib.agreement(table("judge", FINE, language=language), human(), by="language")
    assert {label["language"] for label in found.labels} == {"de", "en"}
    for name in ("de", "en"):
        mine = language == name
        wanted = stats.agreement(FINE[mine], TRUTH[mine], groups=GROUPS[mine], systems=SYSTEMS[mine])
        same(found.select(language=name).one(), wanted)


def test_a_part_with_few_labels_or_none_is_named():
    """Items without a value are in no part; a label without a score may be of any."""
    language = np.full(60, "en", dtype=object)
    language[:3], language[3:5], language[5] = "de", "fr", None
    labels = (
        human(design=False).iloc[[0, 1, *range(5, 60)]].assign(item=lambda rows: [*rows["item"][:-1], "not scored"])
    )
    judge = table("judge", FINE, language=language, design=False)
    with pytest.warns(stats.CalibWarning) as told:
        found = calib.agreement(judge, labels, by="language")
    texts = [str(one.message) for one in told]
    assert "without_value: 1 of 60 items have no 'language' and are in no part of it." in texts
    assert (
        "left_out: tone, judge, sample, ann, fr: `labels` must be of items with scores, but no item has both." in texts
    )
    few = found.select(language="de")
    assert (few.one().n, few.one().reason) == (2, "2 items are too few")
    assert "Without an interval: de (2 items are too few, n = 2)." in " ".join(calib.conclusions(found))
    assert [label["n_unmatched"] for label in found.labels] == [1, 1]  # the label of no score
    assert [label["n_unlabelled"] for label in found.labels] == [1, 1]
    with pytest.raises(TableError, match="a column called 'score' cannot be used here"):
        calib.agreement(judge, labels, by="score")


# --- conventions ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@people_warn
@pytest.mark.parametrize("convention", sorted(stats.CONVENTIONS))
def test_a_convention_is_its_parts(convention):
    judge = table("judge", np.where(np.arange(60) % 13 == 0, NAN, FINE))
    found = calib.agreement(judge, human(), convention=convention)
    rules = stats.CONVENTIONS[convention]
    assert len(found) == len(rules)
    for result, label, rule in zip(found.results, found.labels, rules, strict=True):
        assert label["convention"] == convention
        same(result, calib.agreement(judge, human(), **rule).one())
        assert {
            "level": result.level,
            "coefficient": result.coefficient,
            "missing": result.missing,
        }.items() <= rule.items()


def test_what_conventions_are():
    """G-Eval: within documents, unread as 0. BARTScore: within documents. The others over items or systems."""
    seen = {
        name: {(rule["level"], rule["coefficient"], rule["missing"]) for rule in rules}
        for name, rules in stats.CONVENTIONS.items()
    }
    three = ("pearson", "spearman", "kendall")
    assert seen["geval"] == {("group", method, "zero") for method in three}
    assert seen["unieval"] == {("item", method, "drop") for method in three}
    assert seen["bartscore"] == {("group", method, "drop") for method in ("spearman", "kendall")}
    assert seen["chiang-lee"] == {("item", "pearson", "drop"), ("group", "kendall", "drop")}
    assert ("system", "kendall", "drop") in seen["summeval"]


@pytest.mark.parametrize(
    "conflict",
    [{"level": "group"}, {"method": "pearson"}, {"coefficient": "pearson"}, {"constant": "zero"}, {"missing": "zero"}],
)
def test_a_convention_sets_its_own_rules(conflict):
    (name,) = conflict
    said = message(ValueError, calib.agreement, table("judge", FINE), human(), convention="geval", **conflict)
    assert said.startswith(f"`{name}` is set by `convention` 'geval', but got {conflict[name]!r}")
    said = message(ValueError, calib.agreement, table("judge", FINE), human(), convention="g-eval")
    assert said.startswith("`convention` must be one of 'geval'")
    assert "'g-eval'" in said


CALLS = {
    "agreement": lambda **how: calib.agreement(table("a", FINE), human(), **how),
    "compare": lambda **how: calib.compare(table("a", FINE), table("b", COARSE), human(), **how),
    "rank_judges": lambda **how: calib.rank_judges(
        pd.concat([table("a", FINE), table("b", COARSE)], ignore_index=True), human(), **how
    ),
    "reliability": lambda **how: calib.reliability(panel(), table("a", FINE), **how),
}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_coefficient_has_two_names(call):
    named, as_pandas = call(coefficient="pearson").one(), call(method="pearson").one()
    assert named.signature == as_pandas.signature != call().one().signature
    same(named, as_pandas)
    said = message(ValueError, call, method="kendall", coefficient="pearson")
    assert said.endswith("`method` must be that of `coefficient` ('pearson'), but got 'kendall'.")


# --- few systems, one group -------------------------------------------------------------------------------------


def two_systems(frame):
    return frame[frame["system"].isin(["sys 0", "sys 1"])]


@pytest.mark.slow
@pytest.mark.parametrize("level", ["item", "group", "system"])
def test_systems_are_fixed_below_six_or_as_asked(level):
    for systems in ("auto", "fixed", "random"):
        options = {"level": level, "method": "pearson"}
        found = calib.agreement(table("judge", FINE), human(), **options, systems=systems).one()
        same(found, stats.agreement(FINE, TRUTH, **DESIGN, **options, systems_are=systems))
        assert found.systems_are == ("random" if systems == "random" else "fixed")
        pair = calib.compare(table("a", FINE), table("b", COARSE), human(), **options, systems=systems).one()
        same(pair, stats.compare(FINE, COARSE, TRUTH, **DESIGN, **options, systems_are=systems, names=("a", "b")))
        judges = pd.concat([table("a", FINE), table("b", COARSE)])
        ranked = calib.rank_judges(judges, human(), **options, systems=systems).one()
        assert {result.systems_are for result in (*ranked.agreements, *ranked.comparisons)} == {found.systems_are}


@pytest.mark.parametrize("level", ["item", "group"])
def test_two_systems_with_groups_have_an_interval(level):
    """As the README advises, both columns are named."""
    a, b, people = (two_systems(frame) for frame in (table("a", FINE), table("b", COARSE), human()))
    for found in (calib.agreement(a, people, level=level).one(), calib.compare(a, b, people, level=level).one()):
        assert found.interval.low <= found.estimate <= found.interval.high
        assert found.generalises_to == "new groups, these systems"
        assert "new groups, these systems" in found.conclusion
    (said,) = {calib.agreement(a, people, level=level, systems="random").one().reason for _ in range(2)}
    assert bool(said) == (level == "group")


def test_an_option_about_systems_is_refused_in_its_own_name():
    judge, people = table("judge", FINE), human()
    said = message(ValueError, calib.agreement, judge, people, systems="few")
    assert "`systems` must be one of 'auto', 'fixed', 'random'" in said
    said = message(ValueError, calib.agreement, judge, people, systems="fixed", interval="boot-systems")
    assert said.endswith("`interval` 'boot-systems' draws systems, so `systems` must not be 'fixed'.")
    judge, people = (frame.drop(columns="system") for frame in (judge, people))
    said = message(ValueError, calib.agreement, judge, people, interval="boot-systems")
    assert "`system` must be given for 'boot-systems'" in said


def test_one_group_at_level_group_is_an_error():
    judges = [table(name, scores, group="one") for name, scores in (("a", FINE), ("b", COARSE))]
    people = human(group="one")
    said = "`group` must hold two groups or more with scores at level 'group', but holds one."
    assert said in message(ValueError, calib.agreement, judges[0], people, level="group")
    assert said in message(ValueError, calib.compare, *judges, people, level="group")
    assert said in message(ValueError, calib.rank_judges, pd.concat(judges), people, level="group")
    assert calib.agreement(judges[0], people, level="item").one().generalises_to == (
        "new items of these systems, each independent of the others"
    )


def test_williams_is_refused_for_items_that_share_groups():
    judges = [table(name, scores) for name, scores in (("a", FINE), ("b", COARSE))]
    said = message(ValueError, calib.compare, *judges, human(), method="pearson", test="williams")
    assert said.endswith("`test` 'williams' takes items as independent: 'jackknife' is for items that share `group`.")
    alone = [frame.drop(columns=["group", "system"]) for frame in (*judges, human())]
    assert calib.compare(*alone, method="pearson", test="williams").one().test == "williams"


# --- one judge against another ----------------------------------------------------------------------------------


def test_what_a_judge_left_unread_is_said_and_what_it_was_not_asked_is_not():
    gap = np.where(np.arange(60) < 45, NAN, COARSE)
    with pytest.warns(stats.CalibWarning, match="b has no score for 40 of 55 labelled items"):
        results = calib.compare(table("a", FINE), table("b", gap).iloc[5:], human())
    found = results.one()
    assert (found.n, found.n_missing_first, found.n_missing_second) == (15, 0, 40)
    assert results.labels[0]["n_unmatched"] == 5
    assert found.warnings
    alone = calib.agreement(table("b", gap), human()).one()
    assert alone.warnings == ("items_left_out: the judge has no score for 45 of 60 labelled items",)


@pytest.mark.parametrize("level", ["item", "group", "system"])
@pytest.mark.parametrize("method", ["pearson", "kendall"])
def test_compare_is_that_of_the_arrays(level, method):
    options = {"level": level, "method": method, "confidence_level": 0.9}
    a, b = table("a", FINE), table("b", COARSE)
    found = calib.compare(shuffled(a), shuffled(b, 2), shuffled(human(), 3), **options).one()
    same(found, stats.compare(FINE, COARSE, TRUTH, **DESIGN, **options, names=("a", "b")))


def test_compare_hands_all_options_on():
    options = {"level": "group", "method": "pearson", "test": "perm-axes", "constant": "zero", "n_resamples": 99}
    flat = np.where(GROUPS == 3, 2.0, FINE)
    found = calib.compare(table("a", flat), table("b", COARSE), human(), **options, rng=7).one()
    same(found, stats.compare(flat, COARSE, TRUTH, **DESIGN, **options, names=("a", "b"), rng=np.random.default_rng(7)))
    assert found.n_groups == 12


def test_only_what_all_three_scored_is_compared():
    gap = np.where(np.arange(60) == 30, NAN, FINE)
    a, b, people = table("a", gap).iloc[:50], table("b", COARSE).iloc[10:], human().iloc[:55]
    found = calib.compare(shuffled(a), b, shuffled(people), level="group")
    cut = slice(10, 50)
    labels = {name: v[cut] for name, v in DESIGN.items()}
    same(found.one(), stats.compare(gap[cut], COARSE[cut], TRUTH[cut], **labels, level="group", names=("a", "b")))
    assert (found.one().n_missing, found.labels[0]["n_unmatched"]) == (1, 20)


@pytest.mark.slow
@pytest.mark.parametrize("who", list(itertools.product([True, False], repeat=3))[:-1])
@pytest.mark.parametrize("level", ["item", "group"])
def test_compare_takes_the_design_from_whoever_has_it(who, level):
    a, b, people = table("a", FINE, design=who[0]), table("b", COARSE, design=who[1]), human(design=who[2])
    found = calib.compare(shuffled(a).iloc[5:], b.iloc[:50], shuffled(people, 2), level=level, systems="random").one()
    keep = np.isin(ITEMS, shuffled(a).iloc[5:]["item"]) & (np.arange(60) < 50)
    labels = {name: v[keep] for name, v in DESIGN.items()}
    assert found.interval_method == "two-way jackknife"
    options = {"level": level, "systems_are": "random", "names": ("a", "b")}
    same(found, stats.compare(FINE[keep], COARSE[keep], TRUTH[keep], **labels, **options))


def test_without_a_design_items_are_independent():
    a, b, people = table("a", FINE, design=False), table("b", COARSE, design=False), human(design=False)
    assert calib.compare(a, b, people).one().interval_method == "item jackknife"
    assert "`group`" in message(TableError, calib.compare, a, b, people, level="group")


def test_prompts_criteria_and_judges_are_told_apart():
    two = pd.concat([table("b", COARSE, prompt="short"), table("b", POOR, prompt="long"), table("c", POOR)])
    more = pd.concat([two, two.assign(criterion="style")], ignore_index=True)
    a = pd.concat([table("a", FINE), table("a", FINE, criterion="style")])
    people = pd.concat([human(), human(criterion="style")])
    found = calib.compare(a, more, people)
    assert len(found) == 6
    assert unique(found)
    for versus, x in (("b (short)", COARSE), ("b (long)", POOR)):
        one = found.select(criterion="style", versus=versus).one()
        assert one.names[1] == versus
        assert one.second == pytest.approx(stats.agreement(x, TRUTH, interval="none").estimate)
    assert list(found.to_frame()["versus"].unique()) == list(dict.fromkeys(label["versus"] for label in found.labels))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "one", "two"),
    [("prompt", "p1", "p2"), ("method", "sample", "logprob"), ("temperature", 0.5, 1.0), ("temperature", 1.0, NAN)],
)
def test_one_judge_in_two_ways(column, one, two):
    a, b = table("j", FINE, **{column: one}), table("j", COARSE, **{column: two})
    found = calib.compare(a, b, human()).one()
    assert found.names == (f"j ({one})", f"j ({two})")
    both = pd.concat([a, b])
    assert sorted(calib.rank_judges(both, human()).one().names) == sorted(found.names)
    there_and_back = calib.compare(both, both, human())
    assert len(there_and_back) == 2
    assert unique(there_and_back)
    assert there_and_back[0].estimate == pytest.approx(-there_and_back[1].estimate)


def test_a_judge_is_not_compared_with_itself_nor_where_nothing_is_in_common():
    said = message(TableError, calib.compare, table("a", FINE), table("a", FINE), human())
    assert said.startswith("`scores_a` and `scores_b` must hold two judges of one criterion")
    said = message(TableError, calib.compare, table("a", FINE), table("b", FINE, criterion="style"), human())
    assert "tone by a" in said or "style by b" in said
    a, b = table("a", FINE).iloc[:20], table("b", COARSE).iloc[20:40]
    assert "no item has both" in message(TableError, calib.compare, a, b, human())
    assert "two judges or more" in message(ValueError, calib.rank_judges, table("a", FINE), human())


# --- many judges ------------------------------------------------------------------------------------------------


def test_rank_judges_is_that_of_the_arrays():
    scores = {"a": POOR, "b": FINE, "c": COARSE}
    tables = pd.concat([table(name, x) for name, x in scores.items()])
    options = {"level": "group", "method": "pearson", "correction": "bh"}
    found = calib.rank_judges(shuffled(tables), shuffled(human(), 2), **options)
    wanted = stats.rank_judges(scores, TRUTH, **DESIGN, **options)
    same(found.one(), wanted)
    assert_allclose(found.one().p_values, wanted.p_values)
    assert found.labels[0] == {"criterion": "tone", "against": "ann"} | {
        k: v for k, v in found.labels[0].items() if k.startswith("n_")
    }


@pytest.mark.parametrize("people_have_it", [True, False])
def test_judges_that_lack_items_are_ranked_on_the_common_ones(people_have_it):
    gap = np.where(np.arange(60) == 30, NAN, COARSE)
    tables = [table("a", POOR).iloc[:50], table("b", FINE).iloc[10:], table("c", gap)]
    with pytest.warns(calib.stats.CalibWarning, match="21 of 60 items are left out"):
        found = calib.rank_judges(shuffled(pd.concat(tables)), human(design=people_have_it), level="group").one()
    keep = (np.arange(60) >= 10) & (np.arange(60) < 50) & (np.arange(60) != 30)
    labels = {name: v[keep] for name, v in DESIGN.items()}
    judges = {"a": POOR[keep], "b": FINE[keep], "c": COARSE[keep]}
    wanted = stats.rank_judges(judges, TRUTH[keep], **labels, level="group")
    assert found.names == wanted.names
    assert [a.estimate for a in found.agreements] == pytest.approx([a.estimate for a in wanted.agreements])
    assert [c.p_value for c in found.comparisons] == pytest.approx([c.p_value for c in wanted.comparisons])
    assert found.n_missing == 21


# --- people -----------------------------------------------------------------------------------------------------


@people_warn
@pytest.mark.parametrize("level", ["item", "group", "system"])
def test_reliability_is_that_of_the_arrays(level):
    found = calib.reliability(shuffled(panel()), shuffled(table("a", FINE), 2), level=level)
    order = list(dict.fromkeys(shuffled(panel())["rater"]))
    columns = PEOPLE[:, [int(name[-1]) for name in order]]
    wanted = stats.reliability(columns, FINE, **DESIGN, level=level)
    assert_frame_equal(found.one().to_frame(), wanted.to_frame(), check_exact=False, rtol=1e-9)


@pytest.mark.slow
@people_warn
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_rows_in_any_order_have_the_same_reliability(seed):
    """Groups and systems stay with their items where people and judge come in unlike orders, with gaps."""
    people = panel().drop(index=[3, 17, 64, 130, 200]).iloc[:-8]  # another set of items for each person
    judge = table("a", FINE).iloc[4:]
    for level in ("group", "system"):
        one = calib.reliability(people, judge, level=level).one()
        other = calib.reliability(shuffled(people, seed), shuffled(judge, seed + 1), level=level).one()
        assert_frame_equal(other.to_frame(), one.to_frame(), check_exact=False, rtol=1e-9)


@people_warn
def test_missing_ratings_are_gaps_and_unmatched_items_are_counted():
    ratings = PEOPLE.copy()
    gaps = [(3, 0), (17, 0), (4, 1), (10, 2)]
    for place in gaps:
        ratings[place] = NAN
    people = panel().drop(index=[60 * k + i for i, k in gaps])
    judge = table("a", FINE).iloc[6:]
    found = calib.reliability(people, judge, level="group")
    keep = slice(6, 60)
    labels = {name: v[keep] for name, v in DESIGN.items()}
    wanted = stats.reliability(ratings[keep], FINE[keep], **labels, level="group")
    assert_frame_equal(found.one().to_frame(), wanted.to_frame(), check_exact=False, rtol=1e-9)
    assert found.labels[0]["n_unmatched"] == 6


@people_warn
def test_one_rater_under_two_prompts_is_two_raters():
    raters = [("j", "p1"), ("j", "p2"), ("k", "p1"), ("k", "p2")]
    tables = [table(rater, PEOPLE[:, i], prompt=prompt) for i, (rater, prompt) in enumerate(raters)]
    for k in (2, 4):
        found, wanted = calib.reliability(pd.concat(tables[:k])), stats.reliability(PEOPLE[:, :k], **DESIGN)
        assert_frame_equal(found.one().to_frame(), wanted.to_frame(), check_exact=False, rtol=1e-9)
        assert found.labels[0]["n_raters"] == k


@people_warn
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("where", ["people", "judge"])
def test_annotator_test_is_that_of_the_arrays(clustered, where):
    people, judge = panel(design=where == "people"), table("a", FINE, design=where == "judge")
    found = calib.alternative_annotator_test(shuffled(judge), shuffled(people, 2), clustered=clustered, epsilon=0.1)
    order = list(dict.fromkeys(shuffled(people, 2)["rater"]))
    columns = PEOPLE[:, [int(name[-1]) for name in order]]
    wanted = stats.alternative_annotator_test(FINE, columns, groups=GROUPS if clustered else None, epsilon=0.1)
    assert_frame_equal(found.one().to_frame(), wanted.to_frame(), check_exact=False, rtol=1e-9)


@people_warn
def test_who_is_missing_is_said():
    assert "2 raters of 'tone' or more, but has ann" in message(TableError, calib.reliability, human())
    people, judge = panel(design=False), table("a", FINE, design=False)
    assert "`group`" in message(TableError, calib.alternative_annotator_test, judge, people, clustered=True)
    two = panel()[lambda f: f["rater"].isin(["person 0", "person 1"])]
    said = message(TableError, calib.alternative_annotator_test, table("a", FINE), two)
    assert "3 raters of 'tone' or more, but has person 0, person 1" in said
    for verb in (calib.reliability, calib.alternative_annotator_test):
        tables = (panel(), table("a", FINE, criterion="style"))
        said = message(TableError, verb, *(tables if verb is calib.reliability else tables[::-1]))
        assert "must share a criterion" in said


@people_warn
def test_each_criterion_and_judge_has_its_result():
    people = pd.concat([panel(), panel(criterion="style")])
    judges = pd.concat([table("a", FINE), table("b", COARSE), table("a", POOR, criterion="style")])
    found = calib.reliability(people, judges)
    assert [(label["criterion"], label["rater"]) for label in found.labels] == [
        ("tone", "a"), ("tone", "b"), ("style", "a"),
    ]  # fmt: skip
    assert unique(found)


# --- how results show themselves --------------------------------------------------------------------------------

HOSTILE = "<script>alert(1)</script>|v:9\n%s {0}"


@pytest.mark.slow
@people_warn
def test_hostile_names_do_no_harm():
    scores = pd.concat([table(HOSTILE, FINE), table("b", COARSE), table("b", POOR, prompt=HOSTILE)])
    people = human(rater=HOSTILE + "h")
    every = [
        calib.agreement(scores, people),
        calib.agreement(scores, people, convention="geval"),
        calib.compare(scores, scores, people),
        calib.rank_judges(scores, people),
        calib.reliability(panel(), scores),
        calib.alternative_annotator_test(scores, panel()),
    ]
    for results in every:
        assert unique(results) or "convention" in results.labels[0]
        assert "<script>" not in results._repr_html_()
        assert all("script" not in result.signature for result in results.results)
        frame = results.to_frame()
        assert frame.columns.is_unique
        assert len(frame) >= len(results)
        assert str(results)
        again = pickle.loads(pickle.dumps(results))
        assert str(again) == str(results)
        assert_frame_equal(again.to_frame(), frame)
    assert calib.agreement(scores, people).select(rater=HOSTILE).one().n == 60


def test_no_number_is_lost_to_a_label_and_the_tables_are_left_as_they_were():
    a, b, people = table("a", FINE), table("b", COARSE), panel()
    before = [frame.copy() for frame in (a, b, people)]
    for results in (calib.compare(a, b, human()), calib.rank_judges(pd.concat([a, b]), human())):
        frame, alone = results.to_frame(), results.one().to_frame()
        for name in alone:
            assert frame[name].tolist() == alone[name].tolist(), name
    calib.alternative_annotator_test(a, people)
    for after, frame in zip((a, b, people), before, strict=True):
        assert_frame_equal(after, frame)
