"""Keys in the reference: which keys are equal, the order in which they act, and random numbers drawn by position.

The canonical form of a value (`ir/canonical_form.py`) is shared with the engines: it is the published definition of
equal keys. The hash of a key and the order of keys are written again here, for one key, in Python's integers.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from thalweg.ir.canonical_form import canonical
from thalweg.ir.times import to_time
from thalweg.ir.types import STR, AttributeType
from thalweg.ir.values import carried

LEAST, LAST_RANK = -(2**63), 2**63 - 1  # a forwarded mark comes after everything that the operator emitted at it
_SEED = 0x9E3779B97F4A7C15


def key_of(row: Any, names: Sequence[str]) -> tuple[Any, ...]:
    """A dict key: for int, float and str the value itself, with one key for all NaNs; otherwise the canonical form."""
    return tuple(_equal_as(getattr(row, n)) for n in names)


def _equal_as(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value
    return value if isinstance(value, int | str) else canonical(carried(value))


def rank_of(values: Sequence[Any], kinds: Sequence[AttributeType]) -> tuple[int, ...]:
    """The place of a key among the keys: a number for each attribute, in the order of its values, and the hash."""
    if not values:
        return ()
    hashed = _hash(values, kinds)
    return (*map(_place, values), hashed - 2**64 if hashed >= 2**63 else hashed)


def _place(value: Any) -> int:
    if value is None:
        return LEAST
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str | bytes):  # by the first 8 bytes
        data = value.encode() if isinstance(value, str) else value
        return sum(byte << 8 * (7 - i) for i, byte in enumerate(data[:8])) - 2**63
    if isinstance(value, float | Decimal):
        number = float(value)
        if math.isnan(number):
            return LAST_RANK
        return _bits(abs(number)) if number >= 0 else -_bits(abs(number)) - 1
    if isinstance(value, dt.datetime):
        return to_time(value)
    return value.toordinal() if isinstance(value, dt.date) else 0


def _bits(number: float) -> int:
    """The bits of a float; of two positive floats, the greater one has the greater number."""
    return int.from_bytes(struct.pack(">d", number), "big", signed=True)


# The hash, version 1. It is part of the order of keys, and never changes.


def _hash(values: Sequence[Any], kinds: Sequence[AttributeType]) -> int:
    parts = [_hashed_as(value, kind) for value, kind in zip(values, kinds, strict=True)]
    if len(parts) > 1:
        return _of_bytes(b"".join(_word(p) if isinstance(p, int) else _word(len(p)) + p for p in parts))
    (only,) = parts
    return _mixed(only % 2**64 ^ _SEED) if isinstance(only, int) else _of_bytes(only)


def _hashed_as(value: Any, kind: AttributeType) -> int | bytes:
    """Values of the types that have a numpy form: an int, or the bytes of a text. Other values: the canonical form."""
    if kind.boxed:
        return canonical(carried(value))
    if kind is STR:
        return bytes(value.encode())
    if isinstance(value, float):
        return _bits(math.nan if math.isnan(value) else value + 0.0)
    return int(value)


def _word(number: int) -> bytes:
    return number.to_bytes(8, "little", signed=True)


def _of_bytes(data: bytes) -> int:
    """The bytes in words of 8; those of an incomplete last word are its most significant bytes."""
    hashed = _SEED ^ len(data) * 0xFF51AFD7ED558CCD % 2**64
    for start in range(0, len(data), 8):
        word = data[start : start + 8]
        hashed = _mixed(hashed ^ int.from_bytes(word.rjust(8, b"\0"), "little"))
    return _mixed(hashed)


def _mixed(word: int) -> int:
    """The finalizer of splitmix64."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


def chance(seed: int, order_key: Sequence[int]) -> float:
    """A number in [0, 1): a hash of the seed and of the tuple's order key."""
    drawn = _mixed(seed % 2**64)
    for number in order_key:
        drawn = _mixed(drawn ^ number % 2**64)
    return (drawn >> 11) / 2**53
