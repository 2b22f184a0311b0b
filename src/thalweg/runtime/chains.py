"""Functions that the kernel of a chain of maps and filters calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.runtime.columns import Array, Coded, take


def narrow(mask: Any, now: bool, n: int, rows: Array | None, late: Array | None, *columns: Any) -> tuple[Any, ...]:
    """Apply a filter: (number of rows left, their indices, the mask that is still to be applied, columns…).

    Gathering costs about as much as a cheap operation. So if most rows pass and the operations that follow are harmless
    on the others, all rows are kept for now; `late` is the mask of those that pass. `rows` None: all rows are left.
    """
    if not isinstance(mask, np.ndarray):
        if not mask:
            return (0, np.zeros(0, np.int64), None, *columns)
        mask = late
    elif late is not None:
        mask = mask & late  # not in place: the array may be an attribute
    if mask is None:
        return (n, rows, None, *columns)
    kept = int(np.count_nonzero(mask))
    if kept == n:
        return (n, rows, None, *columns)
    if not now and kept * 2 > n:
        return (n, rows, mask, *columns)
    found = np.flatnonzero(mask)
    taken = (take(c, found) if isinstance(c, Coded | np.ndarray) else c for c in columns)
    return (kept, found if rows is None else rows.take(found), None, *taken)
