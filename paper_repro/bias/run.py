"""Is the judge fair, is it right, has it changed: golden numbers on SummEval, TriviaQA, LLMBar, AlpacaEval, composo."""

import sys
import warnings
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import check
import pandas as pd

from calib.stats import CalibWarning

PARTS = [import_module(name) for name in ("effects", "raters", "pairs", "board", "drift")]


def values() -> pd.DataFrame:
    """All values of all tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)  # of few pairs near equal length, of weak instruments
        return pd.concat([part.values() for part in PARTS], ignore_index=True)


if __name__ == "__main__":
    arguments = check.parser(__doc__).parse_args()
    sys.exit(check.report(Path(__file__).parent, values, strict=arguments.check))
