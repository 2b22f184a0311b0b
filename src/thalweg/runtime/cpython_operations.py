"""Operations that CPython evaluates itself: once per distinct string, once per pair of them, or once per row.

So they are exact by construction. Rows for which Python raises, or a result does not fit its type, take the row path.
Only values that occur in rows of the frame are evaluated: others might raise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.ir.types import BOOL, FLOAT, INT, INT64_MAX, INT64_MIN, STR, AttributeType
from thalweg.runtime.columns import DTYPES, Array, Coded, from_values, to_list
from thalweg.runtime.kernels import Fallback

_TYPES: dict[AttributeType, set[type]] = {INT: {int}, FLOAT: {float, int}, STR: {str}, BOOL: {bool}}


def each(function: Callable[..., Any], kind: AttributeType, *operands: Any) -> Any:
    """The function's values over operands: each is a column, or one plain value for all rows."""
    # The repr of a numpy scalar differs from that of the Python value.
    operands = tuple(o.item() if isinstance(o, np.generic) else o for o in operands)
    columns = [o for o in operands if isinstance(o, Coded | np.ndarray)]
    if not columns:
        (value,) = _called(lambda: [function(*operands)], kind)
        if kind is INT and not INT64_MIN <= value <= INT64_MAX:
            raise Fallback
        return value
    texts = [o for o in columns if isinstance(o, Coded)]
    if len(texts) == len(columns):
        if len(texts) == 1:
            return _by_text(function, kind, operands, texts[0])
        if len(texts) == 2 and len(texts[0].values) * len(texts[1].values) <= len(texts[0]):
            return _by_pair(function, kind, operands, texts[0], texts[1])
    return _by_row(function, kind, operands)


def _called(call: Callable[[], list[Any]], kind: AttributeType) -> list[Any]:
    try:
        values = call()
    except Exception:  # any error: the row path raises it at its tuple
        raise Fallback from None
    if not _fit(values, kind):
        raise Fallback
    return values


def _fit(values: list[Any], kind: AttributeType) -> bool:
    return set(map(type, values)) <= _TYPES[kind] and (kind is not STR or all(map(_can_be_stored, values)))


def _evaluated(function: Callable[..., Any], kind: AttributeType, lists: Sequence[Any], count: int) -> list[Any]:
    """The function's values; falls back for those of these arguments for which it has none."""
    try:
        return _called(lambda: list(map(function, *lists)), kind)
    except Fallback:
        arguments = zip(*lists, strict=False)  # some are one value, repeated without end
        raise Fallback(np.fromiter((_fails(function, kind, a) for a in arguments), np.bool_, count)) from None


def _fails(function: Callable[..., Any], kind: AttributeType, arguments: Sequence[Any]) -> bool:
    try:
        return not _fit([function(*arguments)], kind)
    except Exception:  # as above
        return True


def _can_be_stored(text: str) -> bool:
    """A lone surrogate has no encoding, so no column can hold it; `format(55296, "c")` returns one."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _by_row(function: Callable[..., Any], kind: AttributeType, operands: Sequence[Any]) -> Any:
    lists = [to_list(o) if isinstance(o, Coded | np.ndarray) else repeat(o) for o in operands]
    rows = next(len(o) for o in operands if isinstance(o, Coded | np.ndarray))
    values = _evaluated(function, kind, lists, rows)
    try:
        return from_values(values, kind)
    except OverflowError:
        raise Fallback from None


def _by_text(function: Callable[..., Any], kind: AttributeType, operands: Sequence[Any], text: Coded) -> Any:
    used = np.zeros(len(text.values), np.bool_)
    used[text.codes] = True
    values = text.values.filter(pa.array(used)).to_pylist() if not used.all() else text.values.to_pylist()
    lists = [values if o is text else repeat(o) for o in operands]
    return _spread(_by_code(function, kind, lists, used, text.codes), kind, used, text.codes)


def _by_pair(function: Callable[..., Any], kind: AttributeType, operands: Sequence[Any], a: Coded, b: Coded) -> Any:
    pairs = a.codes.astype(np.int64) * len(b.values) + b.codes
    used = np.zeros(len(a.values) * len(b.values), np.bool_)
    used[pairs] = True
    codes = np.divmod(np.flatnonzero(used), len(b.values))
    halves = [t.values.take(pa.array(c)).to_pylist() for t, c in zip((a, b), codes, strict=True)]
    lists = [halves[0] if o is a else halves[1] if o is b else repeat(o) for o in operands]
    return _spread(_by_code(function, kind, lists, used, pairs), kind, used, pairs)


def _by_code(
    function: Callable[..., Any], kind: AttributeType, lists: Sequence[Any], used: Array, codes: Array
) -> list[Any]:
    """The function's values for the used codes."""
    try:
        return _evaluated(function, kind, lists, int(np.count_nonzero(used)))
    except Fallback as fallback:
        raise fallback.spread(np.flatnonzero(used), len(used)).taken(codes) from None


def _spread(values: list[Any], kind: AttributeType, used: Array, codes: Array) -> Any:
    """Expand the values of the used codes to the rows."""
    if kind is STR:
        index: dict[str, int] = {}
        numbers = [index.setdefault(value, len(index)) for value in values]
        table = np.zeros(len(used), np.int32)
        table[used] = numbers
        return Coded(table.take(codes), pa.array(list(index), pa.string()))
    spread = np.zeros(len(used), DTYPES[kind])
    try:
        spread[used] = values
    except OverflowError:
        raise Fallback from None
    return spread.take(codes)
