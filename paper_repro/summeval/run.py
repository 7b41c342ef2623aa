"""SummEval: ROUGE rows of the published table, six LLM judges, and G-Eval from its replies where they are."""

import json
import re
import sys
from contextlib import suppress
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import check
import pandas as pd
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

import calib
from calib.datasets import DatasetError
from calib.judge.replies.extract import read_label

CRITERIA = ("coherence", "consistency", "fluency", "relevance")
COEFFICIENTS = ("spearman", "kendall")
ROUGE = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeLsum": "ROUGE-L"}


def rows(replies: Path | None) -> pd.DataFrame:
    """All values: ROUGE and G-Eval within documents, the judges at three levels."""
    items, human, rouge = summaries()
    geval = None if replies is None else load_geval_replies(replies)
    found = [
        within_documents(rouge, items, human, tuple(ROUGE.values()), "bartscore"),
        judges(),
        within_documents(geval, items, human, ("G-Eval-4",), "geval"),
    ]
    return pd.concat(found, ignore_index=True)


@cache
def summaries() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame | None]:
    """The summaries, the experts' mean scores, and ROUGE where all references are there."""
    items, people = calib.load_summeval()
    return items, calib.summarize(people, items), rouge_ratings(items) if "references" in items else None


def table1(replies: Path | None) -> Any:
    """Table 1 of G-Eval, with six more judges: four dimensions x rho and tau within documents, and the average."""
    items, human, rouge = summaries()
    asked, ratings = calib.load_summeval_judges()
    judges = calib.summarize(ratings[ratings["method"] != "human"], asked)
    results = calib.agreement(judges, human, level="group", coefficient=COEFFICIENTS)
    if rouge is not None:
        results = (
            calib.agreement(calib.summarize(rouge, items), human, level="group", coefficient=COEFFICIENTS) + results
        )
    if replies is not None:
        geval = calib.agreement(calib.summarize(load_geval_replies(replies), items), human, convention="geval")
        results = sum((geval[name] for name in COEFFICIENTS), results)
    return results.table(rows="rater", columns=("criterion", "coefficient"))


def within_documents(
    ratings: pd.DataFrame | None, items: pd.DataFrame, human: pd.DataFrame, raters: tuple[str, ...], convention: str
) -> pd.DataFrame:
    """The published convention of some raters, or notes that their ratings are not here."""
    if ratings is None:
        gaps = product(raters, CRITERIA, ("group",), COEFFICIENTS)
        return pd.DataFrame(gaps, columns=["rater", "criterion", "level", "coefficient"]).assign(note=check.ABSENT)
    scores = calib.summarize(ratings, items)
    found = table(calib.agreement(scores, human, convention=convention))
    return found[found["coefficient"].isin(COEFFICIENTS)]


def table(results: calib.Results) -> pd.DataFrame:
    """The columns that are compared and kept."""
    names = ["rater", "criterion", "level", "coefficient", "estimate", "conf_low", "conf_high"]
    return results.to_frame()[names].rename(columns={"estimate": "value"})


# --- (a) ROUGE --------------------------------------------------------------------------------------------------


class StemOnce:
    """A tokenizer that stems each text once; every summary is compared with eleven references."""

    def __init__(self) -> None:
        self.stem = DefaultTokenizer(use_stemmer=True)
        self.seen: dict[str, list[str]] = {}

    def tokenize(self, text: str) -> list[str]:
        """Return the stems of a text."""
        if text not in self.seen:
            self.seen[text] = self.stem.tokenize(text)
        return self.seen[text]


def rouge_ratings(items: pd.DataFrame) -> pd.DataFrame:
    """F1 of each summary, mean over its references; the same rating counts for every criterion."""
    scorer = RougeScorer(list(ROUGE), tokenizer=StemOnce())
    found = []
    for item, output, references in zip(items["item"], items["output"], items["references"], strict=True):
        scores = [scorer.score(sentences(reference), sentences(output)) for reference in references]
        for kind, rater in ROUGE.items():
            mean = sum(score[kind].fmeasure for score in scores) / len(scores)
            found += [{"item": item, "criterion": c, "rater": rater, "score": mean} for c in CRITERIA]
    return pd.DataFrame(found).assign(method="sample")


def sentences(text: str) -> str:
    """One sentence per line, which is how rougeLsum wants them."""
    return re.sub(r"(?<=[.!?])\s+", "\n", text)


# --- (b) LLM judges ---------------------------------------------------------------------------------------------


def judges() -> pd.DataFrame:
    """Six judges against the mean of three experts, at three levels, and the documents that count."""
    items, ratings = calib.load_summeval_judges()
    people = ratings["method"] == "human"
    human = calib.summarize(ratings[people], items, pool="rater")
    scores = calib.summarize(ratings[~people], items)
    results = [calib.agreement(scores, human, method=method) for method in COEFFICIENTS]
    results += [calib.agreement(scores, human, convention="bartscore")]
    results += [calib.agreement(scores, human, level="system"), calib.agreement(scores, human, convention="summeval")]
    documents = results[2].to_frame()[lambda rows: rows["coefficient"] == "spearman"].assign(coefficient="n_groups")
    counts = documents[["rater", "criterion", "level", "coefficient", "n_groups"]].rename(columns={"n_groups": "value"})
    return pd.concat([*map(table, results), counts])


# --- (c) G-Eval from its replies --------------------------------------------------------------------------------


def load_geval_replies(folder: Path) -> pd.DataFrame:
    """Ratings from the reply files of G-Eval, one JSON per criterion, such as gpt4_coh_detailed.json.

    A file is a list of records with `doc_id`, `system_id` and `all_responses` (texts).
    Each reply is a draw; one that does not start with a label of the scale has no score.

    Raises
    ------
    FileNotFoundError
        If there is not exactly one file for a criterion.
    """
    return pd.DataFrame([row for criterion in CRITERIA for row in replies_on(criterion, folder)])


def replies_on(criterion: str, folder: Path) -> list[dict[str, object]]:
    """The rating rows of one criterion."""
    files = sorted(folder.glob(f"*{criterion[:3]}*.json"))
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise FileNotFoundError(f"{folder} must hold one file *{criterion[:3]}*.json for {criterion}, but has {names}.")
    # G-Eval asks for fluency from 1 to 3, for the rest from 1 to 5
    scale = calib.Scale.of(1, 2, 3) if criterion == "fluency" else calib.Scale()
    shared = {"criterion": criterion, "rater": "G-Eval-4", "method": "sample", "scale": str(scale)}
    found = []
    for record in json.loads(files[0].read_text(encoding="utf-8")):
        for draw, reply in enumerate(record["all_responses"]):
            score, status = read_label(reply, scale, "label", criterion)
            row = {"item": f"{record['doc_id']}__{record['system_id']}", "draw": draw, "reply": reply}
            found.append({**shared, **row, "score": score, "status": status})
    return found


if __name__ == "__main__":
    parser = check.parser(__doc__)
    parser.add_argument("--geval-replies", type=Path, metavar="FOLDER", help="folder with G-Eval's reply files")
    parser.add_argument("--latex", action="store_true", help="print Table 1 as LaTeX")
    parser.add_argument("--markdown", action="store_true", help="print Table 1 as Markdown")
    arguments = parser.parse_args()
    code = check.report(Path(__file__).parent, lambda: rows(arguments.geval_replies), strict=arguments.check)
    with suppress(DatasetError):  # which was said above
        table = table1(arguments.geval_replies)
        asked = {"to_latex": arguments.latex, "to_markdown": arguments.markdown}
        forms = [getattr(table, name)() for name, wanted in asked.items() if wanted]
        print("\nTable 1, within documents:\n", *(forms or [table]), sep="\n")
    sys.exit(code)
