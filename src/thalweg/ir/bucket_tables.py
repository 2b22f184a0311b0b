"""Tables: the channel of each bucket. As text, one digit per bucket (0 to 9, then a to z) or, with more channels than
digits, comma-separated numbers. The text is short because plans and manifests contain a table per operator."""

from __future__ import annotations

from collections.abc import Sequence

Table = tuple[int, ...]

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def plain_table(buckets: int, degree: int) -> Table:
    """The default distribution of buckets, used without an explicit table."""
    return tuple(bucket % degree for bucket in range(buckets))


def table_text(table: Sequence[int]) -> str:
    if max(table, default=0) < len(_DIGITS):
        return "".join(_DIGITS[channel] for channel in table)
    return ",".join(map(str, table))


def read_table(text: str) -> Table:
    """Parse a table; raise a ValueError if the text is not a table."""
    if "," in text:
        return tuple(int(_digits(part)) for part in text.split(","))
    return tuple(_DIGITS.index(digit) for digit in text)


def _digits(part: str) -> str:
    if not (part.isascii() and part.isdigit()):
        raise ValueError(part)
    return part
