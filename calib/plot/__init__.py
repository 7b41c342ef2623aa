"""Result -> matplotlib Axes. One function per kind of result; they draw and compute nothing.

Each takes the `Results` of the verb of the same name (or a single result) and `ax=None`, and returns
the Axes, of a new figure where none were given. It raises ValueError where there is no result (or
several, where it draws one), TypeError where a result is of another kind. What an axis shows is read
from the results: level, coefficient, confidence level, n. Colours are those of Okabe and Ito, which
colour-blind readers can tell apart; markers and line styles say the same once more. The names stand
in `__init__.pyi`.
"""

from calib.core.topic import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
