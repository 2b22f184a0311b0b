"""Event time: from a column of times to the marks of a frame."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thalweg.ir.times import to_time
from thalweg.runtime.columns import Array, Column, to_list

Times = npt.NDArray[np.int64]


def time_values(column: Column) -> Times:
    if isinstance(column, np.ndarray) and column.dtype == np.int64:
        return column
    return np.array([to_time(value) for value in to_list(column)], np.int64)


_BEGINNING = -(2**62)  # earlier times are raised to it, so that subtracting a lateness cannot overflow


def steps(times: Times, lateness: int, step: int) -> tuple[Array, Times]:
    """The tuples at which the event time of this frame advances, and the event time there."""
    reached = np.maximum.accumulate((np.maximum(times, _BEGINNING) - lateness) // step * step)
    at = np.flatnonzero(np.diff(reached, prepend=reached[:1] - 1))
    return at, reached[at]


def steps_of_origins(times: Times, origins: Times, lateness: int, step: int) -> tuple[Array, Times]:
    """The same for each origin: the tuples at which the event time of their origin advances, and that time."""
    found = [(rows, *steps(times[rows], lateness, step)) for rows in _rows_by_value(origins)]
    at = np.concatenate([rows[advances] for rows, advances, _ in found])
    order = np.argsort(at)
    return at[order], np.concatenate([reached for _, _, reached in found])[order]


def _rows_by_value(values: Times) -> list[Array]:
    return [np.flatnonzero(values == value) for value in np.unique(values)]
