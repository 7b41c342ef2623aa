"""From the command line: wordings of a prompt, convergence, sensitivity, plans for ratings; errors name the option."""

import re

import numpy as np
import pandas as pd
import pytest

import calib
from calib import table

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # warnings are lines on the error stream

PRICES = ("--price-label", 1, "--price-judge", 0.01)
MONEY = {"label": 1, "judge": 0.01}


@pytest.fixture
def run(run):
    """Run a command; exit code, stdout with single spaces, stderr."""

    def call(*arguments):
        code, out, err = run(*arguments)
        return code, " ".join(out.split()), err

    return call


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Six source texts: items, sampled under three prompts, exact under two, one draw each, people, gold."""
    folder = tmp_path_factory.mktemp("tables")
    items, people = calib.load_planted()
    items = items[items["group"].isin(sorted(set(items["group"]))[:6])]
    people = people[people["item"].isin(items["item"])]
    human = calib.summarize(people, items, pool="rater")
    gold = human[human["criterion"] == "fluency"].iloc[::2]
    both = [calib.geval_prompt(name) for name in ("fluency", "coherence")]
    asked = {
        "sampled": (both[0].variants(3), calib.Judge("offline", method="sample", draws=3)),
        "exact": ([v for prompt in both for v in prompt.variants(2)], calib.Judge("offline")),
        "single": (both, calib.Judge("offline", method="sample", draws=1)),
    }
    made = {"items": items, "people": people, "human": human, "gold": gold}
    made |= {name: calib.rate(items, prompts, judge, progress=False) for name, (prompts, judge) in asked.items()}
    made["pooled"] = calib.summarize(made["sampled"], items, pool="prompt")
    made["scores"] = calib.summarize(made["sampled"], items)
    return {name: table.write(frame, folder / f"{name}.csv") for name, frame in made.items()}


def read(files, name, kind="ratings"):
    return table.read(files[name], kind)


def one_line(result):
    return " ".join(str(result).split())


# --- rate --variants --------------------------------------------------------------------------------------------


def test_rate_asks_in_several_wordings(run, files, tmp_path):
    out = tmp_path / "r.csv"
    options = ("--criterion", "fluency", "--model", "offline", "--method", "sample", "--draws", 2, "--out", out)
    code, _, err = run("rate", files["items"], *options, "--variants", 3)
    assert code == 0
    wanted = calib.geval_prompt("fluency").variants(3)
    ratings = table.read(out, "ratings")
    assert list(dict.fromkeys(ratings["prompt"])) == [prompt.id for prompt in wanted]
    for prompt in wanted:  # what changed is said once for each
        assert err.count(prompt.id) == 1
    assert "the prompt itself" in err
    judge = calib.Judge("offline", method="sample", draws=2)
    expected = calib.rate(table.read(files["items"], "items"), wanted, judge, progress=False)
    assert ratings["score"].tolist() == pytest.approx(expected["score"].tolist(), nan_ok=True)


def test_rate_counts_the_calls_of_all_wordings(run, files, tmp_path):
    options = ("--criterion", "fluency", "--criterion", "coherence", "--model", "offline", "--dry-run")
    calls = [
        int(re.search(r"(\d+) calls", run("rate", files["items"], *options, "--variants", n)[1])[1]) for n in (1, 4)
    ]
    assert calls[1] == 4 * calls[0] == 4 * 2 * 78


@pytest.mark.parametrize("number", [0, -1, 257, "x"])
def test_rate_refuses_numbers_of_variants(run, files, tmp_path, number):
    options = ("--criterion", "fluency", "--model", "offline", "--out", tmp_path / "r.csv")
    code, _, err = run("rate", files["items"], *options, "--variants", number)
    assert code == 2
    assert "--variants" in err
    assert not (tmp_path / "r.csv").exists()


# --- converge ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--sizes", 9), "--sizes must be"), (("--groups", "topic"), "--groups must be a column"),
     (("--coefficient", "magic"), "--coefficient must be one of"),
     (("--confidence-level", 95), "--confidence-level must be between 0 and 1"),
     (("--n-subsets", 0), "--n-subsets must be"), (("--out", "c.txt"), "'--out'"),
     (("--labels", "none.csv"), "none.csv"), (("--column", "item=id"), "--column item= describes your own file")],
)  # fmt: skip
def test_what_converge_refuses(run, files, options, words):
    code, out, err = run("convergence", files["sampled"], *options)
    assert (code, out) == (2, "")
    assert words in err


def test_converge_refuses_what_has_no_draws(run, files):
    assert "must hold ratings of method 'sample'" in run("convergence", files["exact"])[2]
    assert run("convergence", files["scores"])[0] == 2
    assert run("convergence", files["items"])[0] == 2


# --- sensitivity ------------------------------------------------------------------------------------------------


def test_sensitivity_says_what_the_functions_return(run, files, tmp_path):
    out = tmp_path / "g.csv"
    options = ("--items", files["items"], "--by", "system", "--target", 0.95, "--out", out)
    code, text, err = run("sensitivity", files["sampled"], *options)
    assert code == 0
    ratings, items = read(files, "sampled"), read(files, "items", "items")
    study, scores = calib.sensitivity(ratings, items), calib.summarize(ratings, items)
    answers = [calib.prompt_mean(scores, by="system")]
    designs = [study.one().equal_calls(8), study.one().cheapest(0.95)]
    for line in [*designs, *(line for answer in answers for line in str(answer).splitlines())]:
        assert one_line(line) in text
    assert study.one().signature in text
    back = table.read_frame(out)
    assert back["component"].tolist() == ["item", "prompt", "item_prompt", "draw"]
    assert back["estimate"].astype(float).tolist() == pytest.approx([c.estimate for c in study.one().components])
    lines = err.splitlines()
    assert len(lines) == len(set(lines))


def test_a_users_files_are_read_as_by_the_verbs(run, tmp_path):
    rng = np.random.default_rng(4)
    quality, path = rng.normal(3, 1, 30), tmp_path / "own.csv"
    rows = [
        (f"a{i}", f"d{i // 3}", prompt, rng.integers(0, 2) + round(quality[i])) for i in range(30) for prompt in "pqpq"
    ]
    pd.DataFrame(rows, columns=["id", "doc", "wording", "score"]).to_csv(path, index=False)
    code, text, _ = run("sensitivity", path, "--prompt", "wording", "--group", "doc")
    study = calib.sensitivity(path, prompt="wording", group="doc")
    assert code == 0
    assert study.one().signature in text
    for line in (study.one().equal_calls(8), calib.prompt_mean(path, prompt="wording", group="doc").one()):
        assert one_line(line) in text
    code, text, _ = run("convergence", path, "--group", "doc", "--rng", 1, "--column", "item=id")
    assert code == 0
    assert one_line(calib.convergence(path, group="doc", rng=1).one()) in text
    code, _, err = run("sensitivity", path, "--prompt", "topic")
    assert code == 2
    assert "--prompt must be a column of own.csv" in err


def test_sensitivity_of_several_criteria_and_methods(run, files, tmp_path):
    mixed = table.write(pd.concat([read(files, "exact"), read(files, "sampled")]), tmp_path / "both.csv")
    code, text, _ = run("sensitivity", mixed, "--calls", 4)
    assert code == 0
    results = calib.sensitivity(read({"both": mixed}, "both"))
    assert len(results) == 3
    for label, study in zip(results.labels, results, strict=True):
        assert f"{label['criterion']}, {label['rater']}, {label['method']}: {study.equal_calls(4)}" in text


def test_sensitivity_takes_judges_and_options(run, files, tmp_path):
    ratings = read(files, "sampled")
    noise = np.random.default_rng(3).integers(-1, 2, len(ratings))
    other = ratings.assign(rater="other", score=(ratings["score"] + noise).clip(1, 5))
    both = table.write(pd.concat([ratings, other]), tmp_path / "two.csv")
    out = tmp_path / "g.csv"
    options = ("--judges", "--groups", "", "--confidence-level", 0.8, "--out", out)
    code, text, _ = run("sensitivity", both, "--items", files["items"], *options)
    assert code == 0
    wanted = calib.sensitivity(
        table.read(both, "ratings"), read(files, "items", "items"), judges=True, groups=None, confidence_level=0.8
    )
    assert table.read_frame(out)["conf_high"].astype(float).tolist() == pytest.approx(
        [c.interval.high for c in wanted.one().components], nan_ok=True
    )
    assert "judge mean over" not in text


def test_several_items_of_a_system_in_a_group_do_no_harm(run, files, tmp_path):
    items = read(files, "items", "items").astype({"system": object})
    items["system"] = items["system"].str.replace(r"-\d", "", regex=True)  # coherence-1 to -3 are one
    path = table.write(items, tmp_path / "items.csv")
    code, text, _ = run("sensitivity", files["sampled"], "--items", path)
    assert code == 0
    assert "item_prompt" in text


def test_one_draw_under_each_prompt_is_a_residual(run, files, tmp_path):
    ratings = read(files, "sampled")
    once = table.write(ratings[ratings["draw"] == 0], tmp_path / "once.csv")
    code, text, err = run("sensitivity", once, "--calls", 5, "--target", 0.9)
    assert code == 0
    assert "residual" in text
    assert "5 prompts x 1 draw" in text
    assert err.count("confounded") == 1


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [("sampled", ("--target", 2), "--target must be between 0 and 1"), ("sampled", ("--calls", 0), "--calls must be"),
     ("sampled", ("--estimator", "magic"), "--estimator must be one of 'auto', 'moments', 'reml'"),
     ("sampled", ("--groups", "topic"), "--groups"),
     ("sampled", ("--by", "topic"), "--by must be a column of the scores"), ("sampled", ("--judges",), "two judges"),
     ("exact", ("--judges",), "--judges needs sampled replies"),
     ("sampled", ("--confidence-level", 95), "--confidence-level must be between 0 and 1"),
     ("single", (), "must be under two prompts at least"), ("pooled", (), "these are scores"),
     ("scores", (), "these are scores"), ("items", (), "must be under two prompts at least"),
     ("sampled", ("--items", "none.csv"), "none.csv"), ("sampled", ("--gold", "none.csv"), "No such option: --gold"),
     ("sampled", ("--out", "g.txt"), "'--out'")],
)  # fmt: skip
def test_what_sensitivity_refuses(run, files, tmp_path, name, options, words):
    out = () if "--out" in options else ("--out", tmp_path / "g.csv")
    code, text, err = run("sensitivity", files[name], *options, *out)
    assert code == 2
    assert words in err
    assert text == ""  # all is looked at before anything is said
    assert not list(tmp_path.iterdir())


# --- plan -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"budget": 20}, {"half_width": 0.2, "max_items": 500}, {"budget": 20, "prompt": 3}]
)
@pytest.mark.filterwarnings("ignore::calib.stats.CalibWarning")
def test_plan_of_ratings_says_what_the_function_returns(run, files, options):
    ratings, gold = read(files, "sampled"), read(files, "gold", "scores")
    prices = MONEY | {name: value for name, value in options.items() if name == "prompt"}
    aim = {name: value for name, value in options.items() if name != "prompt"}
    wanted = calib.plan(ratings, gold, prices=prices, **aim).one()
    asked = [f"--{name.replace('_', '-')}={value}" for name, value in aim.items()]
    asked += ["--price-prompt=3"] if "prompt" in prices else []
    code, text, err = run("plan", files["sampled"], files["gold"], *PRICES, *asked)
    assert code == 0
    assert one_line(wanted) in text
    assert len(set(err.splitlines())) == len(err.splitlines())
    assert "repeated_groups" in err


def test_plan_falls_back_to_scores_where_nothing_is_known_of_draws(run, files):
    """One draw of one prompt for each criterion: the plan is about labels and judge scores."""
    code, text, _ = run("plan", files["single"], files["gold"], "--items", files["items"], *PRICES, "--budget", 20)
    assert code == 0
    scores = calib.summarize(read(files, "single"), read(files, "items", "items"))
    wanted = calib.plan(scores, read(files, "gold", "scores"), prices=MONEY, budget=20).one()
    assert one_line(wanted) in text


def test_plan_by_system_is_of_scores(run, files):
    code, text, _ = run(
        "plan", files["exact"], files["human"], "--items", files["items"], "--by", "system", *PRICES, "--budget", 20
    )
    assert code == 0
    assert "coherence-2" in text
    assert "prompts x" not in text


def test_plan_says_what_cannot_be_reached_and_the_narrowest_that_can(run, files):
    code, text, _ = run("plan", files["sampled"], files["gold"], *PRICES, "--half-width", 1e-9, "--max-items", 99)
    assert code == 0
    assert "+/- 1e-09 cannot be reached with 99 items: labels for all 99 items give +/- 0.1972" in " ".join(
        text.split()
    )


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("sampled", ("--price-label", 1, "--budget", 9), "'judge'"),
        ("sampled", ("--price-label", -1, "--price-judge", 1, "--budget", 9), "'label'"),
        ("sampled", ("--price-label", "x", "--price-judge", 1, "--budget", 9), "--price-label"),
        ("sampled", (*PRICES, "--budget", 9, "--half-width", 0.1), "--half-width or --budget"),
        ("sampled", PRICES, "--half-width or --budget"),
        ("sampled", (*PRICES, "--budget", 0), "--budget must be above 0"),
        ("sampled", (*PRICES, "--half-width", 0.1, "--max-items", 3), "--max-items must be"),
        ("pooled", (*PRICES, "--budget", 9, "--price-prompt", 3), "prompt"),
        ("pooled", (*PRICES, "--budget", 9, "--max-items", 3), "--max-items"),
        ("pooled", ("--max-items", 300), "--max-items"),
        ("pooled", ("--budget", 9), "--price-judge, ...) must have one of a 'label'"),
        ("sampled", ("--budget", 9), "prices"),
    ],
)
def test_what_plan_refuses(run, files, name, options, words):
    code, text, err = run("plan", files[name], files["gold"], *options)
    assert (code, text) == (2, "")
    assert words in err


# --- pooled scores ----------------------------------------------------------------------------------------------


def test_prompts_are_pooled_and_used_from_files(run, files, tmp_path):
    out = tmp_path / "pooled.csv"
    code, *_ = run("summarize", files["sampled"], "--items", files["items"], "--pool", "prompt", "--out", out)
    assert code == 0
    pooled = table.read(out, "scores")
    scores = calib.summarize(read(files, "sampled"), read(files, "items", "items"))
    means = scores.groupby("item", observed=True)["score"].mean()
    assert pooled["score"].tolist() == pytest.approx(means.reindex(pooled["item"]).tolist())
    code, text, _ = run("interval", out, files["gold"])
    wanted = calib.interval(pooled, read(files, "gold", "scores")).one()
    assert code == 0
    assert f"{wanted.estimate:.4g}, 95 % CI [{wanted.interval.low:.4g}, {wanted.interval.high:.4g}]" in text
    assert run("summarize", files["sampled"], "--pool", "judge")[0] == 2


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_files_of_other_formats(run, files, tmp_path, ending):
    paths = {}
    for name, kind in (("sampled", "ratings"), ("exact", "ratings"), ("items", "items"), ("gold", "scores")):
        paths[name] = table.write(read(files, name, kind), tmp_path / f"{name}.{ending}")
    for name in ("sampled", "exact"):
        out = tmp_path / f"{name}-g.{ending}"
        code, text, _ = run("sensitivity", paths[name], "--items", paths["items"], "--out", out)
        assert (code, text) == (0, run("sensitivity", files[name], "--items", files["items"], "--out", out)[1])
        frame = table.read_frame(out)
        wanted = calib.sensitivity(read(files, name), read(files, "items", "items")).to_frame()
        assert frame["share"].astype(float).tolist() == pytest.approx(wanted["share"].tolist())
    options = (*PRICES, "--budget", 20)
    assert run("plan", paths["sampled"], paths["gold"], *options) == run(
        "plan", files["sampled"], files["gold"], *options
    )


# --- hostile texts ----------------------------------------------------------------------------------------------


def test_hostile_names_do_no_harm(run, tmp_path):
    rng = np.random.default_rng(2)
    names = ["<script>", 'a,b "q"', "=cmd()|A1", "new\nline", "\x1b[31mred", "\u202edrow"]
    rows = [
        {"item": f"{names[i % 6]}{i}", "prompt": prompt, "draw": k, "score": float(score)}
        for i in range(12)
        for prompt in ("p|1\n=2", "\x1b[2Jp2", "<b>p3")
        for k, score in enumerate(rng.integers(1, 6, 2))
    ]
    frame = pd.DataFrame(rows).assign(
        criterion="flu\x1b[31mency", rater="j|<script>", method="sample", scale="1|2|3|4|5"
    )
    ratings = table.write(frame, tmp_path / "r.csv")
    for command in ("sensitivity", "convergence"):
        out = tmp_path / f"{command}.csv"
        code, text, err = run(command, ratings, "--out", out)
        assert code == 0
        assert "\x1b" not in text + err
        assert set(table.read_frame(out)["criterion"]) == {"flu\x1b[31mency"}
    code, text, err = run("sensitivity", ratings, "--by", "\x1b[31m")
    assert code == 2
    assert "\x1b" not in text + err
