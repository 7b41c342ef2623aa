"""Reports: every number with its signature, in two formats, whatever the texts hold."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import calib
from calib import Results, stats
from calib.analysis.agreement.display import side_of_zero
from calib.core.result import three_digits
from calib.report.parts import report_parts
from calib.stats import (
    CalibWarning,
    Interval,
    MeanEstimate,
    agreement,
    alternative_annotator_test,
    compare,
    convergence,
    labels_needed,
    mean_interval,
    ppi_mean,
    rank_judges,
    reliability,
)
from calib.table.results import conclusions

HOSTILE = "<script>alert(1)</script> a|b `c` [d](http://e.example) *f*\n\n# g\x1b[31m \u202e"
NAN = float("nan")
NOT_VALID = "not an interval for the human mean"


def report(*given, **options):
    """The text of a report."""
    return calib.report(*given, **options).text


class Page(HTMLParser):
    """What a reader of the page meets: tags, attributes, texts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.tables, self.cell = [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]
        self.links += [value for name, value in attrs if name.startswith("on")]
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.cell = ""

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.tables[-1][-1].append(self.cell)
            self.cell = None


def pictures(text):
    """Each once: beside the wide one there is one for a phone."""
    wide, narrow = (re.findall(rf'<div class="{size}">(<svg .*?</svg>)</div>', text) for size in ("wide", "narrow"))
    assert len(wide) == len(narrow)
    return wide


def results(names=("coherence", "fluency"), method="ppi++"):
    rng = np.random.default_rng(0)
    labels, found = [], []
    for place, name in enumerate(names):
        y, f = rng.uniform(1, 5, 8), rng.uniform(1, 5, 20 + place)
        found.append(ppi_mean(y, f[:8], f[8:], estimator=method))
        labels.append(
            {"criterion": name, "rater": "judge", "prompt": f"p-{place}", "method": "logprob", "n_unmatched": 0}
        )
    return Results(tuple(labels), tuple(found))


def agreed(**options):
    rng = np.random.default_rng(1)
    found = [agreement(rng.uniform(size=30), rng.uniform(size=30), groups=[*range(6)] * 5, **options) for _ in range(3)]
    return Results(tuple({"criterion": name} for name in ("a", "b", "c")), tuple(found))


def converged(people=None):
    draws = np.random.default_rng(2).integers(1, 6, size=(9, 5))
    return Results(({"criterion": "a"},), (convergence(draws, labels=people, rng=3),))


def judges(number=2, seed=4):
    """Scores of judges from close to the human down, the human, and the design."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=60)
    scores = {f"judge-{i}": y + (0.3 + i) * rng.normal(size=60) for i in range(number)}
    return scores, y, {"groups": [*range(12)] * 5, "systems": np.repeat([*"abcde"], 12)}


def compared(**options):
    scores, y, design = judges()
    one, two = scores.values()
    found = [
        compare(a, b, y, names=tuple(scores), **design, **options) for a, b in ((one, two), (one, one), (one, two))
    ]
    labels = [{"criterion": c, "rater": "judge-0", "versus": "judge-1", "against": "ann"} for c in "abc"]
    return Results(tuple(labels), tuple(found))


def ranked():
    scores, y, design = judges(4)
    return Results(({"criterion": "a"}, {"criterion": "b"}), tuple(rank_judges(scores, y, **design) for _ in range(2)))


def panels(n_results=2):
    rng = np.random.default_rng(6)
    truth = rng.normal(size=(30, 1))
    table, judge = np.round(truth + rng.normal(size=(30, 3))), (truth + rng.normal(size=(30, 1)))[:, 0]
    labels = tuple({"criterion": name, "rater": "robot"} for name in "abcd"[:n_results])
    return Results(labels, (reliability(table, judge),) * n_results), Results(
        labels, (alternative_annotator_test(np.round(judge), table),) * n_results
    )


def mapped(**options):
    """Two judges on two criteria."""
    rng = np.random.default_rng(8)
    found = [agreement(*rng.uniform(size=(2, 30)), groups=[*range(6)] * 5, **options) for _ in range(4)]
    labels = tuple({"criterion": c, "rater": r} for c in "ab" for r in "xy")
    return Results(labels, tuple(found))


# --- what it says -----------------------------------------------------------------------------------------------


def test_signatures_name_their_rows():
    text = report(results(("a", "b", "c")))
    table = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    assert [row[:2] for row in table[2:]] == [["1", "a"], ["2", "b"], ["3", "c"]]
    for row, result in enumerate(results(("a", "b", "c")), start=1):
        assert f"- row {row}: `{result.signature}`" in text
    twice = Results(({"criterion": "a"}, {"criterion": "b"}), (mean_interval([1, 2, 4]),) * 2)
    text = report(twice)
    assert text.count(twice[0].signature) == 1
    assert "| criterion | estimate |" in text


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".md", ".html"])
def test_the_text_returned_is_the_file(ending, tmp_path):
    path = tmp_path / "new" / f"r{ending}"
    text = report(["A paragraph.", ("A heading", results())], path, title="The title")
    assert path.read_text(encoding="utf-8") == text
    assert all(words in text for words in ("A paragraph.", "A heading", "The title"))
    assert text == report(["A paragraph.", ("A heading", results())], path, title="The title")


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".md", ".html"])
def test_judge_only_says_what_it_is_not(ending, tmp_path):
    judged = report(results(method="judge_only"), tmp_path / f"a{ending}")
    assert NOT_VALID in judged.lower()
    assert "judge alone" in judged.lower()
    assert NOT_VALID not in report(results(), tmp_path / f"b{ending}").lower()


def test_methods_for_one_thing_stand_together():
    three = results(method="classical") + results(method="judge_only") + results(method="ppi++")
    rows = [line.split(" | ")[1:3] for line in report(three).splitlines() if re.match(r"\| \d", line)]
    assert rows == [
        [name, how] for name in ("coherence", "fluency") for how in ("people alone", "judge alone", "PPI++")
    ]


def test_columns_that_say_the_same_stand_under_the_table():
    text = report(results())
    head = next(line for line in text.splitlines() if line.startswith("| #"))
    more = "width against labels alone | effective labels"
    assert head == f"| # | criterion | estimate | std. error | 95 % CI | caution | judge's weight | n | df | {more} |"
    assert (
        "The same in all rows: rater judge, scoring method logprob, method PPI++, estimand human mean, labels 8" in text
    )
    assert "In row order: prompt p-0, p-1." in text


def test_the_other_rule_for_constant_groups_is_shown_where_it_matters():
    x, y, groups = [1, 2, 3, 1, 3, 2, 5, 5, 5], [1, 2, 3, 1, 2, 3, 1, 2, 3], [*"aaabbbccc"]
    assert "constant groups 1, other rule 0.5" in report(agreement(x, y, groups=groups, level="group"))
    assert "other rule" not in report(agreement(x[:6], y[:6], groups=groups[:6], level="group"))


def test_numbers_have_two_or_three_significant_digits():
    result = mean_interval(np.array([3, 4, 4, 5, 4]) / 7)
    row = next(line for line in report(result).splitlines() if line.startswith("| 0."))
    assert row == r"| 0.571 | 0.045 | \[0.446, 0.697\] |"
    tiny = pd.DataFrame({"p_value": [1.23456e-7, 0.5], "x": [2.5e-9, 123.456], "n": [3, 40]})
    assert [line for line in report([tiny]).splitlines() if line[:3] in ("| 0", "| 1")] == [
        "| 1.23e-07 | 2.5e-09 | 3 |",
        "| 0.5 | 123 | 40 |",
    ]


def test_the_head_of_an_interval_follows_its_level_and_convergence_speaks_in_sentences():
    assert "| 90 % CI |" in report(agreed(confidence_level=0.9))
    assert "| interval |" in report(agreed(confidence_level=0.9) + agreed(confidence_level=0.8))
    text = report(converged())
    with three_digits():
        line = str(converged()[0])
    assert f"{line}." in text.replace("\\", "")
    both = Results(({"criterion": "a"}, {"criterion": "b"}), (*converged(), *converged()))
    assert f"b: {line}." in report(both)
    # a frame keeps its index and leaves gaps empty
    frame = pd.DataFrame({"x": [1.5, np.nan], "word": [None, "w"]}, index=pd.Index(["r", "s"], name="row"))
    rows = [line for line in report([("Frame", frame)]).splitlines() if line.startswith("|")]
    assert rows == ["| row | x | word |", "| --- | ---: | --- |", "| r | 1.50 |  |", "| s |  | w |"]


def test_results_given_alone_keep_their_labels():
    text = report(results(), title="T")  # without a path it is Markdown
    assert text.startswith("# T\n\n")
    assert "| 2 | fluency |" in text
    assert text == report([results()], title="T")


def test_the_frame_keeps_both_methods_apart():
    frame = results().to_frame()
    assert frame["method"].tolist() == ["logprob"] * 2
    assert frame["estimator"].tolist() == ["ppi++"] * 2
    assert agreed().to_frame().coefficient.tolist() == ["spearman"] * 3
    assert frame["signature"].tolist() == [result.signature for result in results()]


# --- what may be concluded --------------------------------------------------------------------------------------


def plain(text):
    return text.replace("\\", "")


@pytest.mark.slow
@pytest.mark.parametrize("thing", [compared(), ranked(), *panels(), agreed(level="group"), results(), converged()])
@pytest.mark.parametrize("ending", [".md", ".html"])
def test_every_kind_comes_with_signature_and_sentence(thing, ending, tmp_path):
    text = report([("Some", thing), ("One", thing[:1])], tmp_path / f"r{ending}")
    assert all(result.signature in text for result in thing)
    text = plain(text).replace("&#39;", "'").replace("&lt;", "<")
    with three_digits():
        assert str(thing[0]).removesuffix(".") in text
        for line in conclusions(thing):
            assert line in text
            assert not line.endswith("..")
    assert all(f"{one.estimate:.2f}" in text for one in thing if isinstance(one, MeanEstimate))


def test_one_conclusion_stands_once_with_the_criteria_that_have_it():
    apart, alike = compared()[0].conclusion, compared()[1].conclusion
    number = "These are 3 tests; their p-values are not adjusted for that number."
    assert conclusions(compared()) == [f"a; c: {apart}", f"b: {alike}", number]
    assert apart == "judge-0 agrees with the labels more than judge-1 does (about new groups, these systems)."
    assert conclusions(compared()[:1]) == [apart]
    with three_digits():
        line = str(compared()[0])
    assert f"{line}. {apart}" in plain(report(compared()[:1]))


def test_comparisons_name_each_judge_once():
    head = next(line for line in report(compared()).splitlines() if line.startswith("| "))
    assert "versus" not in head
    rest = next(line for line in report(compared()).splitlines() if line.startswith("The same"))
    assert "first judge-0, second judge-1" in rest
    assert "rater" not in rest
    longer = tuple(label | {"rater": "judge-0 (p-1)"} for label in compared().labels)
    assert "rater judge-0 (p-1)" in report(Results(longer, compared().results))


def test_people_have_their_quantities_in_rows():
    text = report(panels()[0])
    assert "| criterion | quantity | estimate | 95 % CI | interval |" in text
    assert "| a | ceiling | 0.65 |" in text
    assert "nan" not in text
    # the alternative annotator test stands beside a judge that never looks
    result = panels()[1][0]
    text = plain(report(panels()[1]))
    assert result.verdict in text
    assert f"always {result.constant:g}" in text


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".md", ".html"])
def test_warnings_are_shown_once_with_what_they_are_about(ending, tmp_path):
    y = np.arange(20.0)
    with pytest.warns(CalibWarning, match="unequal_ties"):
        pair = compare(y // 10, y // 2, y, names=("coarse", "fine"), method="kendall")
    results = Results(tuple({"criterion": c} for c in "abc"), (pair, replace(pair, warnings=()), pair))
    text = plain(report([results], tmp_path / f"r{ending}"))
    name, _, told = pair.warnings[0].partition(": ")
    assert text.count(told) == 1
    bold = ("**", "**") if ending == ".md" else ('<b class="mind">', "</b>")
    bare = text.replace(bold[0], "").replace(bold[1], "")
    words = name.replace("_", " ")
    assert f"⚠ {words} (a; c): {told}." in bare
    head, _, *rows = [line.split(" | ") for line in plain(report([results])).splitlines() if line[:1] == "|"]
    assert [row[head.index("caution")] for row in rows] == [words, "", words]
    assert f"{words}: {told}" in plain(report([pair])).replace("**", "")
    assert "⚠" not in report([replace(pair, warnings=())], tmp_path / f"t{ending}")


def known(low=0.2, high=0.6, estimate=0.4, **changes):
    ends = {"interval": Interval(low, high), "generalises_to": "new groups and new systems"}
    return replace(agreed()[0], estimate=estimate, **ends | changes)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (known(),
         "Spearman rho = 0.4, 95 % CI [0.2, 0.6], which generalises to new groups and new systems, and excludes 0."),
        (known(-0.6, -0.2, -0.4), "[-0.6, -0.2], which generalises to new groups and new systems, and excludes 0."),
        (known(low=-0.1), "[-0.1, 0.6], which generalises to new groups and new systems, and does not exclude 0."),
        (known(low=0.0), "and does not exclude 0."),
        (known(NAN, NAN), "Spearman rho = 0.4, no interval: it says nothing beyond these data."),
        (known(coefficient="pairs"), "new systems; chance alone gives a share above 0, too."),
        (known(estimate=NAN), "No coefficient could be computed, so nothing can be concluded."),
    ],
)  # fmt: skip
def test_an_agreement_claims_what_its_interval_says_and_no_more(result, said):
    (line,) = conclusions(Results(({},), (result,)))
    assert line.endswith(said)


def test_the_highest_of_several_agreements_is_said_to_be_flattered():
    results = (known(), known(estimate=0.5, low=-0.1), known(estimate=NAN))
    labels = tuple({"criterion": name, "rater": "judge"} for name in "abc")
    (line,) = conclusions(Results(labels, results))
    assert line.startswith("The highest of 2 (b): Spearman rho = 0.5")
    assert line.endswith("and does not exclude 0; the highest of 2 is probably too high.")
    # unlike coefficients are not set against each other
    results = (known(), known(estimate=0.9, coefficient="pearson"), known(estimate=0.9, level="system"))
    labels = tuple({"criterion": name} for name in "abc")
    assert conclusions(Results(labels, results))[0].startswith("a: Spearman rho = 0.4")


def test_the_light_of_a_sentence_is_that_of_its_own_result():
    # two sentences for three results and a count of the tests: as many lines as results
    lines = [line for line in plain(report(compared())).split("##")[0].splitlines() if line[:2] == "- "]
    assert len(lines) == len(compared())
    assert lines[0].startswith("- **▲ judge-0 is ahead** a; c: judge-0 agrees")
    assert lines[1].startswith("- **○ not decided** b: ")
    assert lines[2].startswith("- These are 3 tests;")
    assert not re.search("[▲▼○]", report(agreed()))


@pytest.mark.parametrize(
    ("null", "light"), [(None, "- People"), (1.5, "- **▲ above 1.5**"), (4.9, "- **▼ below 4.9**")]
)
def test_a_mean_has_a_light_only_where_it_is_compared_with_a_value(null, light):
    options = {"bounds": (1, 5), "step": 1} | ({} if null is None else {"null": null})
    assert report(mean_of(options=options)).splitlines()[2].startswith(light)
    undecided = report(mean_of(options={"bounds": (1, 5), "null": 3.7})).splitlines()[2]
    assert undecided.startswith("- **○ not decided**")
    alone = report(mean_of(options={"estimator": "judge_only"} | ({} if null is None else {"null": null})))
    assert "**" not in alone.splitlines()[2]


def test_the_sentence_is_of_people_with_the_judge_where_there_are_several_ways():
    scale = {"bounds": (1, 5), "step": 1}
    ways = [mean_of(options={"estimator": name, **scale}) for name in ("labels", "judge_only", "auto")]
    said = [line for line in report(ways).splitlines() if line.startswith("- Mean")]
    with three_digits():
        assert [plain(line)[2:] for line in said] == conclusions(ways[2])


@pytest.mark.slow
def test_the_front_says_what_people_would_give_how_far_the_judge_is_off_and_what_to_use():
    y, scale = np.array([4, 3, 5, 4, 2, 4] * 10), {"bounds": (1, 5), "step": 1}
    rest = np.tile([3.9, 3.1, 4.8, 4.3, 2.4], 60)
    label = {"criterion": "tone", "rater": "judge"}
    rows = [({**label}, ppi_mean(y, y + 0.0, rest, estimator=name, **scale)) for name in ("judge_only", "auto")]
    front = report(Results.of(rows)).splitlines()[2]
    assert re.match(r"- People would give this 3\.\d+ (±|\()", front)
    assert "% narrower than the labels alone" in front
    assert "use it with these 60 labels" in front
    assert len(front.split()) < 45
    two = [(one | {"rater": name}, result) for name in ("gpt-4o", "claude") for one, result in rows]
    fronts = report(Results.of(two)).splitlines()[2:4]  # no one grades a judge
    assert [line.split(" 3.")[0] for line in fronts] == [
        f"- With judge {name}, people would give this" for name in ("gpt-4o", "claude")
    ]


def test_of_many_results_the_gist_is_said():
    many = Results(tuple({"criterion": f"c{i}"} for i in range(9)), tuple(known(estimate=0.1 * i) for i in range(9)))
    needed = tuple(labels_needed(rho=0.5 + 0.05 * i, sd=1.1, n_items=2000, half_width=0.2) for i in range(9))
    text = report([("A", many), ("N", Results(many.labels, needed))])
    assert "The highest of 9 (c8)" in text.split("##")[0]
    assert "... and 5 more in the table." in text
    means_of_many = Results(tuple({"system": f"M{i}"} for i in range(9)), results(tuple("abcdefghi")).results)
    [gist] = [line for line in report(means_of_many).splitlines() if line[:2] == "- " and "human" in line.lower()][:1]
    low, high = (choose(means_of_many, key=lambda r: r.estimate) for choose in (min, max))
    assert f"Human mean from {low.estimate:.3g}" in gist
    assert f"to {high.estimate:.3g}" in gist


@pytest.mark.slow
def test_what_could_not_be_computed_is_left_out_and_said(tmp_path):
    gone = known(NAN, NAN, NAN, reason="a rater gives all items one value")
    for ending in (".md", ".html"):
        text = report([("Kept", known()), ("Gone", gone)], tmp_path / f"r{ending}")
        assert "Left out: Gone (a rater gives all items one value)." in text
        assert text.count("Gone") == 1


@pytest.mark.slow
def test_very_many_rows_have_no_picture_but_a_table(tmp_path):
    one = known()
    for number, drawn in ((150, 1), (151, 0)):
        many = Results(tuple({"criterion": f"c{i}"} for i in range(number)), (one,) * number)
        text = report(many, tmp_path / "r.html")
        assert len(pictures(text)) == drawn
        assert ("There is no picture of 151 rows" in text) == (not drawn)
        assert text.count("<tr>") == number + 1


@pytest.mark.slow
def test_notes_are_paragraphs_under_the_title(tmp_path):
    text = report(results(), notes="One.\n\nTwo & three.")
    assert text.startswith("# calib report\n\nOne.\n\nTwo \\& three.\n\n- ")
    page = report(results(), tmp_path / "r.html", notes="One.\n\nTwo <b>.")
    assert "<p>One.</p>\n<p>Two &lt;b&gt;.</p>" in page


@pytest.mark.slow
def test_both_formats_have_the_same_sections_in_the_same_order(tmp_path):
    parts = [("Means", results()), ("Agreement", agreed()), ("Judges", compared()), ("Frame", pd.DataFrame({"x": [1]}))]
    page = report(parts, tmp_path / "r.html")
    heads = re.findall("^## (.*)$", report(parts), re.MULTILINE)
    assert re.findall("<summary><h2>(.*?)</h2>", page) == heads == ["Means", "Agreement", "Judges", "Frame"]
    rows = [len(table) - 1 for table in Page(page).tables]
    marked = [len(re.findall(r"^\|", part, re.MULTILINE)) - 2 for part in report(parts).split("\n## ")[1:]]
    assert rows == marked
    assert "data:" not in report([*parts, converged(), mapped(), ranked(), *panels()]), "Markdown has no pictures"


# --- pictures ---------------------------------------------------------------------------------------------------


OF_AGREEMENT = "Spearman rho over items (95 % CI), n = 30 items"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("thing", "titles"),
    [(results(), ["human mean (95 % CI)"]), (agreed(), [OF_AGREEMENT]), (converged(), ["RMSE"]),
     (converged(people=np.arange(9)), ["RMSE", "with people"]), (pd.DataFrame({"x": [1]}), []), ("words", []),
     (results() + agreed(), []), (mapped(), [OF_AGREEMENT]), (mapped()[0], [" against labels"]),
     (mapped()[:1], [" against labels"]),
     (mapped(level="group")[:1], ["against labels", "Spearman rho inside each group"]),
     (compared(), ["difference, Spearman rho over items (95 % CI), n = 60 items, hollow: no clear difference"]),
     (ranked(), ["clusters differ from each other (jackknife, Holm)"]),
     (panels()[0], ["with the mean of the other people (95 % CI), n = 30 items"]), (panels()[1], [])],
)  # fmt: skip
def test_html_has_the_pictures_of_each_kind(thing, titles, tmp_path):
    before = plt.get_fignums()  # the examples of the docstrings leave some
    text = report([thing], tmp_path / "r.html")
    found = [re.search('aria-label="([^"]*)"', picture)[1] for picture in pictures(text)]
    assert len(found) == len(titles)
    assert all(title in one for title, one in zip(titles, found, strict=True))
    assert text.count('aria-label="Picture: ') == 2 * len(titles)
    assert plt.get_fignums() == before


def test_what_may_be_concluded_from_results_and_from_one():
    one = known()
    assert one.conclusion == Results(({},), (one,)).conclusion == conclusions(Results(({},), (one,)))[0]
    assert mean_of().one().conclusion.startswith("Mean human score is 3.713, 95 % CI")
    assert converged()[0].conclusion == f"{converged()[0]}."
    assert compared().conclusion == "\n".join(conclusions(compared()))
    mixed = Results(({"criterion": "a"},), (one,)) + compared()  # each in its way
    assert conclusions(mixed) == [*conclusions(mixed[:1]), *conclusions(compared())]


@pytest.mark.slow
def test_several_judges_and_criteria_are_a_map(tmp_path):
    text = report([mapped()], tmp_path / "r.html")
    cells = [f"{result.estimate:.3f}" for result in mapped()]
    assert all(f">{cell}<" in pictures(text)[0] for cell in cells)
    assert ">x<" in pictures(text)[0]
    rows = report([Results(mapped().labels[:2], mapped().results[:2])], tmp_path / "r.html")
    assert not any(f">{cell}<" in pictures(rows)[0] for cell in cells)
    twice = report([mapped() + mapped()], tmp_path / "r.html")  # two results for one cell
    assert len(pictures(twice)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("things", [[results(), agreed(), converged()], [("Frame", pd.DataFrame({"x": [1]}))]])
def test_the_page_needs_nothing_from_elsewhere(things, tmp_path):
    text = report(things, tmp_path / "r.html")
    page = Page(text)
    assert all(link.startswith("#") for link in page.links)
    assert not {"link", "iframe", "object", "embed", "img", "image"} & set(page.tags)
    assert page.tags.count("script") == 1
    bare = re.sub(r"xmlns(:\w+)?=\"http://www.w3.org/[^\"]*\"", "", text)
    assert not re.search(r"url\((?!#)|@import|https?:", bare)


@pytest.mark.slow
def test_the_one_script_that_may_run_is_the_one_of_the_page(tmp_path):
    text = report(results(), tmp_path / "r.html")
    for part in ("prefers-color-scheme: dark", "@media print", 'class="scroll', "overflow: auto"):
        assert part in text
    [script] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy.replace("&#39;", "'")
    assert "default-src 'none'" in policy
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(", script)


# --- hostile texts ----------------------------------------------------------------------------------------------


def hostile_parts():
    named = Results(
        tuple(label | {"criterion": f"{HOSTILE}{i}", "rater": HOSTILE} for i, label in enumerate(results().labels)),
        results().results,
    )
    return [HOSTILE + "\ud800", (HOSTILE, named), (HOSTILE, pd.DataFrame({HOSTILE: [HOSTILE, "-1. x"], "y": [1, 2]}))]


@pytest.mark.slow
def test_hostile_texts_are_text_in_html(tmp_path):
    text = report(hostile_parts(), tmp_path / "r.html", title=HOSTILE)
    page = Page(text)
    assert page.tags.count("script") == 1
    assert all(link.startswith("#s") for link in page.links)
    shown = "<script>alert(1)</script> a|b `c` [d](http://e.example) *f*  # g[31m \ufffd"
    assert page.tables[-1] == [[shown, "y"], [shown, "1"], ["-1. x", "2"]]
    assert page.tables[0][1][1] == f"{shown}0"
    assert "\x1b" not in text
    assert len(pictures(text)) == 1
    assert "<script>" not in pictures(text)[0]


def test_hostile_texts_are_text_in_markdown(tmp_path):
    text = report(hostile_parts(), tmp_path / "r.md", title=HOSTILE)
    shown = r"\<script\>alert(1)\</script\> a\|b \`c\` \[d\](http://e.example) \*f\*  # g\[31m" + " \ufffd"
    assert text.startswith(f"# {shown}\n")
    tables = [line for line in text.splitlines() if line.startswith("|")]
    widths = [len(re.findall(r"(?<!\\)\|", line)) for line in tables]
    assert widths == [widths[0]] * 4 + [3] * 4
    assert tables[-3:-1] == ["| --- | ---: |", f"| {shown} | 1 |"]
    outside = re.sub(r"`[^`]*`", "", text.replace(r"\`", ""))
    assert not re.search(r"(?<!\\)[<\[`]", outside)
    assert text.count("\n# ") == 0


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".md", ".html"])
def test_hostile_names_of_judges_are_text_in_both(ending, tmp_path):
    y = np.arange(20.0)
    names = (f"{HOSTILE}1", f"{HOSTILE}2")
    with pytest.warns(CalibWarning, match="unequal_ties"):
        pair = compare(y // 10, y // 2, y, names=names, method="kendall")
    order = rank_judges({names[0]: y // 2, names[1]: -y}, y)
    tied = Results(tuple({"criterion": f"{HOSTILE}{i}", "rater": HOSTILE} for i in range(2)), (pair, pair))
    mapped_there = tuple({"criterion": f"{HOSTILE}{i % 2}", "rater": f"{HOSTILE}{i // 2}"} for i in range(4))
    text = report([pair, tied, order, Results(mapped_there, mapped().results)], tmp_path / f"r{ending}")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert "unequal ties" in text
    if ending == ".html":
        assert Page(text).tags.count("script") == 1
        assert all("<script>" not in picture for picture in pictures(text))
        assert len(pictures(text)) == 4
    else:
        assert not re.search(r"(?<!\\)[<\[`]", re.sub(r"`[^`]*`", "", text.replace(r"\`", "")))


@pytest.mark.parametrize("start", ["# head", "- item", "+ item", "1. item", "12) item", "> quote", "---", "    code"])
def test_a_paragraph_stays_a_paragraph_in_markdown(start):
    body = report([start]).split("\n\n", 1)[1]
    assert not re.match(r"#|[-+>]|\d+[.)]|    ", body)


# --- what it refuses --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["r.pdf", "r", "r.HTML"])
def test_another_ending_is_refused_and_nothing_written(name, tmp_path):
    with pytest.raises(ValueError) as error:
        report(results(), tmp_path / name)
    assert str(error.value) == f"`path` must end in .md or .html, but got {str(tmp_path / name)!r}."
    assert not list(tmp_path.iterdir())


def test_nothing_and_other_things_are_refused():
    with pytest.raises(ValueError, match=r"must hold something to report, but is empty"):
        report([])
    assert "Left out: None (there are no results)." in report([("None", Results((), ()))])
    with pytest.raises(TypeError, match=r"but got 3\."):
        report([3])
    with pytest.raises(TypeError, match=r"or pairs \(heading, thing\)"):
        report([(results(), results())])


@pytest.mark.slow
def test_a_report_of_tables_end_to_end(tmp_path):
    items, people = calib.load_planted()
    human = calib.summarize(people, items)
    results = calib.agreement(
        human[human["rater"] == "simulated-1"], human[human["rater"] == "simulated-2"], level="group"
    )
    page = Page(report([("Two of them", results)], tmp_path / "r.html"))
    assert page.tables[0][0][:2] == ["criterion", "estimate"]
    assert [row[0] for row in page.tables[0][1:]] == ["coherence", "consistency", "fluency", "relevance"]
    assert [float(row[1]) for row in page.tables[0][1:]] == pytest.approx([r.estimate for r in results], abs=5e-4)


# --- means ------------------------------------------------------------------------------------------------------


def mean_of(**label):
    y, f = [4, 3, 5, 4, 2, 4, 5, 3, 4, 4], [4.2, 3.1, 4.9, 4.4, 2.3, 3.8, 4.6, 3.3, 4.1, 3.9]
    rest = [4.0, 3.5, 4.4, 2.9, 4.1, 3.6, 4.8, 3.3, 2.8, 3.1, 3.7, 4.4]
    options = label.pop("options", {"bounds": (1, 5), "step": 1})
    return Results(({"criterion": "coherence", "rater": "judge", **label},), (ppi_mean(y, f, rest, **options),))


def test_a_sentence_for_a_report():
    results = mean_of(system="M22")
    low, high = results.one().interval
    [said] = conclusions(results)
    start, _, compared = said.rpartition("; ")
    assert start == (
        f"Mean human coherence of system M22 is 3.713, 95 % CI [{low:.4g}, {high:.4g}], from 10 human labels and "
        "22 judge scores"
    )
    change = results.one().width_ratio - 1
    assert compared == f"{abs(change):.0%} {'wider' if change > 0 else 'narrower'} than the labels alone.".replace(
        "%", " %"
    )
    [plain] = conclusions(mean_of(options={"estimator": "classical", "null": 3.5}))
    assert plain.startswith("Mean human coherence is 3.8, 95 % CI [3.143, 4.457], p = 0.33, from 10 human labels.")
    [alone] = conclusions(mean_of(options={"estimator": "judge_only"}))
    assert alone.startswith("Mean judge's coherence is ")
    assert alone.endswith(", from no human label and 22 judge scores.")


def test_a_report_says_what_is_assumed_and_what_to_mind():
    text = report(mean_of(options={"tuned_on_labels": True}))
    assert "Assumed: The labelled items are a simple random sample of all items." in text
    assert "- ⚠ **tuned on labels**: the judge has seen these labels" in text
    assert " (⚠ tuned on labels" in text.split("##")[0]
    # labels needed are a section with a curve
    needed = labels_needed(rho=0.8, sd=1.1, n_items=2000, half_width=0.2)
    text = report([("How many", Results(({"criterion": "coherence"},), (needed,)))])
    assert "48 labels with the judge" in text
    assert "| labels | half-width | half-width alone |" in text


@pytest.mark.slow
def test_methods_for_one_thing_are_one_section_and_one_picture(tmp_path):
    ways = [mean_of(options={"estimator": method}) for method in ("classical", "judge_only", "auto")]
    text = report(ways, tmp_path / "ways.html")
    assert len(Page(text).tables) == 1
    assert len(pictures(text)) == 1
    apart = report([("one", ways[0]), ("two", ways[1])], tmp_path / "apart.html")
    assert len(pictures(apart)) == 2


def test_one_sided_intervals_are_said_as_bounds():
    low, high = (mean_of(options={"alternative": side, "bounds": (1, 5)}) for side in ("greater", "less"))
    assert conclusions(low)[0].startswith(f"Mean human coherence is 3.713, at least {low.one().interval.low:.4g}")
    assert " with 95 % confidence, from 10" in conclusions(low)[0]
    assert f", at most {high.one().interval.high:.4g} " in conclusions(high)[0]
    assert "inf" not in str(mean_of(options={"alternative": "greater"}).one())


def test_of_several_differences_none_is_lit_that_its_adjusted_p_does_not_decide():
    y, f = np.array([3.0, 4, 5, 4, 3, 4, 5, 4, 5, 4, 3, 5]), np.array([3.1, 4, 4.8, 4.2, 3, 4, 5, 4, 4.6, 4, 3.3, 5])
    apart = stats.ppi_difference(y, y - np.tile([0.5, 1.5], 6), f, f - 1)
    labels = tuple({"criterion": "tone", "system": f"a - {b}", "p_adjusted": p} for b, p in (("b", 0.01), ("c", 0.2)))
    text = report(Results(labels, (apart, apart)))
    lights = re.findall(r"^- \*\*(.*?)\*\*", text, re.MULTILINE)
    assert lights == ["▲ above 0", "○ not decided"]
    assert "| p adjusted |" in text
    # comparisons beside each other are lit by Bonferroni's rule
    pair = compared().results[0]
    sure, near = (replace(pair, p_value=p, estimate=0.2) for p in (0.001, 0.04))
    assert [side_of_zero({"n_beside": n}, near)[0] for n in (1, 2)] == ["above", "open"]
    assert side_of_zero({"n_beside": 20}, sure)[0] == "above"


def test_notes_that_differ_in_their_numbers_alone_are_one_with_the_range_and_signatures_keep_four_digits():
    texts = [f"edge: {share} % of 1,000 labels of 'm-{share}' are 5." for share in (80, 9.5, 80)]
    means = [replace(mean_interval([1, 2, 4]), warnings=(text,)) for text in texts]
    labels = tuple({"criterion": name} for name in "abc")
    quoted = report(Results(labels, means))
    assert "**edge** (a; c): 80 % of 1,000 labels of 'm-80' are 5." in plain(quoted)  # names are no numbers
    texts = ["edge: 80 % of 1,000 labels are 5.", "edge: 9.5 % of 1,200 labels are 5."] * 4
    means = [replace(mean_interval([1, 2, 4]), warnings=(text,)) for text in texts]
    text = plain(report(Results(tuple({"criterion": f"c{i}"} for i in range(8)), means)))
    assert "**edge** (8 of 8 rows): 9.5 to 80 % of 1,000 to 1,200 labels are 5." in text
    assert text.count("**edge**") == 1
    one = replace(mean_interval([1, 2, 4]), lam=0.12345)
    assert "lam:0.1235" in report(one)


def test_the_rows_of_a_picture_are_in_the_order_of_the_file():
    rng = np.random.default_rng(0)
    system = np.repeat(["s1", "s2", "s3"], 80)
    quality = rng.normal(3, 1, 240)
    noise = np.where(system == "s2", 0.4, 3.0)  # the judge narrows the interval of one system alone
    human = np.clip(np.round(quality + noise * rng.normal(size=240)), 1, 5)
    judge = np.clip(np.round(quality), 1, 5)
    labels = np.where(rng.random(240) < 0.3, human, np.nan)
    frame = pd.DataFrame({"id": [f"q{i}" for i in range(240)], "system": system, "judge": judge, "human": labels})
    means = dict(report_parts(calib.look(frame, scale="1|2|3|4|5")))["Mean human score, by system"]
    uses = {label["system"]: one.uses_judge for label, one in zip(means.labels, means, strict=True)}
    assert [*uses] == ["s1", "s2", "s3"]
    assert len(set(uses.values())) == 2


def test_what_to_know_before_the_numbers_are_used_stands_open(tmp_path):
    labels = pd.Series([4, 3, 5, 4, 2, 44, 4, 3, 2, 1, 4, 3, 5, 4, 2], index=range(15))
    frame = pd.DataFrame({"id": range(60), "judge": [4, 3, 5, 4, 2, 4] * 10}).assign(human=labels)
    page = report(calib.look(frame), tmp_path / "page.html")
    before = page[page.index("Before you use these numbers") - 60 :]
    assert "<details open>" in before.partition("Before you use")[0]
    assert "1 of 15 labels of quality (44 at most) lie far above all others" in before.partition("</details>")[0]
