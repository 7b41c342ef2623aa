"""Readings in tables and files: what is compared, counted, refused; what is said, drawn and written."""

from functools import partial

import numpy as np
import pytest
import refusal

pd = pytest.importorskip("pandas")

import calib  # noqa: E402
from calib import cli  # noqa: E402
from calib.stats import CalibWarning, reading_change  # noqa: E402


def scores(n=40, r=4, shift=0.0, seed=0):
    """Whole scores of the same items, read r times."""
    quality = np.random.default_rng(99).uniform(1, 5, (n, 1))
    noise = np.random.default_rng(seed).normal(size=(n, r))
    return np.clip(np.rint(quality + shift + 0.6 * noise), 1, 5)


def ratings(values, **columns):
    """A table of draws."""
    n, r = values.shape
    rows = {
        "item": np.repeat([f"q{i:02}" for i in range(n)], r),
        "draw": np.tile(range(r), n),
        "score": values.ravel(),
        "criterion": "coherence",
        "rater": "judge",
        "prompt": "p1",
        "method": "sample",
        "temperature": 1.0,
        "scale": "1|2|3|4|5",
    }
    return pd.DataFrame({**rows, **columns})


THEN, NOW = scores(seed=1), scores(seed=2, shift=-0.3)


message = partial(refusal.message, calib.drift)


# --- what is compared -------------------------------------------------------------------------------------------


def test_it_is_what_the_arrays_say_in_any_order_of_rows():
    for now in (ratings(NOW), ratings(NOW).sample(frac=1, random_state=1)):
        found = calib.drift(ratings(THEN), now).one()
        assert found.to_frame().equals(reading_change(THEN, NOW).to_frame())
        assert found.items.tolist() == [f"q{i:02}" for i in range(40)]


def test_items_of_one_side_are_counted():
    now = ratings(NOW).replace({"item": {"q00": "new", "q01": "newer"}})
    found = calib.drift(ratings(THEN), now)
    assert found.n == 38
    assert (found.labels[0]["n_only_then"], found.labels[0]["n_only_now"]) == (2, 2)


def test_each_judge_and_criterion_is_compared_with_itself():
    then = pd.concat([ratings(THEN), ratings(NOW, rater="other")])
    now = pd.concat([ratings(NOW, rater="other") for NOW in [scores(seed=5)]] + [ratings(NOW)])
    found = calib.drift(then, now)
    assert [label["rater"] for label in found.labels] == ["judge", "other"]
    assert found["judge"].estimate == pytest.approx(reading_change(THEN, NOW).estimate)
    assert found["other"].estimate == pytest.approx(reading_change(NOW, scores(seed=5)).estimate)


def test_a_judge_that_was_not_read_again_is_said():
    then = pd.concat([ratings(THEN), ratings(THEN, rater="other")])
    assert any(
        text.startswith("not_read_again: ") and "other" in text for text in calib.drift(then, ratings(NOW)).warnings
    )


def test_people_and_judges_that_were_read_once_do_not_stop_the_others():
    people = ratings(THEN[:, :1], rater="ann", method="human", prompt="", temperature=np.nan)
    single = ratings(THEN[:, :1], rater="once")
    found = calib.drift(pd.concat([ratings(THEN), people, single]), pd.concat([ratings(NOW), people, single]))
    assert [label["rater"] for label in found.labels] == ["judge"]
    assert "once" in found.warnings[0]
    assert "ann" not in found.warnings[0]


def test_unlike_judges_are_paired_after_those_that_are_alike():
    then = pd.concat([ratings(THEN, prompt="old"), ratings(THEN)])
    now = pd.concat([ratings(NOW), ratings(scores(seed=7), prompt="new")])
    found = calib.drift(then, now, unlike=True)
    told = {label["prompt"]: label.get("against", "") for label in found.labels}
    assert told == {"p1": "", "old": "now prompt new"}


def test_groups_come_from_items_or_ratings():
    items = pd.DataFrame({"item": [f"q{i:02}" for i in range(40)], "group": np.repeat(range(10), 4).astype(str)})
    wide = calib.drift(ratings(THEN), ratings(NOW), items=items)
    own = calib.drift(ratings(THEN, doc=np.repeat(range(10), 16)), ratings(NOW), groups="doc")
    assert wide.n_groups == own.n_groups == 10
    assert wide.interval == own.interval
    assert calib.drift(ratings(THEN), ratings(NOW), items=items, groups=None).n_groups == 40
    assert "`groups` must be a column of `items`, `then` or `now`" in message(ratings(THEN), ratings(NOW), groups="doc")


def test_chains_are_read_by_their_expectation():
    chains = ratings(np.floor(THEN), method="chain", weight=0.5).assign(scale="1|2|3|4|5|6")
    both = pd.concat([chains, chains.assign(score=chains["score"] + 1)])
    again = ratings(NOW, method="chain", weight=1.0, scale="1|2|3|4|5|6")
    found = calib.drift(both, again).one()
    np.testing.assert_allclose(found.then, THEN.mean(axis=1) + 0.5)
    np.testing.assert_allclose(found.now, NOW.mean(axis=1))


def test_options_reach_the_arrays():
    found = calib.drift(ratings(THEN), ratings(NOW), n_permutations=199, confidence_level=0.8, rng=3).one()
    expected = reading_change(THEN, NOW, n_permutations=199, confidence_level=0.8, rng=np.random.default_rng(3))
    assert found.p_value == expected.p_value
    assert found.interval == expected.interval


# --- files of one's own -----------------------------------------------------------------------------------------


def wide(values):
    return pd.DataFrame(
        {"id": [f"q{i:02}" for i in range(len(values))], **{f"r{k}": column for k, column in enumerate(values.T)}}
    )


def test_rows_and_columns_of_own_files_are_readings(tmp_path):
    paths = [tmp_path / "then.csv", tmp_path / "now.csv"]
    for path, values in zip(paths, (THEN, NOW), strict=True):
        wide(values).to_csv(path, index=False)
    tables = [wide(values).melt("id", value_name="score", var_name="reading") for values in (THEN, NOW)]
    expected = reading_change(THEN, NOW)
    for found in (calib.drift(*paths), calib.drift(*tables), calib.drift(wide(THEN), tables[1])):
        assert found.estimate == pytest.approx(expected.estimate)
        assert found.floor == pytest.approx(expected.floor)
        assert found.readings_then == 4
        assert found.one().items.tolist() == [f"q{i:02}" for i in range(40)]


def test_one_column_now_is_one_reading_of_the_same_judge():
    found = calib.drift(wide(THEN), wide(NOW[:, :1]))
    assert found.readings_now == 1
    assert found.estimate == pytest.approx(reading_change(THEN, NOW[:, :1]).estimate)
    long = wide(NOW[:, :1]).rename(columns={"r0": "June"})
    assert calib.drift(wide(THEN), long).estimate == found.estimate


def test_columns_of_labels_and_texts_are_no_readings():
    more = {"human": 3 + np.arange(40) % 2, "output": [f"some words {i}" for i in range(40)]}
    found = calib.drift(wide(THEN).assign(**more), wide(NOW).assign(**more))
    assert found.readings_then == found.readings_now == 4
    assert calib.drift(wide(THEN), wide(NOW), judge=["r0", "r1"]).readings_then == 2


def test_what_items_share_may_stand_in_one_file_alone():
    documents = np.repeat(range(10), 4)
    found = calib.drift(wide(THEN).assign(doc=[f"d{i}" for i in documents]), wide(NOW), group="doc")
    assert found.n_groups == 10
    assert "`group` must be a column" in message(wide(THEN), wide(NOW), group="doc")


def test_ids_that_are_numbers_meet_however_they_were_read():
    then, now = (wide(values).assign(id=np.arange(40)) for values in (THEN, NOW))
    assert calib.drift(then, now.astype({"id": float})).n == 40


def test_judges_of_a_long_file_are_kept_apart():
    tables = []
    for values in ((THEN, NOW), (NOW, THEN)):
        long = [wide(one).melt("id", value_name="score", var_name="reading") for one in values]
        tables.append(pd.concat([long[0].assign(rater="gpt-4o"), long[1].assign(rater="claude-3")]))
    found = calib.drift(*tables)
    assert [label["rater"] for label in found.labels] == ["gpt-4o", "claude-3"]
    assert found["gpt-4o"].estimate == pytest.approx(-found["claude-3"].estimate)


def test_words_are_put_on_their_scale():
    names = np.array(["bad", "ok", "good"])
    tables = [wide(values) for values in (np.minimum(THEN, 3), np.minimum(NOW, 3))]
    for table in tables:
        for column in list(table)[1:]:
            table[column] = names[table[column].astype(int) - 1]
    found = calib.drift(*tables, scale="bad|ok|good")
    assert found.estimate == pytest.approx(reading_change(np.minimum(THEN, 3), np.minimum(NOW, 3)).estimate)


def test_a_row_without_an_id_is_refused():
    table = wide(THEN)
    table.loc[3, "id"] = None
    assert "`item` must name each row" in message(table, wide(NOW))


# --- what is refused or said ------------------------------------------------------------------------------------


def test_readings_that_were_not_made_anew_are_refused():
    said = message(ratings(THEN), ratings(THEN))
    assert "`now` must be read anew" in said
    assert "all 160 readings are those of then" in said
    more = np.concatenate([THEN, NOW], axis=1)  # the same store, asked for more
    assert "`now` must be read anew" in message(ratings(THEN), ratings(more))
    assert "`now` must be read anew" in message(ratings(THEN), ratings(THEN[:, :1]))


def test_a_part_that_was_not_made_anew_is_said():
    now = NOW.copy()
    now[:20] = THEN[:20]
    assert any(text.startswith("shared_readings: ") for text in calib.drift(ratings(THEN), ratings(now)).warnings)
    assert not calib.drift(ratings(THEN), ratings(NOW)).warnings


def test_a_judge_without_noise_may_read_the_same():
    flat = np.repeat(THEN[:, :1], 4, axis=1)
    with pytest.warns(CalibWarning, match="no_noise"):
        found = calib.drift(ratings(flat, temperature=0.0), ratings(flat, temperature=0.0))
    assert found.p_value == 1
    assert found.warnings[0].startswith("same_readings: the readings are identical; at temperature 0 that is what")
    assert not found[0].copied


FLAT = np.repeat(THEN[:, :1], 4, axis=1)
REPLIES = {"reply": [f"Because of {k}, and so on." for k in range(160)]}
COPIES = {
    "sampled, and all alike": (ratings(FLAT), ratings(FLAT)),
    "to the last digit": (ratings(FLAT + 1 / 7, temperature=0.0, scale="1..6"),) * 2,
    "texts, in another order": (
        ratings(THEN, **REPLIES),
        ratings(THEN[:, ::-1], reply=np.array(REPLIES["reply"]).reshape(40, 4)[:, ::-1].ravel()),
    ),
    "scores of many digits, in another order": (
        ratings(THEN + np.random.default_rng(1).random((40, 4)) / 9, scale="1..6"),
        ratings((THEN + np.random.default_rng(1).random((40, 4)) / 9)[:, [2, 0, 3, 1]], scale="1..6"),
    ),
}


@pytest.mark.filterwarnings("ignore:no_noise")
@pytest.mark.parametrize("how", COPIES)
def test_copies_of_replies_say_nothing_of_a_change(how):
    found = calib.drift(*COPIES[how])
    assert found.warnings[0].startswith("cached_copies: ")
    assert found[0].copied
    assert "look like cached copies" in str(found)
    assert "no change seen" not in str(found)
    assert "Nothing is to be learned of a change" in found.conclusion
    assert "No drift seen" not in found.conclusion


@pytest.mark.filterwarnings("ignore:no_noise")
@pytest.mark.parametrize(("temperature", "copied"), [(0.7, True), (0.0, False)])
def test_a_column_of_the_temperature_tells_copies_from_a_judge_without_noise(temperature, copied):
    frame = pd.DataFrame({"item": np.repeat(np.arange(40), 4), "judge": FLAT.ravel(), "temperature": temperature})
    assert calib.drift(frame, frame)[0].copied == copied


def test_short_replies_that_come_again_are_no_copies():
    """A judge that wavers little gives nearly all replies of then again."""
    steady = np.where(np.random.default_rng(4).random((40, 4)) < 0.04, FLAT % 5 + 1, FLAT)
    for column in (
        {},
        {"reply": [f'{{"score": {score:g}, "status": "complete", "by": "judge"}}' for score in steady.ravel()]},
    ):
        found = calib.drift(
            ratings(steady, **column),
            ratings(
                FLAT[:, :3],
                **(
                    {}
                    if not column
                    else {
                        "reply": [
                            f'{{"score": {score:g}, "status": "complete", "by": "judge"}}'
                            for score in FLAT[:, :3].ravel()
                        ]
                    }
                ),
            ),
        )
        assert not found[0].copied


# --- sessions ---------------------------------------------------------------------------------------------------


def in_sessions(n_sessions, seed, **columns):
    """Two draws in each session, which share something."""
    rng = np.random.default_rng(seed)
    shared = np.repeat(rng.normal(0, 0.6, (40, n_sessions)), 2, axis=1)
    values = np.random.default_rng(99).uniform(2, 4, (40, 1)) + shared + rng.normal(0, 0.5, (40, 2 * n_sessions))
    frame = ratings(np.clip(np.rint(values), 1, 5), **columns)
    return frame.assign(run=[f"{seed}-{draw // 2}" for draw in frame["draw"]])


def test_whole_sessions_are_compared(tmp_path):
    then, now = in_sessions(4, 1), in_sessions(4, 2)
    found = calib.drift(then, now, session="run").one()
    wide = [side.pivot(index="item", columns="draw", values="score").to_numpy() for side in (then, now)]
    expected = reading_change(*wide, sessions=[np.repeat(range(4), 2)] * 2)
    assert found.to_frame().drop(columns="warnings").equals(expected.to_frame().drop(columns="warnings"))
    assert (found.sessions_then, found.sessions_now) == (4, 4)
    # a file of one's own, whose column has another name, and rows in another order
    sides = []
    for name, side in (("then", then), ("now", now)):
        mine = side[["item", "score", "run"]].rename(columns={"item": "id", "run": "day"})
        mine.sample(frac=1, random_state=3).to_csv(tmp_path / f"{name}.csv", index=False)
        sides.append(tmp_path / f"{name}.csv")
    own = calib.drift(*sides, session="day", judge="score").one()
    assert own.estimate == pytest.approx(found.estimate)
    assert own.p_shift == pytest.approx(found.p_shift)
    with pytest.raises(SystemExit, match="0"):
        cli.main(["drift", *map(str, sides), "--session", "day", "--judge", "score"])


def test_runs_that_differ_are_said_where_no_session_is_named():
    found = calib.drift(in_sessions(4, 1), in_sessions(4, 2))
    assert any(text.startswith("runs_apart: ") for text in found.warnings)
    assert "session='run'" in found.conclusion
    each = ratings(THEN).assign(run=lambda rows: rows["draw"].astype(str))
    assert not calib.drift(each, ratings(NOW)).warnings


def test_a_session_must_be_a_column_without_gaps():
    then, now = in_sessions(3, 1), in_sessions(3, 2)
    assert "`session` must be a column of then, but got 'day'" in message(then, now, session="day")
    gaps = now.assign(run=now["run"].mask(now.index < 3))
    assert "`session` must say the session of every reading, but 'run' has 3 gaps" in message(then, gaps, session="run")
    assert "must be two at least then, and one now" in message(then.assign(run="a"), now, session="run")


def lost(status):
    """The ratings of now, without the first draw of each item."""
    now = ratings(NOW)
    return now.assign(score=now["score"].mask(now["draw"] == 0), status=np.where(now["draw"] == 0, status, "ok"))


def test_lost_replies_are_a_change_too():
    found = calib.drift(ratings(THEN), lost("refused"))
    assert (found.labels[0]["n_unread_then"], found.labels[0]["n_unread_now"]) == (0, 40)
    text = next(text for text in found.warnings if text.startswith("unread_changed: "))
    assert "40 of 160 replies cannot be read, 0 of 160 then" in text
    assert "40 of 160 replies cannot be read" in found.conclusion


def test_calls_that_failed_are_no_replies():
    found = calib.drift(ratings(THEN), lost("failed"))
    assert found.labels[0]["n_unread_now"] == 0
    assert not found.warnings
    assert found.readings_now == 3


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"prompt": "p2"}, "prompt was 'p1' and is 'p2'"),
        ({"rater": "gpt"}, "rater was 'judge' and is 'gpt'"),
        ({"temperature": 0.3}, "temperature was 1.0 and is 0.3"),
        ({"criterion": "fluency"}, "criterion was 'coherence' and is 'fluency'"),
    ],
)
def test_another_judge_is_refused_and_may_be_compared_all_the_same(changed, said):
    then, now = ratings(THEN), ratings(NOW, **changed)
    assert said in message(then, now)
    if "criterion" not in changed:
        found = calib.drift(then, now, unlike=True)
        assert found.estimate == pytest.approx(reading_change(THEN, NOW).estimate)
        assert found.labels[0]["against"].startswith("now ")


def test_another_scale_is_refused():
    assert "must be on one scale" in message(ratings(THEN), ratings(NOW, scale="0..100"))


def test_one_reading_and_means_of_readings_are_refused():
    assert "`then` must have 2 readings of an item at least" in message(ratings(THEN[:, :1]), ratings(NOW))
    assert "`now` must be ratings" in message(ratings(THEN), calib.summarize(ratings(NOW)))
    assert "`now` must hold items of `then`" in message(
        ratings(THEN), ratings(NOW).assign(item=lambda t: "z" + t["item"])
    )
    assert "`then` must be a path" in message(None, ratings(NOW))
    assert "describes your own file" in message(ratings(THEN), ratings(NOW), item="item")


# --- said, drawn, written ---------------------------------------------------------------------------------------


def test_no_drift_says_what_would_have_been_seen():
    found = calib.drift(ratings(THEN), ratings(scores(seed=3)))
    assert not found.drifted
    said = found.conclusion
    assert "No drift seen" in said
    assert "which is no proof that there is none" in said
    assert f"a shift of {found.smallest_shift:.4g} is seen four times in five" in said
    assert "Of no single item a change can be claimed, whatever it did" in said


def test_a_drift_says_how_far_and_of_which_items():
    then, now = scores(r=8, seed=1), scores(r=8, seed=2)
    now[:2] = 6 - then[:2].mean(axis=1, keepdims=True).round() + 0 * now[:2]
    now[0], then[0] = 1, 5
    found = calib.drift(ratings(then), ratings(now))
    said = found.conclusion
    assert "The judge reads otherwise than it did" in said
    assert f"{found.n_changed} of them may each be said to have changed" in said


def test_a_less_noisy_judge_is_called_so():
    flat = np.repeat(np.median(THEN, axis=1, keepdims=True).round(), 4, axis=1)
    assert "(it became less noisy)" in calib.drift(ratings(THEN), ratings(flat)).conclusion


def test_the_page_says_that_drift_is_no_verdict(tmp_path):
    page = calib.drift(ratings(THEN), ratings(NOW)).report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Drift is no verdict on quality" in text
    assert "How far each item moved" in text
    assert "q39" in text
    assert page is not None


def test_the_picture_has_the_items_that_moved_most():
    pytest.importorskip("matplotlib")
    found = calib.drift(ratings(THEN), ratings(NOW))
    axes = found.plot(most=5)
    assert [text.get_text() for text in axes.get_yticklabels()] == found.one().changes["item"][:5].tolist()
    assert "5 of 40 items" in axes.get_xlabel()
    assert "mean shift" in axes.get_title(loc="left")
    with pytest.raises(ValueError, match="`most` must be a whole number"):
        found.plot(most=0)


@pytest.mark.slow
def test_hostile_ids_are_data(tmp_path):
    pytest.importorskip("matplotlib")
    names = {f"q{i:02}": f"<b>=cmd{i}\x1b[31m\u202e$x$" for i in range(40)}
    then, now = (ratings(values).replace({"item": names}) for values in (THEN, NOW))
    found = calib.drift(then, now)
    found.report(tmp_path / "page.html")
    assert "<b>=cmd" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all("\x1b" not in text.get_text() for text in found.plot().get_yticklabels())


# --- the shell --------------------------------------------------------------------------------------------------


def test_the_command_says_it_and_writes_items(capsys, tmp_path):
    paths = [tmp_path / name for name in ("then.csv", "now.csv", "moved.csv")]
    calib.table.write(ratings(THEN), paths[0])
    calib.table.write(ratings(NOW), paths[1])
    with pytest.raises(SystemExit) as ended:
        cli.main(["drift", *map(str, paths[:2]), "--out", str(paths[2])])
    out, _ = capsys.readouterr()
    assert ended.value.code == 0
    assert "The judge reads otherwise than it did" in " ".join(out.split())
    moved = pd.read_csv(paths[2])
    assert len(moved) == 40
    assert moved["item"][0] == calib.drift(*paths[:2]).one().changes["item"][0]


def test_the_command_refuses_what_was_not_read_anew_in_its_own_words(capsys, tmp_path):
    path = tmp_path / "then.csv"
    calib.table.write(ratings(THEN), path)
    with pytest.raises(SystemExit) as ended:
        cli.main(["drift", str(path), str(path)])
    assert ended.value.code != 0
    assert "NOW must be read anew" in capsys.readouterr().err


def test_the_same_readings_in_another_order_are_copies():
    rng, n = np.random.default_rng(1), 50
    quality = rng.uniform(1, 9, n)
    then = pd.DataFrame(
        [
            {"item": f"i{i}", "judge": float(np.rint(quality[i] + rng.normal(0, 0.6)))}
            for _ in range(4)
            for i in range(n)
        ]
    )
    one_other = then.assign(judge=then["judge"] + (then["item"] == "i0"))
    for now in (then.iloc[::-1], one_other):
        found = calib.drift(then, now)
        assert found.one().copied and "no change seen" not in str(found)
    anew = pd.DataFrame(
        [
            {"item": f"i{i}", "judge": float(np.rint(quality[i] + rng.normal(0, 0.6)))}
            for _ in range(4)
            for i in range(n)
        ]
    )
    assert not calib.drift(then, anew).one().copied
