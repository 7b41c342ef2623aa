"""What frontier.csv says of each rule: two pictures and the table that opens docs/intervals.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = Path(__file__).parent
DOCS = FOLDER.parents[1] / "docs"
T, PPI, ARES = "labels alone, t", "PPI++ (ppi_py)", "ARES"
CALIB, ALONE, SAFE = "calib", "calib, labels alone", "calib, conservative"
KEY = ["family", "population", "gold"]
SITUATIONS = {
    "labels spread over the scale": ("ordinary",),
    "labels crowd at one value": ("spike", "zero-inflated", "half steps", "means of raters"),
    "the judge copies people, or passes gross failures": ("copies", "one-sided"),
    "the judge flags good items, or its replies are misread": ("false flags", "misread"),
    "a small part of a long scale is used": ("long scale",),
    "yes or no": ("yes or no", "probability"),
    "no scale known": ("no scale",),
}
LOOKS = {
    T: ("#4D4D4D", "s"),
    PPI: ("#D55E00", "X"),
    ARES: ("#009E73", "^"),
    SAFE: ("#CC79A7", "D"),
    CALIB: ("#0072B2", "o"),
}


def read(path: Path) -> pd.DataFrame:
    """The rows of the study, with the width over that of Student's t from the labels alone."""
    results = pd.read_csv(path)
    alone = results[results["rule"] == T].set_index(KEY)["width"]
    return results.assign(ratio=results["width"] / alone.loc[pd.MultiIndex.from_frame(results[KEY])].to_numpy())


def summary(results: pd.DataFrame, *by: str) -> pd.DataFrame:
    """Lowest and mean coverage, cells below 93 %, the worst share of misses to one side, median width over t."""
    worse = results[["too_low", "too_high"]].max(axis=1)
    return (
        results.assign(miss=worse)
        .groupby(list(by), sort=False)
        .agg(
            cells=("coverage", "size"),
            lowest=("coverage", "min"),
            mean=("coverage", "mean"),
            below_93=("coverage", lambda c: int((c < 93).sum())),
            one_side=("miss", "max"),
            width=("ratio", "median"),
        )
    )


def table(results: pd.DataFrame) -> str:
    """Which to trust when: the lowest coverage of a cell and, in brackets, the mean."""
    situation = {family: text for text, families in SITUATIONS.items() for family in families}
    found = summary(results.assign(situation=results["family"].map(situation)), "situation", "rule")
    rules = {T: "labels alone, t", PPI: "PPI++ (ppi_py)", CALIB: "calib", SAFE: "`conservative`"}
    lines = ["| | " + " | ".join(rules.values()) + " |", "|---" * (1 + len(rules)) + "|"]
    for text in SITUATIONS:
        rows = [found.loc[text, rule] if (text, rule) in found.index else None for rule in rules]
        said = ["" if row is None else f"{row['lowest']:.1f} ({row['mean']:.1f})" for row in rows]
        lines.append(f"| {text} | " + " | ".join(said) + " |")
    return "\n".join(lines)


def draw(results: pd.DataFrame, path: Path) -> None:
    """Coverage against width, where labels are spread over the scale and where they are not."""
    from matplotlib import pyplot as plt

    scaled = results[results["family"] != "no scale"]
    easy = scaled["family"].isin(SITUATIONS["labels spread over the scale"])
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 4.4), sharey=True)
    panels = ("labels spread over the scale", scaled[easy]), ("populations made to break intervals", scaled[~easy])
    for ax, (title, part) in zip(axes, panels, strict=True):
        for rule in LOOKS:
            _rule(ax, summary(part[part["rule"] == rule], "gold"), rule)
        ax.set_title(title, fontsize="medium")
        ax.set_xlabel("width, labels alone by Student's t = 1")
    _coverage_axis(axes[0])
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].text(
        0.03, 0.05, "empty marks: 20 labels\nfull marks: 50 labels", transform=axes[0].transAxes, fontsize="small"
    )
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False, fontsize="small")
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _rule(ax: Axes, rows: pd.DataFrame, rule: str) -> None:
    """Marks at the mean over populations, empty with 20 labels and full with 50, and lines down to the lowest."""
    colour, marker = LOOKS[rule]
    ax.plot(rows["width"], _within(rows["mean"]), color=colour, linewidth=0.8, zorder=3)
    for gold, row in rows.iterrows():
        low, mean = _within(row[["lowest", "mean"]])
        full = gold == rows.index.max()
        ax.vlines(row["width"], low, mean, color=colour, linewidth=2.2 if rule == CALIB else 1.1, alpha=0.7)
        look = {"marker": marker, "color": colour, "markerfacecolor": colour if full else "white", "markersize": 7}
        ax.plot(row["width"], mean, linestyle="", zorder=4, label=rule if full else None, **look)


def _within(percent: pd.Series) -> pd.Series:
    """Shares that the axis can show."""
    return (percent / 100).clip(0.03, 0.998)


def _coverage_axis(ax: Axes) -> None:
    """Coverage on the logit scale, which shows 20 % and 97 % at once."""
    ticks = (0.05, 0.2, 0.5, 0.8, 0.9, 0.95, 0.98, 0.995)
    ax.set_yscale("logit")
    ax.set_ylim(0.025, 0.9985)
    ax.set_yticks(ticks, [f"{100 * tick:g}" for tick in ticks])
    ax.set_yticks([], minor=True)
    ax.set_ylabel("coverage of 95 % intervals, %\n(line: from the mean down to the lowest)")
    for each in ax.figure.axes:
        each.axhline(0.95, color="black", linewidth=0.9, zorder=1)


def curve_of(results: pd.DataFrame) -> pd.DataFrame:
    """For each rule the mean width over t on ordinary populations, lowest and mean coverage on the hard ones."""
    families = results.loc[results["rule"].str.startswith(("place", "reach")), "family"].unique()
    part = results[results["family"].isin(families)]
    usual = part["family"].isin(("ordinary", "long scale"))
    widths = {family: part[part["family"] == family].groupby("rule", sort=False)["ratio"].mean() for family in families}
    hard = part[~usual].groupby("rule", sort=False)["coverage"]
    return pd.DataFrame({
        "ordinary": widths["ordinary"],
        "long": widths["long scale"],
        "lowest, usual": part[usual].groupby("rule")["coverage"].min(),
        "lowest": hard.min(),
        "mean": hard.mean(),
        "below_93": hard.agg(lambda c: int((c < 93).sum())),
    })  # fmt: skip


def draw_curve(results: pd.DataFrame, path: Path) -> None:
    """What the place and the reach of the unseen label buy, and cost."""
    from matplotlib import pyplot as plt

    found = curve_of(results)
    place, reach = ([name for name in found.index if name.startswith(word)] for word in ("place", "reach"))
    place.insert(2, CALIB)  # its place is .3, between .15 and .5
    reach.insert(1, CALIB)  # its reach is 2.5, between 1.5 and 4
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True)
    for ax, width in zip(axes, ("ordinary", "long"), strict=True):
        for names, colour in ((place, "#0072B2"), (reach, "#E69F00")):
            ax.plot(found.loc[names, width], found.loc[names, "lowest"], color=colour, marker="o", markersize=5)
        for i, rule in enumerate(dict.fromkeys(place + reach)):
            at = found.loc[rule, [width, "lowest"]]
            ax.annotate(rule, at, xytext=(6, 5 if i % 2 else -11), textcoords="offset points", fontsize=8)
        ax.set_xlabel(f"mean width on {width} {'populations' if width == 'ordinary' else 'scales'}, t = 1")
        ax.margins(x=0.3, y=0.15)
    axes[0].set_ylabel("lowest coverage on the hard populations, %")
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    plt.close(figure)


def main() -> None:
    """Draw both pictures, and print the table and what it rests on."""
    import matplotlib as mpl

    mpl.use("agg")
    results = read(FOLDER / "frontier.csv")
    draw(results, DOCS / "coverage_width.png")
    draw_curve(results, FOLDER / "frontier.png")
    print(table(results))
    print(summary(results[results["rule"].isin([*LOOKS, ALONE])], "family", "rule").round(2).to_string())
    print(curve_of(results).round(3).to_string())


if __name__ == "__main__":
    main()
