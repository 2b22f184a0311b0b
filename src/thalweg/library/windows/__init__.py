"""The kinds of windows: a module for each, or for a small family. A module lists them under `WINDOWS`.

`WINDOWS` are for aggregates and functions of a window's tuples; `JOIN_WINDOWS` are for the sides of joins.
"""

from __future__ import annotations

from thalweg.errors import InternalError
from thalweg.ir.windows import REQUIRED, Window
from thalweg.library.package_modules import members
from thalweg.library.windows.of_joins import JoinWindow

_ALL: list[type[Window] | type[JoinWindow]] = members(__name__, __path__, "WINDOWS")


def check_kind(kind: type[Window] | type[JoinWindow]) -> None:
    """Reject a kind that does not define all required attributes of a window."""
    required = REQUIRED if issubclass(kind, Window) else ("written",)
    missing = [name for name in required if name not in vars(kind)]
    if missing:
        raise InternalError(f"the window {kind.__name__} does not define {', '.join(missing)}")


WINDOWS: tuple[type[Window], ...] = tuple(kind for kind in _ALL if issubclass(kind, Window))
JOIN_WINDOWS: tuple[type[JoinWindow], ...] = tuple(kind for kind in _ALL if issubclass(kind, JoinWindow))

for _kind in _ALL:
    check_kind(_kind)
