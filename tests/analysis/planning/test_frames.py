"""Before labels are paid for, on tables: what `choose` writes is what `interval` reads, through files too."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

import calib
from calib import cli, stats
from calib.analysis.planning.frames import DESIGN
from calib.table import TableError

NAN = math.nan
FIVE = "1|2|3|4|5"
FORMATS = ["csv", "jsonl", "parquet"]


def people(judge, labels, **columns):
    """One rater's labels of the same items."""
    frame = judge[["item", "criterion"]].assign(rater="ann", score=labels, scale=FIVE)
    return frame.assign(**columns)


def world(seed=0, m=240, documents=None):
    """A judge that is unsure, and then too kind, of the better items."""
    rng = np.random.default_rng(seed)
    f = rng.normal(3.2, 0.9, m).clip(1, 5)
    unsure = np.where(f > 3.5, 1.0, 0.1)
    y = np.round(f - 0.4 * (f > 3.5) + rng.normal(0, 1, m) * unsure).clip(1, 5)
    documents = m if documents is None else documents
    judge = pd.DataFrame(
        {
            "item": [f"i{k}" for k in range(m)],
            "criterion": "coherence",
            "rater": "judge",
            "score": f,
            "scale": FIVE,
            "entropy": unsure,
            "group": [f"d{k % documents}" for k in range(m)],
            "system": np.where(np.arange(m) < m * 3 // 4, "big", "small"),
        }
    )
    return judge, people(judge, y)


JUDGE, HUMAN = world()
COUNTED = {"half_width": 0.3}


def labelled(drawn, human=HUMAN):
    return human[drawn["chosen"].to_numpy()].sample(frac=1, random_state=2)


def names(result):
    return [text.partition(":")[0] for text in result.warnings]


def said(error, function, *args, **options):
    with pytest.raises(error) as caught:
        function(*args, **options)
    return str(caught.value)


def run(*arguments):
    with warnings.catch_warnings(), pytest.raises(SystemExit) as done:
        warnings.simplefilter("default")  # they are lines on the error stream
        cli.main([str(a) for a in arguments])
    return done.value.code


# --- choose, then interval --------------------------------------------------------------------------------------


def by_hand(drawn, human, **options):
    y = human.set_index("item")["score"].reindex(drawn["item"]).where(drawn["chosen"].to_numpy()).to_numpy()
    return stats.ppi_mean(y, drawn["score"], bounds=(1, 5), step=1, **options)


@pytest.mark.parametrize(("design", "told"), [("simple", "items"), ("strata", "strata"), ("active", "weighted")])
def test_the_estimator_is_that_of_the_drawing(design, told):
    drawn = calib.choose(JUDGE, 60, design=design, rng=3)
    column = {"strata": {"strata": drawn["stratum"]}, "active": {"inclusion": drawn["inclusion"]}}.get(design, {})
    found = calib.interval(drawn.sample(frac=1, random_state=1), labelled(drawn)).one()
    wanted = by_hand(drawn, HUMAN, **column)
    assert (found.design, found.n_labels, found.warnings) == (told, drawn["chosen"].sum(), wanted.warnings)
    assert [found.estimate, *found.interval] == pytest.approx([wanted.estimate, *wanted.interval], rel=1e-10)
    plain = by_hand(drawn, HUMAN)
    assert (found.interval == pytest.approx(plain.interval)) == (design == "simple")


def test_whole_documents():
    judge, human = world(1, 240, documents=40)
    drawn = calib.choose(judge, 60, design="groups", rng=3)
    assert drawn.groupby("group", observed=True)["chosen"].nunique().eq(1).all()
    found = calib.interval(drawn, labelled(drawn, human)).one()
    wanted = by_hand(drawn, human, groups=drawn["group"])
    assert (found.design, found.n_groups) == ("groups", 10)
    assert found.interval == pytest.approx(wanted.interval)
    assert "repeated_groups" in names(calib.interval(drawn, labelled(drawn, human), groups=None).one())


def test_what_is_written():
    drawn = calib.choose(JUDGE, 40, design="strata", on="entropy", n_strata=2, rng=1)
    assert list(drawn.columns[-4:]) == list(DESIGN)
    assert drawn.drop(columns=list(DESIGN)).equals(calib.table.check_scores(JUDGE))
    assert drawn["chosen"].sum() == 40
    # Neyman: the unsure stratum has a larger share of a third of the labels; to the next whole number
    root = np.sqrt(drawn["entropy"])
    spread = (((2 * root.mean() + root) ** 2).groupby(drawn["stratum"]).mean()) ** 0.5
    size = drawn.groupby("stratum").size()
    wanted = 40 * size * spread / (size * spread).sum()
    share = drawn.groupby("stratum")["chosen"].mean()
    assert (share * size).tolist() == pytest.approx(wanted.tolist(), abs=1)
    assert share.iloc[1] > 1.3 * share.iloc[0]
    assert drawn.groupby("stratum")["inclusion"].first().tolist() == pytest.approx(share.tolist())
    again = calib.choose(drawn, 30, rng=1)
    assert list(again.columns) == list(drawn.columns)
    assert (again["design"] == "simple").all()


@pytest.mark.slow
@pytest.mark.parametrize("design", ["simple", "strata"])
def test_a_drawing_for_each_system_serves_the_mean_of_all(design):
    # 30 labels of 180 items and 30 of 20: the small system must not count for half
    rng = np.random.default_rng(5)
    hits, off = 0, []
    for seed in range(25):
        judge, _ = world(seed, 200)
        judge["system"] = np.where(np.arange(200) < 160, "big", "small")
        y = judge["score"] + np.where(judge["system"] == "big", 0.4, -1.2) + rng.normal(0, 0.4, 200)
        human = people(judge, y.clip(1, 5).to_numpy())
        drawn = calib.choose(judge, 20, design=design, by="system", rng=seed)
        result = calib.interval(drawn, labelled(drawn, human), target="benchmark").one()
        hits += result.interval.low <= human["score"].mean() <= result.interval.high
        off.append(result.estimate - human["score"].mean())
    assert scipy_stats.binomtest(hits, 25, 0.95).pvalue > 1e-3
    assert abs(np.mean(off)) < 4 * np.std(off) / math.sqrt(25)
    assert result.design == "strata"


@pytest.mark.parametrize("design", ["simple", "strata", "active"])
def test_a_drawing_for_each_system_serves_each(design):
    drawn = calib.choose(JUDGE, 25, design=design, by="system", rng=4)
    results = calib.interval(drawn, labelled(drawn), by="system", min_labels=5)
    for label, result in zip(results.labels, results, strict=True):
        part = drawn[drawn["system"] == label["system"]]
        column = {"strata": {"strata": part["stratum"]}, "active": {"inclusion": part["inclusion"]}}.get(design, {})
        assert result.interval == pytest.approx(by_hand(part, HUMAN, **column, min_labels=5).interval)


def test_whole_documents_for_each_system_stay_documents():
    judge, human = world(3, 240, documents=40)
    judge["system"] = np.where(judge["group"].str[1:].astype(int) < 20, "one", "two")
    drawn = calib.choose(judge, 36, design="groups", by="system", rng=3)
    result = calib.interval(drawn, labelled(drawn, human)).one()
    assert "repeated_groups" not in names(result)
    assert result.n_groups == 12


@pytest.mark.slow
@pytest.mark.parametrize("design", ["simple", "strata", "active"])
def test_labels_that_do_not_fit_the_drawing_are_named(design):
    drawn = calib.choose(JUDGE, 60, design=design, rng=3)
    gold = labelled(drawn)
    count = len(gold)
    assert not {"labels_not_drawn", "labels_incomplete"} & set(names(calib.interval(drawn, gold).one()))
    more = pd.concat([gold, HUMAN[~drawn["chosen"].to_numpy()].head(7)])
    result = calib.interval(drawn, more).one()
    assert result.warnings[0] == "labels_not_drawn: 7 labels are of items that `choose` did not draw"
    result = calib.interval(drawn, gold.head(count - 4)).one()
    assert result.warnings[0] == f"labels_incomplete: 4 of {count} drawn items have no label"


@pytest.mark.parametrize("design", ["simple", "strata", "active"])
def test_labels_of_all_items_were_not_drawn(design):
    drawn = calib.choose(JUDGE, 60, design=design, rng=3)
    found, wanted = calib.interval(drawn, HUMAN).one(), calib.interval(JUDGE, HUMAN).one()
    assert (found.estimate, found.interval, found.warnings) == (wanted.estimate, wanted.interval, wanted.warnings)


@pytest.mark.parametrize("design", ["strata", "active"])
def test_people_alone_and_judge_alone_of_a_drawing(design):
    drawn = calib.choose(JUDGE, 60, design=design, rng=3)
    gold = labelled(drawn)
    alone = calib.interval(drawn, gold, estimator="judge_only").one()
    assert alone.estimate == pytest.approx(JUDGE["score"].mean())
    plain = calib.interval(drawn, gold, estimator="classical").one()
    chosen = drawn[drawn["chosen"]].merge(HUMAN[["item", "score"]], on="item", suffixes=("", "_y"))
    assert plain.estimate == pytest.approx(np.average(chosen["score_y"], weights=1 / chosen["inclusion"]))


@pytest.mark.slow
@pytest.mark.parametrize("design", ["simple", "strata", "active"])
def test_coverage_from_choosing_to_the_interval(design):
    hits, reps = 0, 30
    for seed in range(reps):
        judge, human = world(seed, 200)
        drawn = calib.choose(judge, 50, design=design, on="entropy" if design == "strata" else "score", rng=seed)
        result = calib.interval(drawn, labelled(drawn, human)).one()
        hits += result.interval.low <= human["score"].mean() <= result.interval.high  # of these items: a little more
    assert scipy_stats.binomtest(hits, reps, 0.95).pvalue > 1e-3 or hits / reps > 0.95


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (JUDGE.assign(design="of mine"), ""),
        (JUDGE.assign(design="strata", stratum=1), ""),
        (pd.concat([calib.choose(JUDGE, 60, rng=1).iloc[:100], JUDGE.iloc[100:]]), "must have no gaps"),
    ],
)
def test_columns_of_the_same_name_that_nobody_drew(frame, text):
    if text:
        assert text in said(TableError, calib.interval, frame, HUMAN.head(60))
    else:
        assert calib.interval(frame, HUMAN.head(60)).one() == calib.interval(JUDGE, HUMAN.head(60)).one()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"n": 241}, ValueError, "`n`"),
        ({"n": 0}, ValueError, "`n`"),
        ({"n": 10, "design": "best"}, ValueError, "`design` must be one of 'simple', 'groups', 'strata', 'active'"),
        ({"n": 10, "by": "topic"}, TableError, "`by` must be a column of the scores, but got 'topic'"),
        ({"n": 10, "design": "groups", "groups": "topic"}, TableError, "`groups` must be a column of the scores"),
        ({"n": 10, "on": "length"}, ValueError, "`on` must be one of 'score', 'entropy'"),
        ({"n": 7, "design": "strata"}, ValueError, "`n` must be 8 or more for 4 strata, but got 7"),
    ],
)
def test_what_choosing_refuses(options, error, text):
    assert text in said(error, calib.choose, JUDGE, **options)


def test_of_several_judges_the_same_items_are_drawn():
    two = pd.concat([JUDGE, JUDGE.assign(rater="other")])
    assert "`scores` must be of one judge" in said(TableError, calib.choose, two, 10, design="strata")
    drawn = calib.choose(two, 10, rng=1).groupby("rater")
    assert [set(rows.loc[rows["chosen"], "item"]) for _, rows in drawn] == [
        set(calib.choose(JUDGE, 10, rng=1).query("chosen")["item"])
    ] * 2
    assert "`scores` must be of one judge" in said(TableError, calib.choose, two.iloc[1:], 10)
    gaps = JUDGE.assign(score=JUDGE["score"].where(JUDGE.index != 3))
    assert "must have a" in said(ValueError, calib.choose, gaps, 10, design="strata")
    bare = JUDGE.drop(columns="entropy")
    assert "entropy" in said(TableError, calib.choose, bare, 10, design="active")


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("design", ["simple", "strata", "active", "groups"])
def test_a_drawing_survives_a_file(tmp_path, ending, design):
    drawn = calib.choose(JUDGE, 60, design=design, rng=3)
    gold = pd.concat([labelled(drawn), HUMAN[~drawn["chosen"].to_numpy()].head(3)]).iloc[1:]
    calib.table.write(drawn, tmp_path / f"drawn.{ending}")
    calib.table.write(gold, tmp_path / f"gold.{ending}")
    back = [calib.table.read(tmp_path / f"{name}.{ending}", "scores") for name in ("drawn", "gold")]
    found, wanted = calib.interval(*back).one(), calib.interval(drawn, gold).one()
    assert names(wanted)[:2] == ["labels_not_drawn", "labels_incomplete"]
    assert (found.warnings, found.design) == (wanted.warnings, wanted.design)
    assert found.interval == pytest.approx(wanted.interval, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("design", ["strata", "active"])
def test_the_command_line_chooses_and_then_reads(tmp_path, capsys, ending, design):
    judge, gold = tmp_path / f"judge.{ending}", tmp_path / f"gold.{ending}"
    calib.table.write(JUDGE, judge)
    out = tmp_path / f"drawn.{ending}"
    assert run("choose", judge, 60, "--out", out, "--design", design, "--rng", 3) == 0
    drawn = calib.choose(JUDGE, 60, design=design, rng=3)
    calib.table.write(labelled(drawn), gold)
    assert "wrote 240 rows" in capsys.readouterr().out
    table = tmp_path / f"result.{ending}"
    assert run("interval", out, gold, "--out", table) == 0
    text = capsys.readouterr()
    assert "labels_incomplete" not in text.out + text.err
    assert "Assumed:" in text.out
    wanted = calib.interval(drawn, labelled(drawn)).one()
    row = calib.table.read_frame(table).iloc[0]
    assert [row["conf_low"], row["conf_high"]] == pytest.approx(list(wanted.interval), rel=1e-9)
    assert "Within each stratum" in " ".join(text.out.split()) or design == "active"


def test_the_command_line_reads_a_file_of_ones_own(tmp_path, capsys):
    mine = JUDGE[["item", "score", "system"]].rename(columns={"item": "id", "score": "points"})
    theirs = HUMAN[["item", "score"]].rename(columns={"item": "id", "score": "stars"}).head(50)
    mine.to_csv(tmp_path / "mine.csv", index=False)
    theirs.to_csv(tmp_path / "theirs.csv", index=False)
    own = ["--column", "item=id", "--judge", "points", "--scale", FIVE, "--column", "criterion=coherence"]
    drawn = tmp_path / "drawn.csv"
    assert run("choose", tmp_path / "mine.csv", 40, "--out", drawn, *own, "--design", "strata") == 0
    back = calib.table.read(drawn, "scores")
    assert (back["chosen"].astype(str) == "True").sum() == 40
    capsys.readouterr()
    both = [*own, "--label", "stars"]
    assert run("interval", tmp_path / "mine.csv", tmp_path / "theirs.csv", *both) == 0
    assert "from 50 human labels and 240 judge scores" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMATS)
def test_the_command_line_plans(tmp_path, capsys, ending):
    judge, gold = tmp_path / f"judge.{ending}", tmp_path / f"gold.{ending}"
    calib.table.write(JUDGE, judge)
    calib.table.write(HUMAN.head(50), gold)
    prices = ["--price-label", 2, "--price-judge", 0.01]
    assert run("plan", judge, gold, "--half-width", 0.15, *prices) == 0
    text = " ".join(capsys.readouterr().out.split())
    for wanted in (
        calib.will_it_help(JUDGE, HUMAN.head(50)),
        calib.plan(JUDGE, HUMAN.head(50), prices={"label": 2, "judge": 0.01}, half_width=0.15),
        calib.labels_needed(JUDGE, HUMAN.head(50), half_width=0.15),
    ):
        assert " ".join(str(wanted.one()).split()) in text
    assert run("plan", judge, gold) == 0


# --- differences ------------------------------------------------------------------------------------------------


def four_systems(seed=0, documents=60):
    """Four systems on the same documents; the third is better by one half."""
    rng = np.random.default_rng(seed)
    m = 4 * documents
    system, document = np.repeat(np.arange(4), documents), np.tile(np.arange(documents), 4)
    level = rng.normal(0, 0.5, documents)[document] + 0.5 * (system == 2)
    f = (3 + level + rng.normal(0, 0.5, m)).clip(1, 5)
    y = (3 + level + rng.normal(0, 0.4, m)).clip(1, 5)
    judge = pd.DataFrame({"item": [f"i{k}" for k in range(m)], "criterion": "coherence", "rater": "judge", "score": f})
    judge = judge.assign(scale="1..5", group=[f"d{k}" for k in document], system=[f"s{k}" for k in system])
    return judge, people(judge, y).assign(scale="1..5")


@pytest.mark.slow
def test_one_system_against_all_others_by_holm():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    judge, human = four_systems()
    gold = human[judge["group"].isin([f"d{k}" for k in range(25)])]
    results = calib.difference(judge, gold, "s0")
    assert [label["system"] for label in results.labels] == ["s0 - s1", "s0 - s2", "s0 - s3"]
    raw = [result.p_value for result in results]
    for adjust, method in (("holm", "holm"), ("bh", "fdr_bh")):
        found = [label["p_adjusted"] for label in calib.difference(judge, gold, "s0", adjust=adjust).labels]
        assert found == pytest.approx(multitest.multipletests(raw, method=method)[1])
    one = calib.difference(judge, gold, "s0", "s2")
    assert "p_adjusted" not in one.labels[0]
    assert one.one().interval == results[1].interval
    assert one.one().p_value == pytest.approx(results[1].p_value)
    assert results[1].interval.high < 0
    assert calib.difference(judge, gold, "s0", ["s3", "s1"]).labels[0]["system"] == "s0 - s3"


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_difference_is_that_of_the_arrays(alternative):
    judge, human = four_systems(1)
    gold = human[judge["group"].isin([f"d{k}" for k in range(0, 60, 3)])]
    found = calib.difference(judge.sample(frac=1, random_state=1), gold, "s2", "s1", alternative=alternative).one()
    sides = []
    for name in ("s2", "s1"):
        own = (judge["system"] == name).to_numpy()
        labels = human["score"].where(human["item"].isin(gold["item"]))
        sides.append((labels[own].to_numpy(), judge["score"][own].to_numpy()))
    (y_a, f_a), (y_b, f_b) = sides
    wanted = stats.ppi_difference(y_a, y_b, f_a, f_b, bounds=(1, 5), alternative=alternative)
    assert [*found.interval, found.p_value] == pytest.approx([*wanted.interval, wanted.p_value], rel=1e-9)
    assert found.n_labels == 20


def test_families_are_adjusted_apart():
    judge, human = four_systems(2)
    two = [pd.concat([t, t.assign(criterion="fluency")]) for t in (judge, human)]
    both = calib.difference(*two, "s0")
    one = calib.difference(judge, human, "s0")
    wanted = [label["p_adjusted"] for label in one.labels]
    for criterion in ("coherence", "fluency"):
        assert [label["p_adjusted"] for label in both.select(criterion=criterion).labels] == pytest.approx(wanted)


def test_a_system_that_never_differs_has_no_p_and_takes_none_from_the_others():
    judge, human = four_systems(3)
    for table in (judge, human):
        score = table["score"].to_numpy().copy()
        score[60:120] = score[:60]
        table["score"] = score
    judge, human = judge.drop(columns="scale"), human.drop(columns="scale")
    results = calib.difference(judge, human, "s0")
    p = [label["p_adjusted"] for label in results.labels]
    assert math.isnan(p[0])
    assert not any(math.isnan(value) for value in p[1:])
    assert "constant_labels" in names(results[0])


def test_an_item_without_a_score_is_named_before_anything_is_drawn():
    judge, _ = four_systems(4)
    judge.loc[judge.index[3], "score"] = np.nan
    told = f"1 of {len(judge)} have none, such as {str(judge['item'].iloc[3])!r} (rate these again, or leave them out)"
    assert told in said(TableError, calib.choose, judge, 5)


def test_a_drawing_by_strata_is_not_for_differences():
    judge, human = four_systems(4)
    drawn = calib.choose(judge, 80, design="strata", rng=1)
    gold = human[drawn["chosen"].to_numpy()]
    assert "labels that were drawn simply or by groups" in said(TableError, calib.difference, drawn, gold, "s0", "s1")
    drawn = calib.choose(judge, 100, design="groups", rng=1)
    gold = human[drawn["chosen"].to_numpy()]
    assert calib.difference(drawn, gold, "s0", "s1").one().n_labels == 25


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("s0", "s0"), "`a` and `b` must be two systems, but both are 's0'"),
        (("s0", []), "`b` must name a system"),
        (("s0", ["s1", "zz"]), "no scores of system 'zz'; there are 's0', 's1', 's2', 's3'"),
        (("zz", None), "no scores of system 'zz'"),
    ],
)
def test_what_a_difference_refuses(names, text):
    assert text in said(TableError, calib.difference, *four_systems(), *names)


@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMATS)
def test_differences_on_the_command_line(tmp_path, capsys, ending):
    judge, human = four_systems()
    gold = human[judge["group"].isin([f"d{k}" for k in range(25)])]
    paths = [tmp_path / f"{name}.{ending}" for name in ("judge", "gold", "out")]
    calib.table.write(judge, paths[0])
    calib.table.write(gold, paths[1])
    assert run("difference", paths[0], paths[1], "s0", "--out", paths[2]) == 0
    assert "s0 - s2" in capsys.readouterr().out
    wanted = calib.difference(judge, gold, "s0")
    found = calib.table.read_frame(paths[2])
    assert found["p_adjusted"].tolist() == pytest.approx([label["p_adjusted"] for label in wanted.labels])
    assert found["conf_low"].tolist() == pytest.approx([result.interval.low for result in wanted])
    assert run("difference", paths[0], paths[1], "s0", "s1", "s3", "--adjust", "bh") == 0
    assert run("difference", paths[0], paths[1], "s0", "s0") == 2
    assert "must be two systems" in capsys.readouterr().err


# --- how many, and whether ---------------------------------------------------------------------------------------


PILOT = HUMAN.sample(40, random_state=7)
Y_PILOT = HUMAN["score"].where(HUMAN["item"].isin(PILOT["item"])).to_numpy()


def test_planning_on_tables_is_that_of_the_arrays():
    f = JUDGE["score"]
    known = stats.labels_needed(Y_PILOT, f, bounds=(1, 5), step=1, **COUNTED)
    found = calib.labels_needed(JUDGE, PILOT, **COUNTED).one()
    assert (found.n_labels, found.n_labels_alone, found.n_items) == (
        known.n_labels,
        known.n_labels_alone,
        known.n_items,
    )
    np.testing.assert_allclose(found.curve, known.curve, rtol=1e-6)
    aim = {"difference": 0.4, "power": 0.9, "n_items": 900}
    found, known = calib.labels_needed(JUDGE, PILOT, **aim).one(), stats.labels_needed(Y_PILOT, f, **aim)
    assert (found.n_labels, found.n_labels_alone) == (known.n_labels, known.n_labels_alone)
    assert calib.will_it_help(JUDGE, PILOT).one() == stats.will_it_help(Y_PILOT, f, bounds=(1, 5), step=1)
    known = facts(Y_PILOT, f.to_numpy(), item=f.var(), draws=math.inf)  # a score between the steps
    for aim in ({"budget": 100}, {"budget": 100, "max_items": 300}, {"half_width": 0.2}):
        same_plan(calib.plan(JUDGE, PILOT, prices=MONEY, **aim).one(), stats.budget_plan(**known, **aim))
    best = calib.plan(JUDGE, PILOT, prices=MONEY, budget=100).one()
    assert (best.warnings, best.rho_inf) == ((), best.rho)
    assert {step.what for step in best.steps} == {"labels", "items"}
    assert "draw" not in str(best)


@pytest.mark.slow
def test_by_system_each_has_its_own_pilot():
    gold = HUMAN.sample(160, random_state=8)
    for verb, options in (
        (calib.labels_needed, COUNTED),
        (calib.will_it_help, {}),
        (calib.plan, {"prices": {"label": 1, "judge": 0.01}, "budget": 100}),
    ):
        results = verb(JUDGE, gold, by="system", **options)
        assert [label["system"] for label in results.labels] == ["big", "small"]
        part = JUDGE[JUDGE["system"] == "small"]
        assert (
            results.select(system="small").one() == verb(part, gold[gold["item"].isin(part["item"])], **options).one()
        )


@pytest.mark.parametrize(
    ("verb", "options", "text"),
    [
        (calib.labels_needed, {}, "judge, human"),
        (calib.plan, {"prices": {"label": 1, "judge": 1}}, "`half_width` or `budget` must be given"),
        (calib.plan, {"prices": {"label": -1, "judge": 1}, "budget": 9}, "label"),
        (calib.labels_needed, {"half_width": 1e-6}, "labels"),
        (calib.will_it_help, {"by": "topic"}, "`by` must be a column of the scores, but got 'topic'"),
    ],
)
def test_what_planning_refuses(verb, options, text):
    assert text in said(ValueError, verb, JUDGE, PILOT, **options)


def test_planning_says_that_documents_repeat():
    judge, human = world(4, 240, documents=40)
    pilot = human.head(80)
    assert "repeated_groups" in names(calib.labels_needed(judge, pilot, half_width=0.3).one())
    probe = calib.transport_test(judge, pilot)[0]
    assert probe.n_groups <= probe.n


def test_too_small_a_pilot_is_named_with_its_slice():
    text = said(ValueError, calib.labels_needed, JUDGE, HUMAN.head(3), **COUNTED)
    assert "coherence" in text
    assert "judge" in text


# --- transport --------------------------------------------------------------------------------------------------


def test_transport_is_a_welch_test_of_errors():
    gold = HUMAN.sample(100, random_state=9)
    both = JUDGE.merge(gold[["item", "score"]], on="item", suffixes=("", "_y"))
    error = (both["score_y"] - both["score"]).groupby(both["system"])
    big, small = error.get_group("big"), error.get_group("small")
    wanted = scipy_stats.ttest_ind(small, big, equal_var=False)
    found = calib.transport_test(JUDGE, gold, base="big")
    assert [label["system"] for label in found.labels] == ["small"]
    assert [found.one().statistic, found.one().p_value] == pytest.approx([wanted.statistic, wanted.pvalue])
    each = calib.transport_test(JUDGE, gold)
    assert [r.p_value for r in each] == pytest.approx([scipy_stats.ttest_1samp(e, 0).pvalue for e in (big, small)])


def test_what_transport_refuses():
    assert "`by` must be a column" in said(TableError, calib.transport_test, JUDGE, HUMAN, by="topic")
    assert "`base` must be a value of 'system', but got 'zz'; there are 'big', 'small'" in said(
        TableError, calib.transport_test, JUDGE, HUMAN, base="zz"
    )
    mixed = JUDGE.assign(kind=pd.Series([1, "a"] * 120, dtype=object))
    assert "there are 1, 'a'" in said(TableError, calib.transport_test, mixed, HUMAN, by="kind", base="zz")


# --- scales, raters, designs ------------------------------------------------------------------------------------


def test_bounds_and_step_come_from_the_scale():
    gold = HUMAN.head(40)
    y = HUMAN["score"].where(np.arange(240) < 40)
    for scale, options in (
        (FIVE, {"bounds": (1, 5), "step": 1}),
        ("1..5", {"bounds": (1, 5)}),
        ("0..100", {"bounds": (0, 100)}),
        ("0|1|3|9", {"bounds": (0, 9), "step": 1}),
        ("", {}),
    ):
        found = calib.interval(JUDGE.assign(scale=scale), gold.assign(scale=scale)).one()
        assert found.interval == pytest.approx(stats.ppi_mean(y, JUDGE["score"], **options).interval)
    # one side is enough, and values say more than ends
    wanted = calib.interval(JUDGE, gold).one()
    assert calib.interval(JUDGE.drop(columns="scale"), gold).one() == wanted
    assert calib.interval(JUDGE, gold.drop(columns="scale")).one() == wanted
    assert calib.interval(JUDGE.assign(scale="1..5"), gold).one() == wanted


def test_yes_or_no_by_its_scale():
    judge = JUDGE.assign(scale="0|1", score=(JUDGE["score"] > 3) * 1.0)
    gold = people(judge, (HUMAN["score"] > 3) * 1.0).assign(scale="0|1").head(40)
    result = calib.interval(judge, gold).one()
    assert result.estimator == "mover-jeffreys-clopper-pearson"
    unsure = judge.assign(score=(JUDGE["score"] - 1) / 4)  # a probability of yes
    assert calib.interval(unsure, gold).one().estimator == "gaffke-ppi"
    assert calib.interval(judge, gold, conservative=True).one().estimator == "mover-clopper-pearson"
    other = calib.interval(
        judge.assign(scale="1|2", score=judge["score"] + 1), gold.assign(scale="1|2", score=gold["score"] + 1)
    )
    assert other.one().interval == pytest.approx([end + 1 for end in result.interval])
    # labels of a question with five answers may be all at its ends
    ends = gold.assign(score=1 + 4 * gold["score"], scale=FIVE)
    assert calib.interval(JUDGE, ends).one().estimator == "gaffke-ppi"


def test_labels_of_several_raters_lie_between_the_values():
    rng = np.random.default_rng(3)
    each = [HUMAN.assign(rater=f"r{k}", score=(HUMAN["score"] + rng.integers(-1, 2, 240)).clip(1, 5)) for k in range(3)]
    three = calib.summarize(pd.concat(each).assign(draw=0, weight=1.0, status="ok", method="human"), pool="rater")
    mean = np.mean([table["score"] for table in each], axis=0)
    gold = three[three["item"].isin(HUMAN["item"].head(45))]
    result = calib.interval(JUDGE, gold).one()
    wanted = stats.ppi_mean(np.where(np.arange(240) < 45, mean, NAN), JUDGE["score"], bounds=(1, 5), step=1)
    assert result.interval == pytest.approx(wanted.interval)
    assert ((gold["score"] * 3) % 3 > 0.1).any()


def test_the_mean_of_three_who_say_yes_or_no_is_a_score():
    judge = JUDGE.assign(scale="0|1", score=(JUDGE["score"] - 1) / 4)
    gold = people(judge, np.round((HUMAN["score"] - 1) / 4 * 3) / 3).assign(scale="0|1").head(40)
    assert calib.interval(judge, gold).one().estimator == "gaffke-ppi"


def test_strata_within_each_system():
    judge = JUDGE.assign(topic=np.where(np.arange(240) % 3, "law", "code"))
    gold = HUMAN.sample(90, random_state=4)
    y = HUMAN["score"].where(HUMAN["item"].isin(gold["item"]))
    results = calib.interval(judge, gold, by="system", strata="topic", target="benchmark")
    for label, result in zip(results.labels, results, strict=True):
        rows = judge["system"] == label["system"]
        wanted = stats.ppi_mean(
            y[rows], judge["score"][rows], strata=judge["topic"][rows], bounds=(1, 5), step=1, target="benchmark"
        )
        assert result.interval == pytest.approx(wanted.interval)
        assert (result.design, result.target) == ("strata", "benchmark")
    assert "`strata` must be a column of the scores" in said(TableError, calib.interval, judge, gold, strata="colour")


@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMATS)
def test_weights_of_a_table_are_those_of_the_arrays(tmp_path, ending):
    law = JUDGE["score"] > 3
    judge = JUDGE.assign(weight_of_mine=stats.shift_weights(law.tolist(), {True: 0.8, False: 0.2}))
    y = HUMAN["score"].where(np.arange(240) < 60)
    wanted = stats.ppi_mean(y, judge["score"], weights=judge["weight_of_mine"], bounds=(1, 5), step=1)
    path = calib.table.write(judge, tmp_path / f"judge.{ending}")
    for frame in (judge, calib.table.read(path, "scores")):
        found = calib.interval(frame, HUMAN.head(60), weights="weight_of_mine").one()
        assert found.design == "weighted"
        assert [found.estimate, *found.interval] == pytest.approx([wanted.estimate, *wanted.interval], rel=1e-9)
    drawn = calib.choose(judge, 60, design="active", rng=1)
    both = calib.interval(drawn, labelled(drawn), weights="weight_of_mine").one()
    column = {"weights": judge["weight_of_mine"], "inclusion": drawn["inclusion"]}
    assert both.interval == pytest.approx(by_hand(drawn, HUMAN, **column).interval)
    drawn = calib.choose(judge, 60, design="strata", rng=1)
    assert "cannot be combined with `weights`" in said(
        ValueError, calib.interval, drawn, labelled(drawn), weights="weight_of_mine"
    )
    gaps = judge.assign(weight_of_mine=judge["weight_of_mine"].where(judge.index != 5))
    assert "must be a column without gaps" in said(
        TableError, calib.interval, gaps, HUMAN.head(60), weights="weight_of_mine"
    )


def test_repeated_documents_are_named_where_they_are_ignored():
    judge, human = world(2, 240, documents=80)
    gold = human.head(60)
    assert "repeated_groups" not in names(calib.interval(judge, gold).one())
    assert "repeated_groups" in names(calib.interval(judge, gold, groups=None).one())
    topics = judge.assign(topic=np.arange(240) % 2)
    assert "repeated_groups" in names(calib.interval(topics, gold, strata="topic").one())
    assert "repeated_groups" not in names(calib.interval(JUDGE, HUMAN.head(60), groups=None).one())


HOSTILE = ["=1+1", "<b>x</b>", "a,b", 'say "x"', "new\nline", "ünï", "NaN", "True", "x" * 500, "a;b|c", "  ", "007"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:without_value")
@pytest.mark.parametrize("ending", FORMATS)
def test_any_text_may_be_an_id_a_group_or_a_system(tmp_path, ending):
    count = len(HOSTILE)
    rng = np.random.default_rng(6)
    names_ = [f"{HOSTILE[k % count]}{k // count}" for k in range(20 * count)]
    system = [HOSTILE[k // 20] for k in range(20 * count)]
    judge = pd.DataFrame(
        {"item": names_, "criterion": HOSTILE[1], "rater": HOSTILE[0], "score": rng.uniform(1, 5, 20 * count)}
    )
    judge = judge.assign(scale=FIVE, system=system, group=names_[::-1])
    human = judge[["item", "criterion"]].assign(
        rater=HOSTILE[3], scale=FIVE, score=rng.integers(1, 6, len(judge)) * 1.0
    )
    drawn = calib.choose(judge, 12, by="system", rng=1)
    calib.table.write(drawn, tmp_path / f"d.{ending}")
    back = calib.table.read(tmp_path / f"d.{ending}", "scores")
    found = calib.interval(back, human[drawn["chosen"].to_numpy()], by="system")
    wanted = calib.interval(drawn, human[drawn["chosen"].to_numpy()], by="system")
    named = [name for name in HOSTILE if name.strip()]  # blanks are no name
    assert {label["system"] for label in found.labels} == set(named)
    for name in named:
        assert found.select(system=name).one() == wanted.select(system=name).one()
    assert "<b>" not in found._repr_html_()


# --- the plan for ratings ---------------------------------------------------------------------------------------

MONEY = {"label": 1.0, "judge": 0.01}
QUIET = pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")


def asked(n=40, prompts=3, draws=4, seed=0, **columns):
    """Replies of a judge as (items, prompts, draws), and as a table."""
    rng = np.random.default_rng(seed)
    quality, taste = rng.normal(3, 0.8, (n, 1, 1)), rng.normal(0, 0.5, (n, prompts, 1))
    x = np.round(quality + taste + rng.normal(0, 0.8, (n, prompts, draws))).clip(1, 5)
    item, prompt, draw = (place.ravel() for place in np.indices(x.shape))
    frame = pd.DataFrame({"item": [f"i{i}" for i in item], "prompt": [f"p{p}" for p in prompt], "draw": draw})
    known = {"criterion": "coherence", "rater": "judge", "method": "sample", "temperature": 1.0, "scale": FIVE}
    return x, np.round(quality[:, 0, 0]).clip(1, 5), frame.assign(score=x.ravel(), **known | columns)


def labels_of(y, **columns):
    frame = pd.DataFrame({"item": [f"i{k}" for k in range(len(y))], "score": y})
    return frame.assign(**{"criterion": "coherence", "rater": "ann", "scale": FIVE} | columns)


def facts(y, score, **known):
    both = np.isfinite(y) & np.isfinite(score)
    rho = scipy_stats.pearsonr(y[both], score[both]).statistic
    told = {"rho": rho, "sd": y[both].std(ddof=1), "mean": y[both].mean(), "n_labels": int(both.sum())}
    return told | {"bounds": (1.0, 5.0), "step": 1.0, "prices": MONEY, "n_items": int(np.isfinite(score).sum())} | known


def same_plan(found, wanted):
    assert found.plan[:4] == wanted.plan[:4]
    assert found.next == wanted.next
    assert [step.what for step in found.steps] == [step.what for step in wanted.steps]
    pd.testing.assert_frame_equal(found.to_frame(), wanted.to_frame(), rtol=1e-9)
    assert found.plan.half_width == pytest.approx(wanted.plan.half_width)


def parts_of_study(study):
    return {name: study.value(name) for name in ("item", "item_prompt", "draw")}


@QUIET
@pytest.mark.parametrize("aim", [{"budget": 30.0}, {"half_width": 0.3}, {"budget": 30.0, "max_items": 60}])
def test_a_plan_from_prompts_and_draws(aim):
    x, y, frame = asked()
    y[30:] = NAN
    results = calib.plan(frame.sample(frac=1, random_state=1), labels_of(y).dropna(), prices=MONEY, **aim)
    known = parts_of_study(stats.g_study(x)) | {"prompts": 3, "draws": 4}
    same_plan(results.one(), stats.budget_plan(**facts(y, x.mean(axis=(1, 2)), **known), **aim))
    assert results.labels[0]["n_unmatched"] == results.labels[0]["n_unread"] == 0


@QUIET
def test_prompts_count_alike_in_the_pilots_score_however_many_replies_were_read():
    x, y, frame = asked()
    x[::2, 0, 1:] = x[5, 2] = NAN
    frame["score"] = x.ravel()
    means = np.nanmean(np.where(np.isfinite(x).any(axis=2, keepdims=True), x, 3.0), axis=2)
    means[5, 2] = NAN  # no reply could be read: its prompt's harshness is missing there too, and taken out everywhere
    means += np.nanmean(means) - np.nanmean(means, axis=0)
    study = stats.g_study(x, confidence_level=None)
    known = parts_of_study(study) | {"prompts": 3, "draws": round(study.n_draws)}
    wanted = stats.budget_plan(**facts(y, np.nanmean(means, axis=1), **known), budget=30)
    same_plan(calib.plan(frame, labels_of(y), prices=MONEY, budget=30).one(), wanted)


@QUIET
def test_a_plan_from_one_prompt_or_one_draw_says_what_it_cannot_know():
    x, y, frame = asked()
    one = stats.variance_components(x[:, 0])
    found = calib.plan(frame[frame["prompt"] == "p0"], labels_of(y), prices=MONEY, budget=30).one()
    known = {"item": one.between, "draw": one.within, "item_prompt": None, "prompts": 1, "draws": 4}
    same_plan(found, stats.budget_plan(**facts(y, x[:, 0].mean(axis=1), **known), budget=30))
    assert "one_prompt" in names(found)
    assert "prompts" not in [step.what for step in found.steps]
    once = stats.g_study(x[:, :, 0])
    found = calib.plan(frame[frame["draw"] == 0], labels_of(y), prices=MONEY, budget=30).one()
    known = {"item": once.value("item"), "item_prompt": once.value("residual"), "draw": None, "prompts": 3, "draws": 1}
    same_plan(found, stats.budget_plan(**facts(y, x[:, :, 0].mean(axis=1), **known), budget=30))
    assert "one_draw" in names(found)
    alone = frame[(frame["draw"] == 0) & (frame["prompt"] == "p1")]
    found = calib.plan(alone, labels_of(y), prices=MONEY, budget=30).one()
    known = {"item": np.var(x[:, 1, 0], ddof=1), "item_prompt": None, "draw": None}
    same_plan(found, stats.budget_plan(**facts(y, x[:, 1, 0], **known), budget=30))
    assert {step.what for step in found.steps} == {"labels", "items"}


@QUIET
@pytest.mark.parametrize("prompts", [1, 3])
def test_a_plan_from_token_probabilities(prompts):
    rng = np.random.default_rng(3)
    p = 0.7 * rng.dirichlet(np.ones(5), (40, 1)) + 0.3 * rng.dirichlet(np.ones(5), (40, prompts))
    levels = np.arange(1.0, 6.0)
    mean = p @ levels
    variance = p @ levels**2 - mean**2
    item, prompt, level = (place.ravel() for place in np.indices(p.shape))
    frame = pd.DataFrame({"item": [f"i{i}" for i in item], "prompt": [f"p{k}" for k in prompt]})
    frame = frame.assign(criterion="coherence", rater="judge", method="logprob", temperature=1.0, scale=FIVE)
    frame = frame.assign(score=levels[level], weight=0.9 * p.ravel())
    y = np.round(mean.mean(axis=1) + rng.normal(0, 0.7, 40)).clip(1, 5)
    if prompts == 1:
        one = stats.variance_components(mean[:, 0], variance[:, 0])
        known = {"item": one.between, "draw": one.within, "item_prompt": None}
    else:
        known = parts_of_study(stats.g_study(mean, draw_variance=variance))
    found = calib.plan(frame, labels_of(y), prices=MONEY, budget=30).one()
    known |= {"prompts": prompts, "draws": math.inf}
    same_plan(found, stats.budget_plan(**facts(y, mean.mean(axis=1), **known), budget=30))
    assert "draws" not in [step.what for step in found.steps]  # there is nothing to gain by more


@QUIET
def test_the_plan_counts_what_it_leaves_out():
    x, y, frame = asked()
    x[3] = NAN
    x[5, 0, 1] = NAN
    frame["score"] = x.ravel()
    gold = labels_of(y[:20])
    gold["item"] = gold["item"].replace({"i7": "stranger", "i8": "stranger-2"})
    results = calib.plan(frame, gold, prices=MONEY, budget=30)
    found, label = results.one(), results.labels[0]
    assert (label["n_unmatched"], label["n_unread"]) == (2, 1)
    assert "[left out: 2 unmatched, 1 unread]" in str(results)
    assert "labels:17|n:39" in found.signature
    gone = calib.plan(frame[frame["item"] != "i3"], gold, prices=MONEY, budget=30)
    assert (gone.labels[0]["n_unmatched"], gone.labels[0]["n_unread"]) == (3, 0)
    same_plan(gone.one(), found)


@QUIET
def test_each_judge_has_a_plan_and_people_have_none():
    _, y, frame = asked()
    other = asked(seed=1, rater="other")[2]
    cold = asked(seed=2, temperature=0.5)[2]
    table = pd.concat([labels_of(y, method="human"), frame, other, cold])
    results = calib.plan(table, labels_of(y), prices=MONEY, budget=30)
    assert [(label["rater"], label["temperature"]) for label in results.labels] == [
        ("judge", 1.0), ("other", 1.0), ("judge", 0.5),
    ]  # fmt: skip
    same_plan(results[0], calib.plan(frame, labels_of(y), prices=MONEY, budget=30).one())
    assert len(results.to_frame()) == sum(len(result.to_frame()) for result in results)


@QUIET
def test_yes_or_no_is_planned_as_interval_takes_it():
    x, y, frame = asked(n=80)
    frame = frame.assign(score=(x.ravel() > 2).astype(float), scale="0|1")
    y = (y > 2).astype(float)
    found = calib.plan(frame, labels_of(y, scale="0|1"), prices=MONEY, budget=30).one()
    share = (x > 2).mean(axis=2).mean(axis=1)  # of all replies: a score between yes and no
    assert found.rho == pytest.approx(np.corrcoef(share, y)[0, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"prices": MONEY}, "`half_width` or `budget` must be given, and only one of them"),
        (
            {"prices": MONEY, "budget": 1, "half_width": 1},
            "`half_width` or `budget` must be given, and only one of them",
        ),
        (
            {"prices": MONEY | {"judge": "much"}, "budget": 1},
            "`prices` must be a dict of numbers or None, but got {'label': 1.0, 'judge': 'much'}",
        ),
        ({"prices": MONEY, "budget": 1, "max_items": 3}, "`max_items` must be a whole number of 40 or more"),
        ({"prices": MONEY, "budget": 1, "by": "system"}, "`by` needs scores"),
        ({"prices": MONEY, "budget": 1, "confidence_level": 95}, "`confidence_level` must be between 0 and 1"),
    ],
)
def test_what_the_plan_for_ratings_refuses(options, text):
    _, y, frame = asked()
    assert text in said(ValueError, calib.plan, frame, labels_of(y), **options)


def test_what_gold_a_plan_for_ratings_needs():
    _, y, frame = asked()
    money = {"prices": MONEY, "budget": 1}
    two = pd.concat([labels_of(y), labels_of(y, rater="bob")])
    pooled, alone = (calib.plan(frame, gold, **money).one() for gold in (two, labels_of(y)))
    assert pooled == alone
    other = labels_of(y, criterion="fluency")
    assert "`labels` must have scores of 'coherence', but has fluency by ann" in said(
        TableError, calib.plan, frame, other, **money
    )
    for gold in (labels_of(y[:3]), labels_of(np.full(40, 3.0))):
        assert "`labels` must be of four items" in said(ValueError, calib.plan, frame, gold, **money)
    with pytest.warns(stats.CalibWarning, match="no_correlation"):
        assert calib.plan(frame.assign(score=3.0), labels_of(y), **money).one().plan.prompts == 0
    text = said(ValueError, calib.plan, frame.assign(score=NAN), labels_of(y), **money)
    assert text.startswith("coherence, judge, sample: `pilot` must have scores")
    assert "must be on one scale" in said(TableError, calib.plan, frame, labels_of(y, scale="1..7"), **money)
    assert "`max_items` must be a whole number of 240" in said(
        ValueError, calib.plan, JUDGE, PILOT, max_items=9, **money
    )


@QUIET
@pytest.mark.parametrize("n", [12, 40])
def test_what_to_buy_next_is_no_waste(n):
    _, y, frame = asked(n)
    found = calib.plan(frame, labels_of(y), prices=MONEY, budget=30).one()
    assert found.next not in [step.what for step in found.steps if step.waste]
    # a judge that knows next to nothing
    noise = np.random.default_rng(9).permutation(y)
    found = calib.plan(frame, labels_of(noise), prices=MONEY, budget=30).one()
    assert found.next not in [step.what for step in found.steps if step.waste]


@QUIET
def test_where_items_do_not_differ_the_score_is_taken_as_it_is():
    _, y, frame = asked(prompts=2)
    # the prompts contradict each other, and only one item is a little better
    opposite = np.where((frame["item"].str[1:].astype(int) + (frame["prompt"] == "p1")) % 2, 4.0, 2.0)
    frame["score"] = np.where((frame["item"] == "i0") & (frame["prompt"] == "p0"), 3.0, opposite)
    plan = calib.plan(frame, labels_of(y), prices=MONEY, budget=30).one()
    assert plan.rho_inf == max(plan.rho, 0.0)  # nothing is said of more prompts or draws
    assert {step.what for step in plan.steps} <= {"labels", "items"}
