"""Public sets of texts, human scores and judge scores, each as two tables: items and ratings.

The names stand in `__init__.pyi`; `registry.json` says where the files come from, and the cards
in the project's folder `datasets` what each set holds, under which licence, and how to cite it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
