"""How far can we trust an LLM judge's number.

Three tables and one direction: `items` are rated into `ratings` (paid, kept),
`summarize` makes `scores` of them (free), and `agreement`, `convergence`, `interval`
and `difference` make results that print, tabulate, plot and report themselves.
`calib.stats` has the same statistics on arrays. The names stand in `__init__.pyi`.
"""

import lazy_loader

from calib._version import __version__ as __version__

__getattr__, _all_names, _names = lazy_loader.attach_stub(__name__, __file__)

# sets that are downloaded stand in `calib.datasets`, and `chain_components` is a former name; here they resolve, too
_unlisted = {name for name in _names if name.startswith("load_")} - {"load_planted"} | {"chain_components"}
__all__ = [name for name in _names if name not in _unlisted]


def __dir__() -> list[str]:
    return __all__
