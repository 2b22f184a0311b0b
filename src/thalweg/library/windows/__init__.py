"""The kinds of windows: a module for each, or for a small family. All classes of windows in these modules are found.

`WINDOWS` are for aggregates and functions of a window's tuples; `JOIN_WINDOWS` are for the sides of joins.
"""

from __future__ import annotations

from thalweg.ir.windows import Window
from thalweg.library.package_modules import kinds
from thalweg.library.windows.of_joins import JoinWindow

_ALL = kinds(__name__, __path__, (Window, JoinWindow))

WINDOWS: tuple[type[Window], ...] = tuple(kind for kind in _ALL if issubclass(kind, Window))
JOIN_WINDOWS: tuple[type[JoinWindow], ...] = tuple(kind for kind in _ALL if issubclass(kind, JoinWindow))
