"""A look at files of many shapes: what it recognises, and that all that it prints runs as it stands."""

import inspect
import subprocess
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import calib
from calib import cli
from calib.inputs.look import shell_word
from calib.report import sections
from calib.report.parts import report_parts

HOSTILE = "<b onclick=alert(1)>x</b> `id` $HOME\x1b[31m\u202e\nnext, 'q' \"d\""


def likert(rng, truth, noise=0.7):
    return np.clip(np.round(truth + rng.normal(0, noise, np.shape(truth))), 1, 5).astype(int)


def some(values, n, blank=""):
    """The first n of the values, then blanks: in no order of the scores, as these are random."""
    return [value if place < n else blank for place, value in enumerate(values)]


def long_frame(seed=0, n=40, systems=("A", "B"), labelled=20):
    """One row per output, judge and person side by side, a person on the first texts."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 1, (n, 1)) + np.linspace(0, 0.8, len(systems))
    rows = pd.DataFrame({
        "id": [f"q{text}-{name}" for text in range(n) for name in systems],
        "document": np.repeat([f"d{text}" for text in range(n)], len(systems)),
        "system": [*systems] * n,
        "gpt-4o": likert(rng, truth).ravel(),
    })  # fmt: skip
    return rows.assign(expert=some(likert(rng, truth).ravel(), labelled * len(systems)))


def shapes():
    """Files by name; a shape is one file or two."""
    rng = np.random.default_rng(1)
    base, two = long_frame(), long_frame(2)
    simple = base[["id", "gpt-4o", "expert"]]
    judges = base.assign(claude=likert(rng, base["gpt-4o"]))
    people = base.assign(annotator_1=base["expert"], annotator_2=some(likert(rng, base["gpt-4o"]), 40),
                         annotator_3=some(likert(rng, base["gpt-4o"]), 40)).drop(columns="expert")  # fmt: skip
    models = {name: likert(rng, rng.normal(3, 1, 60)) for name in ("gpt-4o", "claude 3.5", "llama.70b", "mistral")}
    wide = pd.DataFrame({"id": [f"q{k}" for k in range(60)], **models})
    labels = pd.DataFrame({"id": wide["id"][:25], **{name: likert(rng, models[name][:25]) for name in models}})
    verdict = np.where(base["gpt-4o"] > 3, "pass", "fail")
    said = np.where(likert(rng, base["gpt-4o"]) > 3, "Pass ", "fail")
    words = np.array(["", "poor", "poor", "fair", "good", "good"])
    yield "side by side", simple
    yield "systems and groups", base
    yield "two judges", judges
    yield "three annotators", people
    yield "two files", base.drop(columns="expert"), base.loc[:39, ["id", "expert"]]
    yield "wide with long labels", wide, labels.melt("id", var_name="model", value_name="expert")
    yield "wide with wide labels", wide, labels
    yield (
        "words",
        simple.assign(**{"gpt-4o": words[base["gpt-4o"]], "expert": some(words[likert(rng, base["gpt-4o"])], 40)}),
    )
    yield "pass or fail", simple.assign(**{"gpt-4o": verdict, "expert": some(said, 40)})
    yield "true or false", simple.assign(**{"gpt-4o": verdict == "pass", "expert": some(said == "fail", 40)})
    won = [rng.choice(["A", "B", "tie"], 60) for _ in range(2)]
    yield "preferences", pd.DataFrame({"id": range(60), "judge": won[0], "human": some(won[1], 30)})
    twice = np.tile(base["gpt-4o"][:30], 2)
    each = pd.DataFrame({"id": np.tile(base["id"][:30], 2), "annotator": np.repeat(["ann", "bob"], 30)})
    yield "annotators in rows", base.drop(columns="expert"), each.assign(rating=likert(rng, twice))
    yield "nothing labelled", base.drop(columns="expert")
    yield "all labelled", base.assign(expert=two["gpt-4o"])
    yield "labels only", people[["id", "annotator_1", "annotator_2", "annotator_3"]]
    yield ("two criteria", judges.rename(columns={"gpt-4o": "judge_fluency", "claude": "judge_relevance",
        "expert": "human_fluency"}).assign(human_relevance=some(likert(rng, base["gpt-4o"]), 40)))  # fmt: skip
    yield "hostile values", base.replace({"system": {"A": HOSTILE, "B": "-rf; rm *"}})
    yield "hostile names", base.rename(columns={"gpt-4o": f"judge {HOSTILE}", "expert": f"human {HOSTILE}"})


SHAPES = {name: frames for name, *frames in shapes()}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The files of a shape, in the folder where one works."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "88")

    def write(*frames):
        names = ["results.csv", "my labels.csv"][: len(frames)]
        for name, frame in zip(names, frames, strict=True):
            frame.to_csv(name, index=False, encoding="utf-8", errors="surrogatepass")
        return names

    return write


def arguments_of(command):
    """The words of a command as a shell reads them."""
    script = 'calib() { printf "%s\\0" "$@"; }; ' + command
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True, text=True)
    return done.stdout.split("\0")[:-1]


def run(command, capsys):
    with pytest.raises(SystemExit) as ended, warnings.catch_warnings():
        warnings.simplefilter("default")
        cli.main(arguments_of(command))
    said = capsys.readouterr()
    assert ended.value.code == 0, f"{command}: {said.err}"
    return said.out


OFTEN = {"systems and groups", "three annotators", "two files", "preferences", "two criteria", "hostile values"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [pytest.param(name, marks=[pytest.mark.long] * (name not in OFTEN)) for name in SHAPES]
)
def test_everything_printed_runs_as_it_is_printed(shape, written, capsys, monkeypatch):
    found = calib.look(*written(*SHAPES[shape]))
    text = str(found)
    plain, drawn, none = "hostile" not in shape, sections._svg, ("title", "words", "<svg></svg>")
    if plain:  # at one of the two widths of a page
        monkeypatch.setattr(sections, "_svg", lambda *how: none if how[2].endswith("-wide") else drawn(*how))
    for command in found.commands:
        assert f"  {command}\n" in f"{text}\n"
        run(command, capsys)
    monkeypatch.setattr(sections, "_svg", lambda *_: none)  # the commands drew them all
    report = inspect.signature(calib.report).bind if plain else calib.report  # the command made the page
    for line in found.lines:
        assert f"  {line}\n" in f"{text}\n"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = {name: getattr(calib, name) for name in dir(calib)} | {"report": report}
            assert eval(line, {"calib": SimpleNamespace(**names)}) is not None
    assert found.commands
    only_in_a_shell = [command for command in found.commands if command.startswith("calib plan")]
    assert len(found.lines) == len(found.commands) - len(only_in_a_shell)


# --- odd files --------------------------------------------------------------------------------------------------


def table_of(**columns):
    return pd.DataFrame(columns).to_csv(index=False)


def odd():
    """Texts of files by name, and what must be among what is said of them."""
    rng = np.random.default_rng(3)
    ids = [f"q{k}" for k in range(40)]
    judge = likert(rng, rng.normal(3, 1, 40))
    human = some(likert(rng, judge), 20)
    yield "ids with commas", [table_of(id=[f"a, {k}" for k in range(40)], gpt4=judge, human=human)], ["20 of 40 items"]
    european = "id;gpt4;human\n" + "".join(
        f"{i};{j},5;{f'{h},0' if h != '' else ''}\n" for i, j, h in zip(ids, judge, human, strict=True)
    )
    yield "European", [european], ["20 of 40 items"]
    yield "a name twice by case", [table_of(id=ids, score=judge, Score=human)], ["score", "Score"]
    yield "a single column", ["score\n" + "\n".join(map(str, judge))], ["score"]
    yield "copied", [table_of(id=ids, gpt4=judge, human=some(judge, 20))], ["is it a copy of the labels?"]
    yield "reversed", [table_of(id=ids, gpt4=judge, human=some(6 - judge, 20))], ["is one of the scales reversed?"]
    yield "constant judge", [table_of(id=ids, gpt4=3, human=human)], ["gives 3 to every item"]
    yield "constant labels", [table_of(id=ids, gpt4=judge, human=some([4] * 40, 20))], ["every label is 4"]
    yield ("percent", [table_of(id=ids, gpt4=[f"{k} %" for k in judge * 20],
        human=[f"{k} %" if k != "" else "" for k in human])], ["--scale 0..100"])  # fmt: skip
    yield ("two columns of groups", [table_of(id=ids, group=np.repeat(range(20), 2), document=np.repeat(range(20), 2),
        gpt4=judge, human=human)], ["within groups"])  # fmt: skip
    yield ("unicode", [table_of(id=[f"Frage-ä{k}" for k in range(40)],
        **{"Prüfer-模型 gpt": judge, "human 专家": human})], ["Prüfer-模型 gpt", "human 专家"])  # fmt: skip
    yield ("no ids in common", [table_of(id=ids, gpt4=judge), table_of(id=[f"x{k}" for k in range(40)], human=human)],
        ["q0", "x0"])  # fmt: skip
    yield ("words without an order", [table_of(id=ids, judge=np.array(["teal", "mauve", "ochre"])[judge % 3],
        human=np.array(["teal", "mauve", "ochre"])[(judge + 1) % 3])], ["--scale '"])  # fmt: skip
    yield (
        "few labels",
        [table_of(id=ids, gpt4=judge, human=some(judge, 5))],
        ["5 items with a label, at least 10 needed"],
    )
    yield ("a system without labels", [table_of(id=ids, system=["old", "new"] * 20, gpt4=judge,
        human=[h if k % 2 else "" for k, h in enumerate(likert(rng, judge))])], ["old has no labels"])  # fmt: skip
    yield "100 points beside 5", [table_of(id=ids, gpt4=judge * 20, human=human)], ["20 of 40 items"]
    criteria = {
        f"{who}_{what}": likert(rng, judge) for what in ("fluency", "tone", "depth") for who in ("gpt4", "claude")
    }
    people = {f"human_{what}": some(likert(rng, judge), 20) for what in ("fluency", "tone", "depth")}
    yield "three criteria by two judges", [table_of(id=ids, **criteria, **people)], ["3 criteria", "2 judges"]
    yield "ids twice", [table_of(id=[*ids[:39], "q0"], gpt4=judge, human=human)], ["q0"]


ODD = {name: (texts, said) for name, texts, said in odd()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_of_an_odd_file_it_says_what_is_odd(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts, said = ODD[name]
    files = [f"file{place}.csv" for place in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        (tmp_path / file).write_text(text, encoding="utf-8")
    told = str(calib.look(*files))
    assert all(line.isprintable() for line in told.splitlines())
    assert [words for words in said if words not in " ".join(told.split())] == []


# --- the report -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_report_with_nothing_else_does_what_was_recognised(written, capsys, tmp_path):
    written(*SHAPES["systems and groups"])
    out = run("calib report results.csv", capsys)
    page = (tmp_path / "results-report.html").read_text()
    assert "wrote results-report.html" in out
    for told in ("gpt-4o", "judge's scores", "blank in 40 of 80 rows"):
        assert told in " ".join(out.split())
    heads = (
        "Mean human score",
        "Mean human score, by system",
        "Differences between systems",
        "Agreement with people within groups",
    )
    for head in (*heads, "How the columns were read", "What could not be computed"):
        assert f">{head}<" in page
    assert "Reliability" not in page.replace("reliability", "")
    assert "Agreement with people over systems" not in page  # there are two
    run("calib report results.csv", capsys)  # over one's own page


@pytest.mark.slow
def test_a_page_of_somebody_else_is_not_written_over(written, capsys, tmp_path):
    written(*SHAPES["side by side"])
    (tmp_path / "results-report.html").write_text("<h1>Mine</h1>")
    with pytest.raises(SystemExit) as ended:
        cli.main(["report", "results.csv"])
    assert ended.value.code == 2
    assert "--out must be a new file or a report of calib's, but 'results-report.html'" in capsys.readouterr().err
    assert (tmp_path / "results-report.html").read_text() == "<h1>Mine</h1>"
    run("calib report results.csv --out mine.md --title 'My \"judge\"'", capsys)
    run("calib report results.csv --out mine.md", capsys)
    assert "Mean human score" in (tmp_path / "mine.md").read_text()


@pytest.mark.slow
def test_what_is_said_goes_before_what_is_recognised(written, capsys, tmp_path):
    written(SHAPES["two judges"][0].assign(topic=["a", "b", "b", "a"] * 20))
    said = "--judge claude --scale 0..10 --by topic --confidence-level 0.9"
    run(f"calib report results.csv {said} --out r.md", capsys)
    page = (tmp_path / "r.md").read_text()
    assert "Judges compared" not in page
    assert "90 % CI" in page
    assert "by topic" in page
    run("calib report results.csv --by document --out d.md", capsys)
    assert "No interval" not in (tmp_path / "d.md").read_text()
    found = calib.look("results.csv", judge="claude", scale="0..10")
    assert set(found.scores["rater"]) == {"claude"}
    assert all(word in command for command in found.commands for word in ("--judge claude", "--scale 0..10"))
    assert all('judge="claude", scale="0..10"' in line for line in found.lines)


def test_a_report_of_nothing_says_why(written, capsys):
    written(*SHAPES["nothing labelled"])
    with pytest.raises(SystemExit) as ended:
        cli.main(["report", "results.csv"])
    assert ended.value.code == 2
    assert "there are no labels of people" in capsys.readouterr().err


@pytest.mark.slow
def test_a_part_that_cannot_be_computed_is_left_out(written):
    base = SHAPES["side by side"][0]
    few = base.assign(expert=some(base["expert"], 6))
    text = str(calib.report(calib.look(few)))
    assert "people alone" in text
    assert "at least 10 needed" in text
    assert "nan" not in text.lower().replace("unanswered", "")
    constant = SHAPES["two judges"][0].assign(claude=3)
    text = str(calib.report(calib.look(constant)))
    assert "claude gives 3 to every item" in text
    assert "Judges compared" not in text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
def test_differences_of_several_systems_are_adjusted_together():
    found = calib.look(long_frame(4, 60, ("A", "B", "C"), 30))
    parts = dict(report_parts(found))
    differences = parts["Differences between systems"]
    assert [label["system"] for label in differences.labels] == ["A - B", "A - C", "B - C"]
    p = np.array([result.p_value for result in differences])
    holm = np.maximum.accumulate(np.sort(p) * [3, 2, 1]).clip(max=1)[np.argsort(np.argsort(p))]
    assert [label["p_adjusted"] for label in differences.labels] == pytest.approx(holm.tolist())


# --- what is shown ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_shown_is_harmless_and_narrow(written):
    files = written(SHAPES["hostile names"][0].replace({"system": {"A": HOSTILE}}))
    found = calib.look(*files, label=f"human {HOSTILE}")
    assert all(line.isprintable() for line in str(found).splitlines())
    prose = str(found).split("In a shell")[0].splitlines()
    assert max(map(len, prose)) <= 88
    page = found._repr_html_()
    assert "<b onclick" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "&lt;b onclick" in page


def test_frames_have_lines_and_no_commands():
    frame = SHAPES["side by side"][0]
    found = calib.look(frame, frame[["id", "expert"]])
    assert found.commands == ()
    assert found.lines[0] == 'calib.report(calib.look(frame, labels), "calib-report.html")'
    assert list(found.to_frame()) == ["file", "column", "taken for", "why"]
    assert len(found.to_frame()) == 5


def test_what_cannot_be_read_at_all_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.docx").write_bytes(b"PK")
    for file in ("notes.docx", "missing.csv"):
        with pytest.raises(SystemExit) as ended:
            cli.main(["look", file])
        assert ended.value.code == 2
        assert file in capsys.readouterr().err
    with pytest.raises(calib.ArgumentError, match="nope"):
        calib.look(SHAPES["side by side"][0], judge="nope")


def test_words_in_no_known_order_become_the_option_to_fill_in(written, capsys):
    colours = np.array(["teal", "mauve", "ochre"])
    graded = np.tile([0, 1, 2, 0], 20)
    written(pd.DataFrame({"id": range(80), "gpt4_score": colours[graded], "human_score": colours[graded[::-1]]}))
    found = calib.look("results.csv")
    assert found.scores is None
    # nobody knows the order, so it is not to be typed as it stands
    assert found.commands == ("calib look results.csv --scale 'teal=?|mauve=?|ochre=?'",)
    assert "--scale must read '1|2|3'" in run(found.commands[0], capsys)
    out = run(found.commands[0].replace("=?|", "=1|").replace("mauve=1", "mauve=2").replace("=?", "=3"), capsys)
    assert "teal = 1, mauve = 2, ochre = 3" in " ".join(out.split())


@pytest.mark.parametrize("form", ["{} out of 5", "{}.0 - {}", "{} stars"])
def test_words_that_begin_with_a_number_have_its_value(written, capsys, form):
    graded = np.tile([3, 4, 2, 3, 5, 1], 20)  # the commonest first is no order
    words = [form.format(score, "abcdef"[score]) for score in graded]
    written(pd.DataFrame({"id": range(120), "gpt4_score": words, "human_score": words[:30] + [""] * 90}))
    (command,) = calib.look("results.csv").commands
    assert calib.look("results.csv", scale=arguments_of(command)[-1]).scores["score"].tolist() == graded.tolist()


@pytest.mark.parametrize("text", ["a b", "it's", "$HOME `id`", "a\x1b[31m\n\u202e\\n", "*", "", "ä模", "-x"])
def test_a_word_is_quoted_as_a_shell_takes_it(text):
    assert shell_word(text).isprintable()
    assert arguments_of(f"calib {shell_word(text)}") == [text]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::calib.core.check.CalibWarning")
def test_tables_of_calibs_are_known_for_what_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    items, people = calib.load_planted()
    people = people[people["criterion"] == "fluency"]
    judge = calib.summarize(people[people["rater"] == "simulated-1"], items).assign(rater="j", method="logprob")
    calib.table.write(judge, "scores.csv")
    calib.table.write(calib.summarize(people[people["rater"] != "simulated-1"], items), "people.csv")
    alone, both = calib.look("scores.csv"), calib.look("scores.csv", "people.csv")
    assert alone.annotations is None  # the mode of a distribution is nobody's label
    assert calib.look("people.csv").scores is None
    known = {"interval", "difference", "agreement", "reliability", "calibrate", "bias"}  # every item has a label
    assert {one.verb for one in both.can if one.possible} == known
    assert both.lines[-3] == 'calib.reliability("people.csv", "scores.csv")'


@pytest.mark.slow
def test_a_question_that_each_system_answers_groups_the_answers():
    base = SHAPES["systems and groups"][0]
    frame = base.drop(columns=["id", "document"]).assign(question=[f"Why {k // 2}?" for k in range(80)])
    found = calib.look(frame)
    assert found.scores["group"].nunique() == 40
    assert "paired by 40 groups" in str(found)


@pytest.mark.slow
def test_swapped_files_are_told_the_other_way_round(written, capsys):
    rng = np.random.default_rng(7)
    judge = pd.DataFrame(
        {"uid": [f"i{k}" for k in range(40)], **{name: likert(rng, np.full(40, 3)) for name in ("tone", "depth")}}
    )
    each = judge.head(20).melt("uid", var_name="criterion", value_name="rating")
    people = pd.concat([each.assign(annotator=name) for name in ("ann", "bob")])
    written(people, judge)
    found = calib.look("results.csv", "my labels.csv")
    assert found.commands == ("calib look 'my labels.csv' results.csv",)
    assert found.lines == ('calib.look("my labels.csv", "results.csv")',)
    assert "the other way round" in str(found)
    assert "2 annotators" in run(found.commands[0], capsys)


def test_a_file_without_scores_is_told_so():
    found = calib.look(pd.DataFrame({"name": [f"x{k}" for k in range(9)], "text": [f"y{k}" for k in range(9)]}))
    assert "no column was taken for scores" in str(found)
    assert not found.commands


def test_gaps_among_conversations_are_no_missing_labels():
    talks = [[{"role": "user", "content": f"Hi {k}"}] for k in range(3)]
    found = calib.look(pd.DataFrame({"item": list("abcd"), "messages": [*talks, None], "score": [1, 2, 3, 4]}))
    assert "holds labels" not in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["hostile names", "hostile values"])
def test_a_page_about_hostile_files_is_harmless(shape, written, capsys, tmp_path):
    written(*SHAPES[shape])
    run("calib report results.csv", capsys)
    page = (tmp_path / "results-report.html").read_text()
    assert "&lt;b onclick" in page
    assert not [part for part in ("<b onclick", "\x1b", "\u202e") if part in page]


@pytest.mark.slow
def test_a_sheet_is_named_in_what_is_printed(written, capsys):
    pytest.importorskip("openpyxl")
    frame = SHAPES["side by side"][0].replace("", None)
    with pd.ExcelWriter("book.xlsx") as book:
        pd.DataFrame({"read": ["me"]}).to_excel(book, sheet_name="About", index=False)
        frame.to_excel(book, sheet_name="March 1", index=False)
    found = calib.look("book.xlsx#March 1")
    assert found.commands[:2] == ("calib report 'book.xlsx#March 1'", "calib interval 'book.xlsx#March 1'")
    assert found.lines[0] == 'calib.report(calib.look("book.xlsx#March 1"), "book-report.html")'
    assert "human labels" in run(found.commands[1], capsys)


@pytest.mark.slow
def test_a_judge_on_a_scale_of_its_own_is_not_drawn_beside_people():
    words = ["poor", "fair", "good"]
    ours = pd.DataFrame(
        {"id": range(60), "judge": [k % 10 + 1 for k in range(60)], "label": [*words * 10, *[None] * 30]}
    )
    theirs = ours.assign(judge=[words[k % 3] for k in range(60)])
    told = [calib.report(calib.look(frame)).text for frame in (ours, theirs)]
    assert ["| judge alone |" in text for text in told] == [False, True]


def test_rows_that_answer_one_text_are_named_until_a_column_says_so():
    mine = pd.DataFrame(
        {"id": range(12), "prompt": [f"What is {k // 3}?" for k in range(12)], "judge": [1, 2, 3, 4] * 3}
    )
    said = "`prompt` has 4 different texts in 12 rows; rows of one text are no independent items, so name it: "
    assert any(f"{said}group='prompt', --group prompt" in note for note in calib.look(mine).notes)
    for frame, words in (
        (mine, {"group": "prompt"}),
        (mine.assign(prompt="Rate this."), {}),
        (mine.assign(prompt=[f"What is {k}?" for k in range(12)]), {}),
        (mine.assign(document=mine["prompt"].str[-2:]), {}),
    ):
        assert not any("different texts" in note for note in calib.look(frame, **words).notes)


def test_a_file_of_runs_and_trials_leads_to_compare_runs(tmp_path):
    rows = [(run, f"t{task}", trial, (task + trial) % 2) for run in "ab" for task in range(8) for trial in range(3)]
    pd.DataFrame(rows, columns=["run", "task_id", "trial", "passed"]).to_csv(tmp_path / "both.csv", index=False)
    page = calib.look(tmp_path / "both.csv")
    assert "Here `run` and `trial` together do: compare_runs takes the trials" in page.notes[-1]
    assert page.commands == (f"calib compare-runs {tmp_path / 'both.csv'}",)
    assert calib.compare_runs(tmp_path / "both.csv").one().n_trials_a == 24
