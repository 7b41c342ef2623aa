"""Results as a user holds them: by label, in a notebook, as a plot, a page, the table of a paper."""

import copy
import math
import pickle
import re
from dataclasses import FrozenInstanceError
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import calib
from calib import Results, stats
from calib.report.notebook import brief_table
from calib.table.paper import PaperTable, latex_text
from calib.table.text import Report

RNG = np.random.default_rng(5)
TRUTH = RNG.normal(size=60)
HOSTILE = "<script>alert(1)</script>|a_b & \\input{x} 50 % $y$ \x1b[31m\u202e#"


def agreed(noise: float = 1.0, coefficient: str = "spearman", seed: int = 1, **options) -> stats.Agreement:
    x = TRUTH + noise * np.random.default_rng(seed).normal(size=60)
    return stats.agreement(x, TRUTH, method=coefficient, **options)


def judges(*names: str, criteria=("fluency", "coherence"), coefficients=("spearman", "kendall")) -> Results:
    """One result for each judge, criterion and coefficient."""
    answers = []
    for place, rater in enumerate(names):
        for k, criterion in enumerate(criteria):
            for c in coefficients:
                label = {"criterion": criterion, "rater": rater, "method": "sample", "coefficient": c, "n_unmatched": 0}
                answers.append((label, agreed(1 + place, c, 10 * place + k)))
    return Results.of(answers)


def systems(n: int = 3) -> Results:
    y = np.array([2.0, 3, 4, 5, 3, 4, 4, 2])
    names = [f"sys-{k}" for k in range(n)]
    return Results.of(({"criterion": "q", "rater": "j", "system": s}, stats.mean_interval(y)) for s in names)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


# --- by label ---------------------------------------------------------------------------------------------------


def test_a_label_narrows_and_a_number_is_a_place():
    results = judges("gpt-4o", "o3")
    assert [label["rater"] for label in results["o3"].labels] == ["o3"] * 4
    assert results["o3", "fluency", "kendall"].one() is results[5]
    assert results[np.int64(2)] is results[2]
    assert results[2:4].labels == results.labels[2:4]
    assert results[-1] is results.results[-1]
    assert list(results) == list(results.results)
    assert len(Results.of(({"temperature": t}, agreed()) for t in (0.0, 0.7))[0.7]) == 1


def test_a_value_of_two_labels_asks_which_unless_both_are_of_the_same_results():
    pairs = (("a", "b"), ("b", "a"), ("a", "c"))
    results = Results.of(({"rater": r, "against": o}, agreed()) for r, o in pairs)
    with pytest.raises(KeyError, match=re.escape("say which by .select(rater='a') or .select(against='a')")):
        results["a"]
    assert len(results["c"]) == 1
    assert len(Results.of(({"rater": name, "model": name}, agreed()) for name in "ab")["a"]) == 1


def test_an_unknown_label_says_what_there_is():
    with pytest.raises(KeyError) as caught:
        judges("gpt-4o", "o3")["gpt-5"]
    said = str(caught.value)
    assert said.startswith("no label is 'gpt-5'; there are criterion 'fluency', 'coherence'; rater 'gpt-4o', 'o3'")
    assert "n_unmatched" not in said
    with pytest.raises(KeyError, match="no label is 'x'"):
        judges("a")["fluency", "x"]  # known to neither


@pytest.mark.slow
def test_of_many_labels_a_message_names_a_few():
    with pytest.raises(KeyError, match=r"'sys-11' and 988 more"):
        systems(1000)["nobody"]


def test_messages_print_nothing_that_steers_a_terminal():
    with pytest.raises(KeyError) as caught:
        Results.of([({"rater": HOSTILE}, agreed())])["x"]
    assert "\x1b" not in str(caught.value)
    with pytest.raises(AttributeError) as asked:
        Results.of(({"rater": name}, agreed()) for name in (HOSTILE, "b")).estimate  # noqa: B018
    assert "\x1b" not in str(asked.value)


def test_brackets_complete_what_they_take():
    assert judges("a", "b")._ipython_key_completions_() == ["fluency", "coherence", "a", "b", "spearman", "kendall"]
    assert Results.of([])._ipython_key_completions_() == []


# --- attributes of the single result ----------------------------------------------------------------------------


def test_a_single_result_lends_its_attributes():
    one = agreed()
    results = Results.of([({"rater": "a"}, one)])
    assert (results.estimate, results.interval, results.n) == (one.estimate, one.interval, one.n)
    assert {"estimate", "interval", "to_frame", "plot"} <= set(dir(results))
    with pytest.raises(AttributeError, match="'Agreement' object has no attribute 'estimat'"):
        results.estimat  # noqa: B018


def test_of_several_the_error_leads_to_one_and_to_all():
    results = judges("gpt-4o", "o3")
    with pytest.raises(AttributeError) as caught:
        results.estimate  # noqa: B018
    said = str(caught.value)
    assert ".one()" in said
    for way in (r"(results\[[^\]]*\]\.estimate)", r"(results\.to_frame\(\)\['estimate'\])"):
        found = eval(re.search(way, said)[1], {"results": results})
        assert np.ravel(found)[0] == results[0].estimate
    assert "estimate" not in dir(results)
    assert not hasattr(results, "estimate")


@pytest.mark.parametrize("name", ["interval", "signature", "warnings", "sample"])
def test_what_the_error_says_works_for_every_attribute(name):
    results = judges("gpt-4o", "o3")
    with pytest.raises(AttributeError) as caught:
        getattr(results, name)
    way = re.search(r", or all, (.*)$", str(caught.value))[1]
    assert len(eval(way, {"results": results})) == len(results)
    # what no result has is said plainly
    with pytest.raises(AttributeError, match="'Results' object has no attribute 'nonsense'"):
        judges("a").nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'estimate'"):
        Results.of([]).estimate  # noqa: B018


@pytest.mark.parametrize("results", [judges("a", "b"), judges("a")[:1], Results.of([])], ids=len)
def test_copies_and_pickles_are_the_same(results):
    for again in (pickle.loads(pickle.dumps(results)), copy.copy(results), copy.deepcopy(results)):
        assert again.labels == results.labels
        assert str(again) == str(results)
    with pytest.raises(AttributeError):
        object.__new__(Results).labels  # noqa: B018 - as while it is unpickled
    with pytest.raises(FrozenInstanceError):
        results.labels = ()


# --- in a notebook ----------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The tags, and the cells of the tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.rows, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_data(self, data):
        self.text += data
        if self.tags[-1:] in (["td"], ["th"]):
            self.rows[-1].append(data)


def test_html_has_the_sentence_six_columns_and_the_way_to_the_rest():
    results = judges("gpt-4o", "o3")
    page = Page(results._repr_html_())
    assert results.conclusion in page.text
    assert page.rows[0] == ["criterion", "rater", "coefficient", "estimate", "95 % CI", "p"]
    assert len(page.rows) == 9
    assert f"all {results.to_frame().shape[1]} columns: .to_frame()" in page.text
    assert all(way in page.text for way in (".plot()", '.report("page.html")', "['fluency', 'gpt-4o', 'spearman']"))


def test_both_ends_of_a_further_interval_have_one_head():
    ends = ["win_low", "win_high", "labels_low", "labels_high", "rmse_low", "rmse_high"]
    heads = brief_table(pd.DataFrame([range(6)], columns=ends), "interval").heads
    assert heads == ["win rate, interval", "lowest person to highest person", "RMSE, interval"]


@pytest.mark.slow
def test_of_a_thousand_the_first_are_shown_and_all_are_counted():
    results = systems(1000)
    page = Page(results._repr_html_())
    assert len(page.rows) == 31
    assert "1,000 results; the first 30 of 1,000 rows" in page.text
    assert "1,000 estimates, from" in page.text
    lines = repr(results).splitlines()
    assert lines[0] == "<1,000 results>"
    assert lines[-1] == "... and 970 more: .to_frame() has all"
    assert len(lines) == 32


def test_labels_that_are_many_share_one_column():
    answers = []
    for name in ("a", "b"):
        for prompt in ("p", "q"):
            for criterion in ("x", "y"):
                label = {"criterion": criterion, "rater": name, "prompt": prompt, "system": name + prompt + criterion}
                answers += [(label | {"temperature": t}, agreed()) for t in (0.0, 1.0)]
    page = Page(Results.of(answers)._repr_html_())
    assert len(page.rows[0]) <= 6
    assert len({row[0] for row in page.rows[1:]}) == len(answers)


def test_html_escapes_and_steers_nothing():
    results = Results.of(({"criterion": HOSTILE, "rater": name}, agreed(k)) for k, name in enumerate((HOSTILE, "b")))
    for html in (results._repr_html_(), results.table()._repr_html_(), results[0]._repr_html_()):
        assert "script" not in Page(html).tags
        assert not {"\x1b", "\u202e"} & set(html)


def test_no_formula_is_made_of_names():
    """A notebook would set what stands between two dollars."""
    results = judges("$x$", "b")
    for html in (results._repr_html_(), results.table()._repr_html_()):
        assert html.startswith('<div class="tex2jax_ignore mathjax_ignore">')


def test_cautions_of_one_kind_are_said_once():
    x = np.tile([1.0, 2, 3, 4, 5, 4], 10)
    warned = [stats.agreement(x + k * 1e-3, -x) for k in range(3)]
    assert all(result.warnings for result in warned)
    results = Results.of(({"rater": f"r{k}"}, result) for k, result in enumerate(warned))
    assert Page(results._repr_html_()).text.count("Caution (") == len({w.partition(":")[0] for w in warned[0].warnings})


def test_a_single_row_has_its_counts_and_nothing_is_said_of_nothing():
    assert Results.of([])._repr_html_() == "<p>There are no results.</p>"
    assert Page(systems(1)._repr_html_()).rows[0][:3] == ["estimate", "95 % CI", "labels"]


# --- as a plot and as a page ------------------------------------------------------------------------------------


def test_the_plot_is_the_first_of_its_type_and_takes_its_options():
    _, ax = plt.subplots()
    results = systems()
    assert results.plot(ax=ax) is ax
    assert results.plot().get_xlabel() == calib.plot.interval(results).get_xlabel()
    other = judges("a", "b", coefficients=("spearman",))
    assert other.plot("heatmap", ax=ax) is ax
    with pytest.raises(ValueError, match=r"`kind` must be one of 'agreement', 'scatter'.* got 'pie'"):
        other.plot("pie")
    # results of several types name their plots
    mixed = systems(1) + judges("a")
    with pytest.raises(ValueError, match="MeanEstimate: interval, difference; Agreement: agreement, scatter"):
        mixed.plot()
    with pytest.raises(ValueError, match="no plot of no results"):
        Results.of([]).plot()


@pytest.mark.slow
def test_a_page_of_results(tmp_path):
    page = systems().report(tmp_path / "deep" / "page.html", title="Our <models>")
    assert page.path == tmp_path / "deep" / "page.html"
    assert page.text == page.path.read_text(encoding="utf-8")
    assert "Our &lt;models&gt;" in page.text
    shown = page._repr_html_()
    assert shown.count("<iframe") == 1
    assert "<script" not in shown
    assert "sandbox=" in shown
    assert "allow-same-origin" not in shown
    assert str(page) == f"report in {page.path}, {len(page.text.encode()) / 1000:.0f} kB"
    assert repr(page) == f"<{page}>"
    assert page._repr_markdown_() is None
    # a page that is nowhere prints its text
    page = systems().report()
    assert page.path is None
    assert str(page) == page.text == page._repr_markdown_()
    assert page._repr_html_() is None
    assert "\n" not in repr(page)


def test_a_frame_gives_the_page_back_as_it_is_and_one_too_long_is_named_only():
    text = '<p title="a&amp;b">"quoted" & <b>bold</b></p>'
    frame, found = HTMLParser(), {}
    frame.handle_starttag = lambda tag, attrs: found.update(dict(attrs)) if tag == "iframe" else None
    frame.feed(Report(text, Path("a.html"))._repr_html_())
    assert found["srcdoc"] == text
    shown = Report("x" * 9_000_000, Path("big.html"))._repr_html_()
    assert "<iframe" not in shown
    assert "big.html" in shown


# --- the table of a paper ---------------------------------------------------------------------------------------


def test_every_cell_is_its_result_and_the_average_their_mean():
    results = judges("gpt-4o", "o3", "tiny")
    table = results.table()
    frame = table.to_frame()
    assert frame.shape == (3, 6)
    for label, result in zip(results.labels, results, strict=True):
        assert frame.loc[label["rater"], (label["criterion"], label["coefficient"])] == result.estimate
    for name in ("spearman", "kendall"):
        mean = frame[[("fluency", name), ("coherence", name)]].mean(axis=1)
        np.testing.assert_allclose(frame["average", name], mean)
    assert table.rows == (("gpt-4o",), ("o3",), ("tiny",))
    assert table.cells[0][0] == f"{results[0].estimate:.3f}"


def test_options_of_the_table():
    results = judges("a", "b")
    assert results.table(digits=1).cells[0][0] == f"{results[0].estimate:.1f}"
    assert ("average", "\u03c1") not in results.table(average=False).heads
    low, high = results[0].interval
    assert results.table(interval=True).cells[0][0] == f"{results[0].estimate:.3f} [{low:.3f}, {high:.3f}]"
    assert "in brackets: 95 % CI" in results.table(interval=True).note
    turned = results.table(rows="criterion", columns=("rater", "coefficient"))
    assert turned.rows == (("fluency",), ("coherence",))
    assert turned.heads[0] == ("a", "\u03c1")


def test_what_tells_results_apart_is_added():
    """`method` is how a judge was read; the coefficients are told apart all the same."""
    assert Results.of([({}, agreed())]).table().cells == ((f"{agreed().estimate:.3f}",),)
    assert judges("a", "b").table(columns=("criterion", "method")) == judges("a", "b").table()
    assert systems().table().rows == (("sys-0",), ("sys-1",), ("sys-2",))
    # means have no average unless asked
    y = [2.0, 3, 4, 5, 3, 4, 4, 2]
    results = Results.of(({"criterion": c, "rater": "j"}, stats.mean_interval(y)) for c in ("p", "q"))
    assert results.table().heads == (("p",), ("q",))
    assert results.table(average=True).heads[-1] == ("average",)
    # cells that are not there have a dash and no average
    results = judges("a", "b")
    table = results[:7].table()
    assert table.cells[1][3] == "\u2013"
    assert table.cells[1][5] == "\u2013"
    assert math.isnan(table.to_frame().iloc[1, 5])


def test_tables_that_cannot_be_are_refused():
    results = judges("a")
    with pytest.raises(ValueError, match=r"`columns` must name labels of the results \(criterion, rater.*'nope'"):
        results.table(columns="nope")
    with pytest.raises(ValueError, match="two have the same labels"):
        (results + results).table()
    with pytest.raises(ValueError, match="`digits` must be a whole number"):
        results.table(digits=-1)
    with pytest.raises(ValueError, match="there are none"):
        Results.of([]).table()
    samples = np.random.default_rng(1).integers(1, 6, (30, 8)).astype(float)
    with pytest.raises(ValueError, match="Convergence has none"):
        Results.of([({}, stats.convergence(samples, rng=1))]).table()


def test_latex_has_rules_below_what_spans_and_an_own_caption():
    text = judges("a", "b").table().to_latex("Mine.", "tab:x")
    assert r"\begin{tabular}{lrrrrrr}" in text
    spans = r" & \multicolumn{2}{c}{fluency} & \multicolumn{2}{c}{coherence} & \multicolumn{2}{c}{average} \\"
    assert spans in text
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5} \cmidrule(lr){6-7}" in text
    assert r"rater & $\rho$ & $\tau$ & $\rho$" in text
    assert r"\caption{Mine.}" in text
    assert r"\label{tab:x}" in text


def test_hostile_names_are_text_in_latex_and_markdown():
    results = Results.of(({"criterion": c, "rater": HOSTILE}, agreed()) for c in ("a|b", "x_y"))
    table = results.table()
    latex, markdown = table.to_latex(), table.to_markdown()
    assert r"\textbackslash{}input\{x\} 50 \% \$y\$" in latex
    assert not re.search(r"(?<!\\)[%$#_](?!.*multicolumn)", latex.split(r"\midrule")[1].split(r"\bottomrule")[0])
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 5 for line in markdown.splitlines() if line.startswith("|"))
    assert not re.search(r"(?<!\\)<script", markdown)
    for text in (latex, markdown, str(table)):
        assert not {"\x1b", "\u202e"} & set(text)


@pytest.mark.parametrize(("text", "safe"), [
    ("[2pt] a", "{[}2pt] a"), ("*a", "{*}a"), ("gpt-4o", "gpt-4o"), ("-0.1", "$-$0.1"), ("", ""), ("a~^", None),
])  # fmt: skip
def test_latex_text(text, safe):
    assert latex_text(text) == (r"a\textasciitilde{}\textasciicircum{}" if safe is None else safe)


def test_a_paper_table_does_not_change():
    table = judges("a").table()
    assert isinstance(table, PaperTable)
    frame = table.to_frame()
    frame.iloc[0, 0] = 7.0
    assert table.to_frame().iloc[0, 0] != 7.0
    with pytest.raises(FrozenInstanceError):
        table.note = ""


# --- several coefficients at once -------------------------------------------------------------------------------


def scored(rater: str, noise: float) -> pd.DataFrame:
    score = TRUTH + noise * np.random.default_rng(3).normal(size=60)
    return pd.DataFrame({
        "item": [f"i{k}" for k in range(60)], "criterion": "fluency", "rater": rater, "score": score, "method": "human",
    })  # fmt: skip


@pytest.mark.slow
def test_several_coefficients_are_one_call():
    judge, human = scored("judge", 0.5), scored("people", 0.0)
    both = calib.agreement(judge, human, coefficient=("kendall", "pearson"))
    assert [label["coefficient"] for label in both.labels] == ["kendall", "pearson"]
    for kind in ("kendall", "pearson"):
        alone = calib.agreement(judge, human, coefficient=kind)
        assert both[kind].estimate == alone.estimate
        assert both[kind].interval == alone.interval
        assert "coefficient" not in alone.labels[0]
    assert both.table().heads == (("\u03c4",), ("r",))


def test_a_convention_names_its_coefficients():
    results = calib.agreement(scored("judge", 0.5), scored("people", 0.0), convention="unieval")
    assert [label["coefficient"] for label in results.labels] == ["pearson", "spearman", "kendall"]
    assert results["kendall"].coefficient == "kendall"


@pytest.mark.parametrize(("options", "said"), [
    ({"coefficient": ()}, "`coefficient` must name a coefficient, but is empty"),
    ({"coefficient": ("kendall", "nope")}, "`coefficient` must be one of"),
    ({"method": 5}, "`method` must be one of"),
    ({"method": ("kendall", "pearson")}, "`method` must be a text"),
    ({"coefficient": ("kendall",), "convention": "geval"}, "`coefficient` is set by `convention`"),
])  # fmt: skip
def test_coefficients_that_are_none_are_refused(options, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        calib.agreement(scored("judge", 0.5), scored("people", 0.0), **options)
