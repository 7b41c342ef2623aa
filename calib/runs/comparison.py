"""Two runs on the same tasks: the difference, with an interval for tasks to come and for exactly these tasks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from calib.analysis.means.mean import mean_interval
from calib.core import check
from calib.core.check import ArgumentError, Codes, Floats, Labels
from calib.core.laws import Student, p_value_of
from calib.core.numeric import ratio, recoded
from calib.core.result import NO_INTERVAL, Estimate, Interval, short, term
from calib.runs.attempts import PassAtK, Passes, flip_rate, pass_at_k, pass_hat_k
from calib.runs.changes import TaskChanges, task_changes_of
from calib.runs.nested import NestedComponents, nested_components, scores_by_trial, trial_means
from calib.runs.power import RunPlan, TaskNoise, cheapest_runs, run_power

_FEW = 5  # tasks that differ, below which the interval allows for two more
_FEW_GROUPS = 10
_EACH_K = 16
_ROUNDING = 1e-12  # of the scale
_LEAST = 10  # labels, below which no interval was found that holds


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison(Estimate):
    """Mean score of the second run less that of the first, on the tasks of both.

    Attributes
    ----------
    estimate : float
        Mean over tasks of the second run's mean over trials, less the first run's.
    interval : Interval
        For tasks to come, of which these are a sample.
    these_interval : Interval
        For exactly these tasks, tried again; NaN where a run tried each task once.
    std_error, df : float
        Of Student's t over tasks (or groups of tasks).
    null, p_value : float
        Two-sided p-value of the difference `null`.
    exact_p_value : float
        McNemar's exact test, where each task passed or failed once in each run; else NaN.
    mean_a, mean_b : float
    flip_a, flip_b : float
        How often two trials of a task disagree; NaN with one trial, and where scores are not pass or fail.
    n, n_groups : int
        Tasks of both runs, and groups of them.
    n_trials_a, n_trials_b : int
        Trials in all.
    n_better, n_worse : int
        Tasks that scored higher, and lower, in the second run.
    n_real : int
        Tasks whose own change is beyond chance after adjustment.
    components_a, components_b : NestedComponents
        Variance of tasks, trials and judge draws in each run.
    attempts : PassAtK or None
        pass@k and pass^k, where scores are pass or fail.
    changes : TaskChanges
    """

    std_error: float
    df: float
    null: float
    p_value: float
    exact_p_value: float
    these_interval: Interval
    mean_a: float
    mean_b: float
    flip_a: float
    flip_b: float
    n: int = term("tasks")
    n_groups: int
    n_trials_a: int = term("trials_a")
    n_trials_b: int = term("trials_b")
    n_better: int
    n_worse: int
    n_real: int
    components_a: NestedComponents = field(repr=False)
    components_b: NestedComponents = field(repr=False)
    attempts: PassAtK | None = field(repr=False)
    changes: TaskChanges = field(repr=False)
    _kind = "runs"
    _cells = (
        "estimate interval std_error df p_value exact_p_value mean_a mean_b these_interval flip_a flip_b n n_groups "
        "n_trials_a n_trials_b n_better n_worse n_real warnings"
    )

    @property
    def noise(self) -> TaskNoise:
        """What a task's difference varies by: the task itself, a trial and a judge draw of both runs.

        What was not measured in both is NaN, and that of one run alone is part of the level above.
        """
        parts = (self.components_a, self.components_b)
        task, trial, draw = self.n * self.std_error**2, 0.0, 0.0
        for part in parts:
            of_trial, of_draw = float(np.nan_to_num(part.trial)), float(np.nan_to_num(part.draw))
            task -= (of_trial + of_draw * part.n_trials / part.n_scores) * part.n_tasks / part.n_trials
            trial, draw = trial + of_trial, draw + of_draw
        task = max(task, 0.0)
        if any(math.isnan(part.draw) for part in parts):
            trial, draw = trial + draw, math.nan
        if any(math.isnan(part.trial) for part in parts):
            task, trial = task + trial, math.nan
        return TaskNoise(task, trial, draw)

    def power(self, difference: float, *, tasks: int | None = None, trials: int = 1, draws: int = 1) -> float:
        """Chance that two runs like these show a difference of this size, with other numbers of tasks or trials.

        See `run_power`.
        """
        return run_power(
            difference, self.n if tasks is None else tasks, trials, draws, **self.noise._asdict(),
            confidence_level=self.confidence_level,
        )  # fmt: skip

    def needed(self, difference: float, **options: Any) -> RunPlan:
        """Tasks, trials and judge draws for a difference of this size, the cheapest first. See `cheapest_runs`."""
        return cheapest_runs(difference, **self.noise._asdict(), confidence_level=self.confidence_level, **options)

    def labels_to_decide(self, power: float = 0.8) -> float:
        """Tasks on which people would have to label both runs, to decide whether people see this difference, too.

        From labels alone, if people's differences are as large and vary as much as the judge's; infinite where there
        is no difference. A judge that agrees with people makes it fewer (`calib.plan`).
        """
        if self.estimate == 0 or math.isnan(self.std_error):
            return math.inf
        size = special.ndtri((1 + self.confidence_level) / 2) + special.ndtri(power)
        return float(math.ceil(max(self.n * (size * self.std_error / self.estimate) ** 2, _LEAST)))

    def __str__(self) -> str:
        made = f"{self.n} tasks, {self.n_trials_a} and {self.n_trials_b} trials{self._bracketed_warnings}"
        about = f"{short(self.mean_a)} -> {short(self.mean_b)}"
        return f"mean difference of runs = {short(self.estimate)} ({about}), {self.bracket}, {made}"


def compare_runs(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: Labels | None = None,
    bounds: tuple[float, float] | None = None,
    pass_mark: float | None = None,
    tasks: Labels | None = None,
    adjust: str = "holm",
    null: float = 0.0,
    confidence_level: float = 0.95,
) -> RunComparison:
    r"""Mean score of run b less that of run a, paired by task.

    Of task i the difference :math:`d_i` of both means over trials. For tasks to come

    .. math:: \bar d \pm t_{\nu} \sqrt{V}, \qquad
              V = \sum_g \frac{1}{1 - h_g} \Big(\sum_{i \in g} \frac{d_i - \bar d}{n}\Big)^2, \quad
              \nu = \frac{1}{\sum_g h_g^2} - 1

    over groups of tasks that hold shares h of all n tasks. Without `groups` this is the paired t test of task means, of
    groups of one size Miller's clustered error; of uneven ones that held in 89 to 94 % of the samples, this in 93.4 to
    96. Where fewer than five tasks or groups
    differ from the most frequent difference, Student's t would take rare differences for none: the interval then also
    holds the one with two more tasks, one at each end of the scale (Bonett and Price). For exactly these tasks

    .. math:: \bar d \pm t_{\nu} \frac1n \sqrt{\sum_i \frac{s_{a,i}^2}{T_{a,i}} + \frac{s_{b,i}^2}{T_{b,i}}}

    with the variance s of a task's T trials and :math:`\nu` the sum of T - 1; where fewer than five of these variances
    are above 0, two more of a single miss are added.

    Parameters
    ----------
    a, b : array_like, shape (tasks,), (tasks, trials) or (tasks, trials, draws)
        Scores of the same tasks in the same order; NaN where a trial or a draw is missing. A task without a score in
        one of them is left out.
    groups : sequence, shape (tasks,), optional
        Tasks of one group (a repository, a document) are not independent.
    bounds : (float, float), optional
        Ends of the scale; default: of pass or fail 0 and 1, else the lowest and highest score of both runs.
    pass_mark : float, optional
        A trial with this mean score or more is a pass: for pass@k, pass^k, flip rates and tests of single tasks.
        Default: where all scores are 0 or 1, half of a trial's draws.
    tasks : sequence, shape (tasks,), optional
        Their names in `changes`.
    adjust : {"holm", "bh"}, default "holm"
        P-values of single tasks: Holm's, or Benjamini and Hochberg's.
    null : float, default 0.0
        The difference that `p_value` is for.
    confidence_level : float, default 0.95

    References
    ----------
    Miller (2024), Adding error bars to evals, arXiv:2411.00640; Bell and McCaffrey (2002), Survey
    Methodology 28:169-181, for the leverages; Bonett and Price (2012), Journal of Educational and
    Behavioral Statistics 37:479-488, for two more pairs.

    Examples
    --------
    >>> a = [[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0]]
    >>> b = [[1, 1, 1], [0, 1, 1], [1, 1, 1], [0, 1, 0], [1, 1, 1], [1, 1, 0]]
    >>> result = compare_runs(a, b)
    >>> print(result)
    mean difference of runs = 0.2778 (0.5 -> 0.7778), 95 % CI [-0.2612, 0.6779], 6 tasks, 18 and 18 trials [warnings:
    few_differences]
    >>> print(result.attempts)
    pass@3 0.8333 -> 1, pass^3 0.1667 -> 0.5
    """
    confidence = check.probability(confidence_level, "confidence_level")
    adjust = check.choice(adjust, "adjust", ("holm", "bh"))
    for word, number in (("null", null), ("pass_mark", pass_mark)):
        if number is not None and not math.isfinite(number):
            raise ArgumentError(word, "must be a number", f"got {number!r}")
    runs, names, unit = _common_tasks(a, b, tasks, groups)
    shared = None if groups is None else unit
    low, high, passes = _scale_of(runs, bounds, pass_mark)
    trials = [_trials(x) for x in runs]
    means = [trial_means(x) for x in runs]
    means[1] = np.where(np.abs(means[1] - means[0]) <= _ROUNDING * (high - low), *means)
    change = means[1] - means[0]
    sample = _sampled(change, unit, high - low)
    laws, has_scale = sample.laws(), bounds is not None or passes is not None
    estimate, reach = _settled(change, high - low), high - low if has_scale else math.inf
    changes = task_changes_of(names, trials, means, passes, adjust, confidence)
    return RunComparison(
        estimate=estimate,
        interval=_ends(laws, confidence, reach),
        confidence_level=confidence,
        warnings=sample.warnings(known_scale=has_scale),
        std_error=sample.law.error,
        df=sample.law.df,
        null=float(null),
        p_value=max((p_value_of(law, null, "two-sided") for law in laws), default=math.nan),
        exact_p_value=_mcnemar(*passes) if passes and max(t.shape[1] for t in trials) == 1 and null == 0 else math.nan,
        these_interval=_these(trials, estimate, high - low, confidence, reach),
        mean_a=float(means[0].mean()),
        mean_b=float(means[1].mean()),
        **_flips(passes),
        n=len(change),
        n_groups=sample.n_units,
        n_trials_a=int(np.isfinite(trials[0]).sum()),
        n_trials_b=int(np.isfinite(trials[1]).sum()),
        n_better=int((change > 0).sum()),
        n_worse=int((change < 0).sum()),
        components_a=nested_components(runs[0], groups=shared, confidence_level=confidence),
        components_b=nested_components(runs[1], groups=shared, confidence_level=confidence),
        attempts=_attempts(passes, unit, confidence) if passes else None,
        changes=changes,
        n_real=int(changes.is_real.sum()),
    )


# --- what is compared -------------------------------------------------------------------------------------------------


def _common_tasks(
    a: ArrayLike, b: ArrayLike, tasks: Labels | None, groups: Labels | None
) -> tuple[list[Floats], Any, Codes]:
    """Scores of both runs, names and groups of the tasks that have a score in both."""
    runs = [scores_by_trial(x, name) for name, x in (("a", a), ("b", b))]
    n = len(runs[0])
    if len(runs[1]) != n:
        raise ArgumentError("b", "must have the tasks of {0}", f"got {len(runs[1])} and {n}", mentions=("a",))
    names = np.arange(n) if tasks is None else np.asarray(tasks, dtype=object)
    owners = np.arange(n) if groups is None else check.codes(groups, "groups")
    for name, values in (("tasks", names), ("groups", owners)):
        if len(values) != n:
            raise ArgumentError(name, f"must have one entry for each of {n} tasks", f"got {len(values)}")
    both = np.isfinite(runs[0]).any(axis=(1, 2)) & np.isfinite(runs[1]).any(axis=(1, 2))
    if both.sum() < 2:
        rule = "must have scores of two tasks of {0} at least"
        raise ArgumentError("b", rule, f"got {int(both.sum())}", mentions=("a",))
    unit = recoded(owners[both])
    if unit.max() == 0:
        raise ArgumentError("groups", "must hold tasks of two groups at least", "all are of one")
    return [x[both] for x in runs], names[both], unit


def _trials(x: Floats) -> Floats:
    """Mean of each trial over its draws."""
    return ratio(np.nansum(x, axis=2), np.isfinite(x).sum(axis=2)) if x.shape[2] > 1 else x[:, :, 0]


def _scale_of(
    runs: list[Floats], bounds: tuple[float, float] | None, pass_mark: float | None
) -> tuple[float, float, list[Passes] | None]:
    """The ends of the scale, and successes of each task where scores are pass or fail."""
    ends = [float(edge([edge(x[np.isfinite(x)]) for x in runs])) for edge in (np.min, np.max)]
    if bounds is not None:
        low, high = (float(end) for end in bounds)
        if not low < high or ends[0] < low or ends[1] > high:
            raise ArgumentError(
                "bounds", "must hold all scores", f"got {bounds!r}, scores go from {ends[0]:g} to {ends[1]:g}"
            )
    binary = all((np.isnan(x) | (x == 0) | (x == 1)).all() for x in runs)
    low, high = bounds or ((0.0, 1.0) if binary else tuple(ends))
    if pass_mark is None and not binary:
        return low, high, None
    mark = 0.5 if pass_mark is None else float(pass_mark)
    trials = [_trials(x) for x in runs]
    passes = [Passes((t >= mark).sum(axis=1).astype(float), np.isfinite(t).sum(axis=1).astype(float)) for t in trials]
    return low, high, passes


def _settled(change: Floats, span: float) -> float:
    """The mean, without what rounding leaves of 0."""
    mean = float(change.mean())
    return mean if abs(mean) > _ROUNDING * span else 0.0


# --- the difference ---------------------------------------------------------------------------------------------------


class _Sample(NamedTuple):
    """Differences of tasks in groups, and the law of their mean."""

    law: Student
    n: int
    n_units: int
    usual: float  # the most frequent difference
    n_apart: int  # groups that hold a task with another one
    sums: Floats  # of each group
    sizes: Floats
    reach: float  # the largest difference that the scale allows

    def laws(self) -> list[Student]:
        """Student's t; where few groups differ also that of two groups more, at both ends of the scale."""
        if self.n_units < 2:
            return []
        if self.n_apart >= _FEW:
            return [self.law]
        if not self.reach > 0:
            return []
        size = self.n / self.n_units
        sums, sizes = np.append(self.sums, [-size * self.reach, size * self.reach]), np.append(self.sizes, [size, size])
        return [self.law, _of_groups(sums, sizes)]

    def warnings(self, *, known_scale: bool) -> tuple[str, ...]:
        what = "tasks" if self.n_units == self.n else "groups of tasks"
        texts = []
        if self.n_apart < _FEW:
            how = f"have another difference than {short(self.usual)}" if self.usual else "differ between the runs"
            text = f"few_differences: only {self.n_apart} of {self.n_units} {what} {how}; the interval"
            if self.reach > 0:
                why = "" if known_scale else ", which no scale names: the range of the scores is taken for it"
                texts.append(f"{text} allows for two more that differ by the whole scale ({self.reach:g}){why}")
            else:
                texts.append(f"{text} is missing, as all scores are the same: give the ends of the scale")
        if self.n_units < min(self.n, _FEW_GROUPS):
            texts.append(f"few_groups: {self.n_units} groups of tasks; intervals from fewer than 10 are a little short")
        return tuple(texts)


def _of_groups(sums: Floats, sizes: Floats) -> Student:
    """The mean, its standard error by sums over groups, and the degrees of freedom of groups of uneven sizes."""
    share = sizes / sizes.sum()
    mean = float(sums.sum() / sizes.sum())
    off = (sums - sizes * mean) / sizes.sum()
    error = math.sqrt(float((off**2 / (1 - share)).sum())) if len(sums) > 1 else math.nan
    return Student(mean, error, max(1 / float((share**2).sum()) - 1, 1.0))


def _sampled(change: Floats, unit: Codes, reach: float) -> _Sample:
    values, counts = np.unique(change.round(12), return_counts=True)
    usual = float(values[counts.argmax()])
    apart = np.bincount(unit, np.abs(change - usual) > 1e-9)
    sums, sizes = np.bincount(unit, change).astype(float), np.bincount(unit).astype(float)
    return _Sample(_of_groups(sums, sizes), len(change), len(sums), usual, int((apart > 0).sum()), sums, sizes, reach)


def _ends(laws: list[Student], confidence: float, reach: float) -> Interval:
    """What holds the intervals of all laws, within the differences that the scale allows."""
    if not laws:
        return NO_INTERVAL
    tail = (1 - confidence) / 2
    low, high = min(float(law.low(tail)) for law in laws), max(float(law.high(tail)) for law in laws)
    return Interval(max(low, -reach), min(high, reach))


def _these(trials: list[Floats], estimate: float, span: float, confidence: float, reach: float) -> Interval:
    """Of exactly these tasks, tried again: a task with one trial varies as the others of its run."""
    total, freedom, varied, least = 0.0, 0.0, 0, math.inf
    for each in trials:
        n = np.isfinite(each).sum(axis=1)
        if not (n > 1).any():
            return NO_INTERVAL
        mean = np.nansum(each, axis=1) / n
        squares = np.nansum((each - mean[:, None]) ** 2, axis=1)
        usual = squares.sum() / (n - 1).sum()
        variance = np.where(n > 1, squares / np.maximum(n - 1, 1), usual)
        total += float((variance / n).sum())
        freedom += float((n - 1).sum())
        varied += int(((n > 1) & (squares > 1e-12)).sum())
        least = min(least, float(np.median(n)))
    if varied < _FEW:
        total += 2 * (span / least) ** 2
    law = Student(estimate, math.sqrt(total) / len(trials[0]), freedom)
    return _ends([law] if total else [], confidence, reach)


def _mcnemar(a: Passes, b: Passes) -> float:
    """Exact: of the tasks that changed, as many the one way as the other (McNemar 1947)."""
    better, worse = int((b.c > a.c).sum()), int((b.c < a.c).sum())
    return float(stats.binomtest(better, better + worse).pvalue) if better + worse else 1.0


# --- trials of a task -------------------------------------------------------------------------------------------------


def _flips(passes: list[Passes] | None) -> dict[str, Any]:
    rates = [flip_rate(*each) for each in passes or ()]
    means = [float(rate[np.isfinite(rate)].mean()) if np.isfinite(rate).any() else math.nan for rate in rates]
    return dict(zip(("flip_a", "flip_b"), means or (math.nan, math.nan), strict=True))


def _attempts(passes: list[Passes], unit: Codes, confidence: float) -> PassAtK:
    """pass@k and pass^k for k that two tasks at least reach in both runs: each to 16, then doubled, and the last."""
    a, b = passes
    fewest = np.minimum(a.n, b.n)
    most = int(np.sort(fewest)[-2])
    doubled = [_EACH_K * 2**power for power in range(1, max(most // _EACH_K, 1).bit_length())]
    sizes = sorted({*range(1, min(most, _EACH_K) + 1), *(k for k in doubled if k < most), most})
    rows: list[dict[str, Any]] = []
    for measure, of in (("pass@k", pass_at_k), ("pass^k", pass_hat_k)):
        for k in sizes:
            kept = fewest >= k
            codes = recoded(unit[kept])
            if codes.max() == 0:  # one group alone has so many trials
                continue
            one, two = (of(run.c[kept], run.n[kept], k) for run in passes)
            ends = _ends(_sampled(two - one, codes, 1.0).laws(), confidence, 1.0)
            row: dict[str, Any] = {"measure": measure, "k": k, "difference": _settled(two - one, 1.0)}
            for name, values in (("a", one), ("b", two)):
                groups = codes if codes.max() + 1 < len(codes) else None
                alone = mean_interval(values, bounds=(0, 1), groups=groups, confidence_level=confidence)
                row |= {name: alone.estimate, f"{name}_low": alone.conf_low, f"{name}_high": alone.conf_high}
            rows.append(row | {"low": ends.low, "high": ends.high, "n_tasks": int(kept.sum())})
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return PassAtK(**columns, confidence_level=confidence)
