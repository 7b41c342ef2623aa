"""What calib answers, as plain values that a JSON file can hold; `python tests/golden/outputs.py` records them anew.

Unlike the other files of this folder these numbers come from calib itself: they show what a change changes.
Record them only when an answer is meant to change, and say in the changelog what did.
"""

import contextlib
import io
import json
import os
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from specimens import MADE

import calib
from calib import cli, table

HERE = Path(__file__).parent
FILES = sorted((HERE / "files").iterdir())
JUDGES = {"judges.csv": "judge_large"}
LABELS = {"annotators.csv": ["annotator_1", "annotator_2"]}
THRESHOLDS = {"pass_fail.csv": 0.5, "probability.csv": 0.5, "percent.csv": 50.0, "unread.tsv": 5.0}
VERBS = ("interval", "agreement", "difference", "calibrate", "gate")


def plain(frame):
    """Columns of a frame as lists of numbers, texts and None."""
    return {
        str(name): [None if np.ndim(v) == 0 and pd.isna(v) else v if isinstance(v, str) else _number(v) for v in column]
        for name, column in frame.items()
    }


def _number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)


def shown(result):
    """Frame, signature and line of text of a result; the version is none of its numbers."""
    signature = re.sub(r"\|v:[^|]+$", "", result.signature)
    return {"signature": signature, "text": str(result), "frame": plain(result.to_frame())}


def specimen(name):
    return shown(MADE[name]())


def answer(verb, file):
    """What a verb says of one of the small files; of a refusal only that it is one."""
    path, (a, b) = HERE / "files" / file, "ab"
    columns = {"judge": JUDGES.get(file, "judge"), "label": LABELS.get(file, "human")}
    line = THRESHOLDS.get(file, 2.5)
    calls = {
        "interval": lambda: calib.interval(path, **columns),
        "agreement": lambda: calib.agreement(path, **columns),
        "difference": lambda: calib.difference(path, None, a, b, **columns),
        "calibrate": lambda: calib.calibrate(path, **columns),
        "gate": lambda: calib.gate(path, system="b", threshold=line, **columns),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = calls[verb]()
        except (calib.ArgumentError, ValueError) as error:
            return {"refused": type(error).__name__}
    return plain(results.to_frame())


# --- the command line on the planted set --------------------------------------------------------------------------


def planted(folder):
    """Tables of six source texts of the planted set, in files."""
    items, people = calib.load_planted()
    items = items[items["group"].isin(sorted(set(items["group"]))[:6])]
    people = people[people["item"].isin(items["item"]) & (people["criterion"] == "coherence")]
    prompts = calib.geval_prompt("coherence"), calib.geval_prompt("coherence", reasoning="think")
    judges = calib.Judge("offline", method="logprob"), calib.Judge("offline", method="sample", draws=3)
    made = {"items": items, "people": people, "human": calib.summarize(people, items, pool="rater")}
    made["ratings"] = calib.rate(items, prompts[0], judges[0], progress=False)
    made["sampled"] = calib.rate(items, prompts, judges[1], progress=False)
    made["scores"] = calib.summarize(made["ratings"], items)
    noise = np.random.default_rng(0).integers(-2, 3, len(made["scores"]))
    second = made["scores"].assign(rater="noisy", score=(made["scores"]["score"] + noise).clip(1, 5))
    made["two"] = pd.concat([made["scores"], second], ignore_index=True)
    made["gold"] = made["human"][made["human"]["group"].isin(sorted(set(items["group"]))[:4])]
    again = calib.Judge("offline", method="sample", draws=3, temperature=1.0, seed=9)
    made["now"] = calib.rate(items, prompts[0], again, progress=False)
    made["one"] = made["sampled"][made["sampled"]["prompt"] == prompts[0].id]
    for name, frame in made.items():
        table.write(frame, folder / f"{name}.csv")
    results = made["scores"][["item", "group", "system", "score"]].round(2)
    labels = made["gold"].set_index("item")["score"].round().reindex(results["item"]).to_numpy()
    results.assign(human=labels).to_csv(folder / "results.csv", index=False)
    passes = results.assign(score=(results["score"] >= 4).astype(int), human=np.where(labels >= 4, 1.0, 0.0))
    passes.assign(human=passes["human"].where(~np.isnan(labels))).to_csv(folder / "passes.csv", index=False)
    alike = passes.assign(human=np.where(labels >= 4, 1.0, np.nan))
    alike.to_csv(folder / "alike.csv", index=False)
    runs = results[results["system"].isin(["clean", "coherence-1"])].drop(columns="item")
    runs = runs.rename(columns={"system": "model", "group": "document"}).assign(task=runs["group"])
    runs.to_csv(folder / "runs.csv", index=False)
    battles = {"a": list("xxyyzz") * 8, "b": list("yzxzxy") * 8, "judge": [1, 1, 0.5, 1, 0, 0.5, 0, 0] * 6}
    label = [1, 1, 0, 0.5, 0, 0.5, 1, 0] * 4 + [None] * 16
    pairs = pd.DataFrame({"item": range(48), "system_a": battles["a"], "system_b": battles["b"]})
    pairs.assign(judge=battles["judge"], human=label).to_csv(folder / "battles.csv", index=False)
    texts = {f"output_{name}": ["word " * (3 + (5 * i + j) % 7) for i in range(48)] for j, name in enumerate("ab")}
    pairs.assign(judge=battles["judge"], **texts).to_csv(folder / "texts.csv", index=False)
    orders = {"item": range(48), "first": [1, 0, 1, 1] * 12, "second": [1, 0, 0, 1] * 12}
    pd.DataFrame(orders)[["item", "first"]].rename(columns={"first": "judge"}).to_csv(folder / "ab.csv", index=False)
    (folder / "made").mkdir()
    pd.DataFrame(orders)[["item", "second"]].rename(columns={"second": "judge"}).to_csv(folder / "ba.csv", index=False)


ROLES = "--judge score --label human"
COMMANDS = {
    "look": f"look results.csv {ROLES}",
    "pair-items": "pair-items items.csv --out made/pairs.csv",
    "rate": "rate items.csv --model offline --criterion fluency --out made/rated.csv",
    "summarize": "summarize ratings.csv --items items.csv --out made/scores.csv",
    "agreement": "agreement scores.csv human.csv --level group --method kendall",
    "agreement, parts": "agreement scores.csv human.csv --items items.csv --by register",
    "rank-judges": "rank-judges two.csv human.csv --n-resamples 99",
    "reliability": "reliability people.csv",
    "profile": "profile ratings.csv human.csv --items items.csv",
    "convergence": "convergence one.csv scores.csv --labels human.csv --rng 0",
    "sensitivity": "sensitivity sampled.csv --items items.csv",
    "interval": "interval scores.csv gold.csv",
    "interval, own file": f"interval results.csv {ROLES} --by system --min-labels 4",
    "difference": "difference scores.csv gold.csv clean coherence-2 --min-labels 4",
    "calibrate": f"calibrate results.csv {ROLES}",
    "forecast-quality": f"forecast-quality results.csv {ROLES}",
    "score-sets": f"score-sets results.csv {ROLES}",
    "escalate": f"escalate results.csv {ROLES} --label-threshold 4 --risk 0.3",
    "pass-fail": f"pass-fail passes.csv {ROLES}",
    "pass-fail, one outcome": f"pass-fail alike.csv {ROLES}",
    "position-bias": "position-bias ab.csv ba.csv",
    "pairwise-agreement": "pairwise-agreement battles.csv",
    "length-controlled": "length-controlled texts.csv",
    "leaderboard": "leaderboard battles.csv",
    "bias": "bias scores.csv people.csv --items items.csv --features length",
    "rater-effects": "rater-effects scores.csv people.csv",
    "drift": "drift one.csv now.csv --n-permutations 99",
    "drift, sessions": "drift one.csv now.csv --n-permutations 99 --session draw",
    "choose": "choose scores.csv 10 --rng 0 --out made/chosen.csv",
    "labels-needed": "labels-needed scores.csv gold.csv --half-width 0.5",
    "plan": "plan sampled.csv gold.csv --price-label 1 --price-judge 0.01 --half-width 0.3",
    "gate": "gate scores.csv gold.csv --system clean --threshold 3 --min-labels 4",
    "compare-runs": "compare-runs one.csv now.csv --at-least -3 --out made/runs.html",
    "compare-runs, own file": "compare-runs runs.csv --run model --judge score --group document --tasks made/tasks.csv",
    "gate-judge": f"gate-judge passes.csv {ROLES} --kappa 0.4 --tpr 0.5",
    "label": "label items.csv --criterion coherence --scale 1|2|3|4|5 --out made/page.html",
    "report": f"report results.csv {ROLES} --out made/report.html",
    "view": f"view results.csv {ROLES} --out made/view.html",
    "data": "data",
}


def printed(line):
    """Exit code and what a command prints, in the folder of `planted`."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("always")
        # an old one beside a new pyparsing, which no user sees
        warnings.filterwarnings("ignore", category=DeprecationWarning, module="matplotlib")
        try:
            cli.main(line.split())
        except SystemExit as ended:
            code = ended.code
    text = re.sub(r"\|v:[\w.]+", "", out.getvalue() + err.getvalue())
    return {"code": code, "lines": [re.sub(r" {2,}", "  ", one.rstrip()) for one in text.splitlines()]}


def numbers(text):
    """A text as its words, and its numbers as numbers."""
    parts = re.split(r"(-?\d+\.\d+(?:e-?\d+)?)", text)
    return parts[::2], [float(part) for part in parts[1::2]]


def record():
    os.environ["COLUMNS"] = "250"
    os.environ.pop("CALIB_DATA", None)
    with tempfile.TemporaryDirectory() as folder:
        planted(Path(folder))
        os.chdir(folder)
        commands = {name: printed(line) for name, line in COMMANDS.items()}
        os.chdir(HERE)
    small = {f"{verb}: {path.name}": answer(verb, path.name) for verb in VERBS for path in FILES}
    written = {"specimens": {name: specimen(name) for name in MADE}, "answers": small, "commands": commands}
    for name, values in written.items():
        lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
        (HERE / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    record()
