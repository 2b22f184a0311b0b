"""What the code of an operator submits in one call."""

from __future__ import annotations

from collections.abc import Callable

from thalweg.errors import shown
from thalweg.ir.logic import Submitted
from thalweg.ir.types import INT64_MAX, INT64_MIN, TupleType
from thalweg.ir.user_tuples import unpack


class Submissions(list[Submitted]):
    """Tuples are converted when they are submitted: the code may reuse a list or a dict that it has submitted, as in
    `self.submit({"items": self.items}); self.items.clear()`."""

    def __init__(self, result_type: Callable[[int], TupleType]) -> None:
        super().__init__()
        self.result_type = result_type  # of each output port

    def append(self, submitted: Submitted) -> None:
        port, rank, value = submitted
        if type(rank) is not int or not INT64_MIN <= rank <= INT64_MAX:
            raise TypeError(f"submit: expected a 64-bit int as rank, found {shown(rank)}")
        super().append((port, rank, unpack(value, self.result_type(port))))
