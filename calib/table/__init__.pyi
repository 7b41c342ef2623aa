# Every public name of `calib.table`, once: what is loaded on first use, and what editors and type checkers see.

from .checks import (
    CHECKS as CHECKS,
    check_items as check_items,
    check_ratings as check_ratings,
    check_scores as check_scores,
    has_replies as has_replies,
)
from .files import read as read, read_frame as read_frame, write as write
from .schema import (
    ITEMS as ITEMS,
    METHODS as METHODS,
    RATINGS as RATINGS,
    SCHEMAS as SCHEMAS,
    SCORE_KEY as SCORE_KEY,
    SCORES as SCORES,
    STATUSES as STATUSES,
    Column as Column,
    ScaleRange as ScaleRange,
    TableArgumentError as TableArgumentError,
    TableError as TableError,
    parse_scale as parse_scale,
    scale_words as scale_words,
)
