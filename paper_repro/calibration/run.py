"""Calibration of a judge's scores: golden numbers, skill at few labels, sets, annotators."""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import check
import golden
import pandas as pd
import sets
import skills
import who_rated

from calib.stats import CalibWarning


def rows() -> pd.DataFrame:
    """All values; where a package is not installed the value is absent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibWarning)  # of levels never seen, of forecasts without skill
        found = pd.DataFrame([*golden.rows(), *skills.rows(), *sets.rows(), *who_rated.rows()])
    absent = found["value"].isna() & (found["table"] == "G5")
    return found.assign(note=absent.map({True: check.ABSENT, False: ""}))


if __name__ == "__main__":
    arguments = check.parser(__doc__).parse_args()
    sys.exit(check.report(Path(__file__).parent, rows, strict=arguments.check))
