"""The three tables: items, ratings, scores. What their columns are, checks, and files.

`items` are texts, `ratings` one row per score that a rater (a person or a judge) gave,
`scores` one row per item, criterion and rater, derived from ratings alone. Each check
returns a checked copy with the standard types and defaults; other columns ride along, and
`TableError` names the table, the column, the row and the rule that is broken. The names
stand in `__init__.pyi`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
