"""The exception with which a function of `map_batches` names the rows of its batch that are not valid."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


class FailedRows(Exception):
    """Raise it in a function of `map_batches` to name the rows of the batch that are not valid.

    `rows`: their indices, with a reason for each in a mapping, or else with the same reason. They are handled by the
    operator's `on_error`, and the function is called again with the other rows.
    """

    def __init__(self, rows: Mapping[int, str] | Iterable[int], reason: str = "not valid") -> None:
        given = rows if isinstance(rows, Mapping) else dict.fromkeys(rows, reason)
        self.reasons = {_index(row): str(why) for row, why in given.items()}
        super().__init__("; ".join(dict.fromkeys(self.reasons.values())))

    def inside(self, rows: int) -> list[int]:
        """The indices in order, or none if one of them is not in a batch of so many rows."""
        found = sorted(self.reasons)
        return found if found and found[0] >= 0 and found[-1] < rows else []

    def by_reason(self) -> Iterator[tuple[list[int], FailedRows]]:
        """The rows of each reason, with the error of a row for which it is the only one of its batch."""
        rows: dict[str, list[int]] = {}
        for row, reason in sorted(self.reasons.items()):
            rows.setdefault(reason, []).append(row)
        for reason, found in rows.items():
            yield found, FailedRows({0: reason}).with_traceback(self.__traceback__)


def _index(row: Any) -> int:
    """Also of a scalar of Arrow or numpy."""
    value = row.as_py() if hasattr(row, "as_py") else row
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:  # numpy's bools are among these
        pass
    raise TypeError(f"expected the index of a row, found {value!r}: a mask has to be converted to indices")
