"""The three tables: items, ratings, scores. What their columns are, checks, and files.

`items` are texts, `ratings` one row per score that a rater (a person or a judge) gave,
`scores` one row per item, criterion and rater, derived from ratings alone. Each check
returns a checked copy with the standard types and defaults; other columns ride along.
"""

from calib.table.checks import CHECKS, check_items, check_ratings, check_scores, has_replies
from calib.table.files import read, read_frame, write
from calib.table.schema import (
    ITEMS,
    METHODS,
    RATINGS,
    SCHEMAS,
    SCORE_KEY,
    SCORES,
    STATUSES,
    Column,
    ScaleRange,
    TableArgumentError,
    TableError,
    parse_scale,
)

__all__ = [
    "CHECKS",
    "ITEMS",
    "METHODS",
    "RATINGS",
    "SCHEMAS",
    "SCORES",
    "SCORE_KEY",
    "STATUSES",
    "Column",
    "ScaleRange",
    "TableArgumentError",
    "TableError",
    "check_items",
    "check_ratings",
    "check_scores",
    "has_replies",
    "parse_scale",
    "read",
    "read_frame",
    "write",
]
