"""The least or greatest value of a window, as Python's `min` and `max` find it, from parts in order of arrival.

Python compares from the oldest value on, so a NaN is the result if it is the oldest value, and never otherwise. The
element of a part that a NaN begins is a list of this NaN and the best value of the part: the NaN counts only if no
older part precedes it. All other elements are values. A value that cannot be compared with itself, a NaN of Decimal,
fails its own tuple instead of all that follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg.library.fold_spec import Element, Monoid, same_value


def is_nan(value: Any) -> bool:
    return type(value) is float and value != value


def best_value(
    better: Callable[[Any, Any], bool],
    compared: Callable[[Any], Any] = same_value,
    finish: Callable[[Any], Any] = same_value,
) -> Monoid:
    """The value that no other is `better` than; of several, the oldest."""

    def start(value: Any) -> Element:
        better(compared(value), compared(value))
        return value

    def combine(older: Element, newer: Element) -> Element:
        if type(older) is list or is_nan(compared(older)):
            oldest, best = older if type(older) is list else (older, older)
            return [oldest, combine(best, newer) if not is_nan(compared(best)) else _best(newer)]
        newest = _best(newer)
        return newest if better(compared(newest), compared(older)) else older

    return Monoid(start, combine, lambda element: finish(element[0] if type(element) is list else element))


def _best(element: Element) -> Any:
    return element[1] if type(element) is list else element
