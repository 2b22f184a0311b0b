"""Numbers in sentences."""

from __future__ import annotations


def counted(number: int, word: str) -> str:
    """1 epoch, 2 epochs."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
