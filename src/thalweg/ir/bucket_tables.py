"""Tables: the channel of each bucket. As text, a digit per bucket (0 to 9, then a to z), or, where that is too few
digits, numbers with commas: a table stands in the plan's text form and in the manifest, once for each operator."""

from __future__ import annotations

from collections.abc import Sequence

Table = tuple[int, ...]

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def plain_table(buckets: int, degree: int) -> Table:
    """How buckets are spread where no table says otherwise."""
    return tuple(bucket % degree for bucket in range(buckets))


def table_text(table: Sequence[int]) -> str:
    if max(table, default=0) < len(_DIGITS):
        return "".join(_DIGITS[channel] for channel in table)
    return ",".join(map(str, table))


def read_table(text: str) -> Table:
    """The table of a text; a ValueError if it is none."""
    if "," in text:
        return tuple(int(_digits(part)) for part in text.split(","))
    return tuple(_DIGITS.index(digit) for digit in text)


def _digits(part: str) -> str:
    if not (part.isascii() and part.isdigit()):
        raise ValueError(part)
    return part
