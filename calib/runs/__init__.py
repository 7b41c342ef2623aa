"""Whether one run is better than another: on the same tasks, with trials, judge draws and labels apart."""

from calib.core.topic import ResultDisplay, Topic

TOPIC = Topic(
    home=__name__,
    results={
        "RunComparison": ResultDisplay(
            heading="runs compared", plots=("task_changes",), pictures="run_pictures", headline="runs_fact",
            conclusions="runs_sentences", notes="runs_notes", blocks="runs_blocks",
        ),
        "RunRanks": ResultDisplay(heading="runs ranked", conclusions="ranks_sentences"),
    },
    heads={
        "mean_a": "mean of the first", "mean_b": "mean of the second", "n_better": "tasks higher",
        "n_worse": "tasks lower", "n_real": "tasks changed beyond chance", "these_low": "these tasks, low",
        "these_high": "these tasks, high", "exact_p_value": "p, McNemar", "flip_a": "trials that disagree, first",
        "flip_b": "trials that disagree, second", "n_trials_a": "trials, first", "n_trials_b": "trials, second",
        "n_only_a": "tasks of the first alone", "n_only_b": "tasks of the second alone",
        "n_unread_a": "unread, first", "n_unread_b": "unread, second",
    },
)  # fmt: skip
