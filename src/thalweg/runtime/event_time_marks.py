"""Event time: from a column of times to the marks of a frame."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thalweg.ir.times import to_time
from thalweg.runtime.columns import Array, Column, to_list


def time_values(column: Column) -> npt.NDArray[np.int64]:
    if isinstance(column, np.ndarray) and column.dtype == np.int64:
        return column
    return np.array([to_time(value) for value in to_list(column)], np.int64)


_BEGINNING = -(2**62)  # earlier times are raised to it, so that subtracting a lateness cannot overflow


def steps(times: npt.NDArray[np.int64], lateness: int, step: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """The tuples at which the event time of this frame advances, and the event time there."""
    reached = np.maximum.accumulate((np.maximum(times, _BEGINNING) - lateness) // step * step)
    at = np.flatnonzero(np.diff(reached, prepend=reached[:1] - 1))
    return at, reached[at]
