"""The result of a kernel for the rows of a frame that it can process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg.runtime.columns import Array, Column, concat, take
from thalweg.runtime.frame import Frame
from thalweg.runtime.kernels import Fallback

Columns = Mapping[str, Column]
VectorFunction = Callable[[Columns, int], Any]

_ATTEMPTS = 3  # of a kernel: each operation in it may fall back for other rows


@dataclass(frozen=True, slots=True)
class Vectorized:
    """The result of a kernel for some rows of a frame, and the rest, which must take the row path.

    `like`: by the index of a row in the rest, further rows on which the operator fails with the same error.
    """

    result: Any
    rows: Array
    rest: Array
    like: Mapping[int, Array] = field(default_factory=dict)

    def merged(self, columns: Columns, of_rest: Columns, kept: Array) -> tuple[dict[str, Column], Array]:
        """The kernel's columns with those of the rest, of which the rows `kept` have results, and all their rows."""
        at = np.concatenate([self.rows, self.rest[kept]])
        if not len(kept):
            return dict(columns), at
        order = np.argsort(at, kind="stable")
        return {n: take(concat([columns[n], of_rest[n]]), order) for n in columns}, at[order]


def vectorized(function: VectorFunction | None, frame: Frame, *, one_for_all: bool) -> Vectorized:
    """Call the kernel, again without the rows for which it falls back. `one_for_all`: of the rows that certainly fail
    alike, only the first takes the row path."""
    everything = np.arange(len(frame))
    at, columns, alike = everything, frame.columns, list[Array]()
    for _ in range(_ATTEMPTS if function is not None else 0):
        assert function is not None
        try:
            result = function(columns, len(at))
        except Fallback as fallback:
            if fallback.rows is None or len(at) < 2 * np.count_nonzero(fallback.rows):
                break
            if one_for_all and fallback.alike:
                alike.append(at[fallback.rows])
            at = at[~fallback.rows]
            columns = _Taken(frame.columns, at)
        else:
            return Vectorized(result, at, *_rest(len(frame), at, alike))
    return Vectorized(None, everything[:0], everything)


class _Taken(dict[str, Column]):
    """Some rows of the columns that a kernel reads."""

    def __init__(self, columns: Columns, at: Array) -> None:
        super().__init__()
        self.columns, self.at = columns, at

    def __missing__(self, name: str) -> Column:
        self[name] = found = take(self.columns[name], self.at)
        return found


def _rest(count: int, at: Array, alike: list[Array]) -> tuple[Array, dict[int, Array]]:
    if len(at) == count:
        return at[:0], {}
    left = np.ones(count, np.bool_)
    left[at] = False
    for rows in alike:
        left[rows[1:]] = False
    rest = np.flatnonzero(left)
    return rest, {int(np.searchsorted(rest, rows[0])): rows[1:] for rows in alike}
