"""`a if test else b` over columns, and `and` / `or`, which are special cases of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.ir.types import STR, AttributeType
from thalweg.runtime.columns import DTYPES, Array, Coded, take
from thalweg.runtime.kernels import Fallback

Branch = Callable[[Mapping[str, Any], int], Any]


def choose(test: Any, a: Any, b: Any) -> Any:
    """Select from branches that were computed for all rows. A captured flag is one test for all rows."""
    if not isinstance(test, np.ndarray):
        return a if test else b
    if isinstance(a, Coded | str):
        values, in_a, in_b = _shared(a, b)
        return Coded(np.where(test, in_a, in_b), values)
    return np.where(test, a, b)


def lazy(test: Any, a: Branch, b: Branch, columns: Mapping[str, Any], rows: int, kind: AttributeType) -> Any:
    """The same for branches that may fall back: if one does, each is computed only for the rows that take it.

    Computing both for all rows is cheaper, so that is tried first.
    """
    if not isinstance(test, np.ndarray):
        return (a if test else b)(columns, rows)
    yes = np.flatnonzero(test)
    if len(yes) in (0, rows):
        return (a if len(yes) else b)(columns, rows)
    try:
        return choose(test, a(columns, rows), b(columns, rows))
    except Fallback:
        return _apart(test, yes, a, b, columns, kind)


def apart(test: Any, a: Branch, b: Branch, columns: Mapping[str, Any], rows: int, kind: AttributeType) -> Any:
    """The same for expensive branches: each is computed only for the rows that take it."""
    if not isinstance(test, np.ndarray):
        return (a if test else b)(columns, rows)
    yes = np.flatnonzero(test)
    if len(yes) in (0, rows):
        return (a if len(yes) else b)(columns, rows)
    return _apart(test, yes, a, b, columns, kind)


def _apart(
    test: Array, yes: Array, a: Branch, b: Branch, columns: Mapping[str, Any], kind: AttributeType
) -> Array | Coded:
    no = np.flatnonzero(np.logical_not(test))
    found_a, found_b = (_branch(branch, columns, rows, len(test)) for branch, rows in ((a, yes), (b, no)))
    if kind is STR:
        values, found_a, found_b = _shared(found_a, found_b)
    result = np.empty(len(test), np.int32 if kind is STR else DTYPES[kind])
    result[yes], result[no] = found_a, found_b
    return Coded(result, values) if kind is STR else result


def _branch(branch: Branch, columns: Mapping[str, Any], rows: Array, count: int) -> Any:
    try:
        return branch(_taken(columns, rows), len(rows))
    except Fallback as fallback:
        raise fallback.spread(rows, count) from None


def _taken(columns: Mapping[str, Any], rows: Array) -> dict[str, Any]:
    return {n: take(c, rows) if isinstance(c, Coded | np.ndarray) else c for n, c in columns.items()}


def _shared(a: Coded | str, b: Coded | str) -> tuple[pa.Array, Any, Any]:
    """Map the codes of both sides to one dictionary; a plain string has one code for all rows."""
    values_a, values_b = (t.values if isinstance(t, Coded) else pa.array([t], pa.string()) for t in (a, b))
    codes_a, codes_b = (t.codes if isinstance(t, Coded) else np.int32(0) for t in (a, b))
    if values_a is values_b:
        return values_a, codes_a, codes_b
    known = pc.index_in(values_b, value_set=values_a)
    table = known.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    new = table < 0
    table[new] = np.arange(len(values_a), len(values_a) + int(new.sum()))
    return pa.concat_arrays([values_a, values_b.filter(pa.array(new))]), codes_a, table[codes_b]
