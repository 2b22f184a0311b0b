"""Names for operators and composites that the user did not name: `map`, `map_2`, `map_3`, …"""

from __future__ import annotations

from collections.abc import Container


class FreeNames:
    """Finds the first name that is not taken. A name that is taken stays so, so no number is tried twice."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}  # of each base name: all smaller numbers are taken

    def find(self, base: str, taken: Container[str]) -> str:
        """The base name itself, or with the first free number from 2 on."""
        if base not in taken:
            return base
        number = self._numbers.get(base, 2)
        while f"{base}_{number}" in taken:
            number += 1
        self._numbers[base] = number
        return f"{base}_{number}"
