"""Public sets of texts, human scores and judge scores, each as two tables: items and ratings.

Each loader returns two frames, checked as `calib.table` says: `items`, one row per text, and
`ratings`, one row per score that a person or a judge gave. Its docstring says how many rows they
have and what stands in them. It raises `ValueError` for an argument that is not one of those
named, and `DatasetError` if a file cannot be found or downloaded, or has other counts.

The names stand in `__init__.pyi`; `registry.json` says where the files come from, and the cards
in the project's folder `datasets` what each set holds, under which licence, and how to cite it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
