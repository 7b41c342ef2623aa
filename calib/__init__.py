"""How far can we trust an LLM judge's number.

From a file with one row per output, a column of the judge's scores and a column of human
labels (blank where there is none)::

    calib.look("results.csv")                            # what the columns are, and what can be computed
    calib.report("results.csv", "page.html")             # all of that, on one page
    calib.interval("results.csv", judge="gpt4", label="expert", by="system")     # one number at a time

From texts, which a model rates for you (it costs money; every reply is kept)::

    items, people = calib.datasets.load_planted()        # or frames of your own
    judge = calib.Judge("openai/gpt-4o-mini")            # "offline" is a toy that needs no key
    ratings = calib.rate(items, calib.geval_prompt("coherence"), judge, store="run.sqlite")
    scores = calib.summarize(ratings, items)             # a table for all that follows
    calib.agreement(scores, calib.summarize(people, items, pool="rater"))

The questions, and who answers them:

===============================================  =============================================================
what do my files hold, what can I ask            `look`
all at once, for a reader                        `report`; `conclusions` are sentences to paste
the human mean, from few labels and the judge    `interval`; one system against others: `difference`
what people would say of one item                `calibrate`; how good that is: `forecast_quality`, `score_sets`
the same for other items of that judge           `Calibration.read` of what `save` wrote, and its `apply`
which items the judge may decide alone           `escalate`
a judge that says pass or fail: is it right      `pass_fail`, with the pass rate that may be reported
what moves the judge beyond quality              `bias`; its habits beside people's: `rater_effects`
which of two is better, and which system         `leaderboard` (`pair_items`, `pairwise_agreement`,
                                                 `position_bias`, `length_controlled`)
is one run better than another, without labels   `compare_runs`: tasks, trials and judge draws apart, pass^k
may this build go out: a verdict for CI           `gate`; what it can tell: `gate_plan`
may this judge be trusted: a verdict for CI       `gate_judge`
of conversations: turns as sessions, shorter     `to_sessions`, `shorten_messages`; `level="session"` of the means
has the judge changed                            `drift`, from repeated readings of the same items
does the judge agree with people                 `agreement`; one judge against another: `compare`, `rank_judges`
do people agree with each other                  `reliability`
how the judge uses its scale, where it fails     `profile`
how many draws it needs                          `convergence`
how far the wording of the prompt moves it       `sensitivity`, `prompt_mean`
which items to label, how many, is it worth it   `choose`, `labels_needed`, `will_it_help`, `plan`
what do people say of them                       `label`, then `read_labels`
where does the judge fail: the items themselves  `view`, one page in the browser
===============================================  =============================================================

Each returns `Results`, which print, tabulate (`to_frame`), plot and report themselves. Files of
your own become tables by `scores_from`, other tools' logs by `read_log`, replies recorded elsewhere by
`from_jsonl` (`to_batch` writes the requests); a prompt of your own is a `Prompt`. `calib.datasets` has public
sets and their `load_...`, `calib.plot` the pictures, `calib.table` the columns of the tables and their files,
`calib.stats` the same statistics on arrays. A wrong argument is an `ArgumentError`, a failed call a
`JudgeError`. On the command line: ``calib look results.csv``, ``calib --help``.
"""

import copyreg
import sys
from importlib import import_module
from types import ModuleType

import lazy_loader

from calib._version import __version__ as __version__

# a public name stands in `__init__.pyi`, where editors and type checkers see it
__getattr__, _all_names, _names = lazy_loader.attach_stub(__name__, __file__)

# sets that are downloaded stand in `calib.datasets`; here they resolve, too
_elsewhere = {name for name in _names if name.startswith("load_")} - {"load_planted"}
__all__ = [name for name in _names if name not in _elsewhere]

# a function that is sent to another process may name `calib`, whose class knows no way of its own
if type(sys.modules[__name__]) is not ModuleType:
    copyreg.pickle(type(sys.modules[__name__]), lambda module: (import_module, (module.__name__,)))


def __dir__() -> list[str]:
    return __all__
