"""Resources that operators create in `setup`: expensive, not state, and shared by all channels of a worker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thalweg.ir.logic import Logic
from thalweg.ir.operators import Process


class Resources:
    """The resources of one worker, by operator. `setup` is called when an operator first needs its resource."""

    def __init__(self) -> None:
        self.made: dict[str, tuple[Logic, Any]] = {}

    def of(self, operator: Process) -> Any:
        if operator.name not in self.made:
            self.made[operator.name] = operator.logic, operator.logic.setup()
        return self.made[operator.name][1]

    def close(self, operators: Iterable[str]) -> None:
        """Release the resources of these operators."""
        for name in operators:
            if name in self.made:
                logic, resource = self.made.pop(name)
                logic.close(resource)
