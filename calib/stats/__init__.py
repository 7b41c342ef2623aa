"""Arrays in, frozen results out: the statistics alone, with numpy and scipy.

The functions of the same names in `calib` take tables, align them by item and call these.
The names stand in `__init__.pyi`.
"""

from calib.core.topic import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
