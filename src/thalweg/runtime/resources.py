"""Resources that operators create in `setup`: expensive, not state, and shared by all channels of a worker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thalweg.errors import ResourceError
from thalweg.ir.operator_resources import close, set_up
from thalweg.ir.operators import Process


class Resources:
    """The resources of one worker, by operator. `setup` is called when an operator first needs its resource."""

    def __init__(self) -> None:
        self.made: dict[str, tuple[Process, Any]] = {}

    def of(self, operator: Process) -> Any:
        if operator.name not in self.made:
            self.made[operator.name] = operator, set_up(operator.logic, operator.name, operator.where)
        return self.made[operator.name][1]

    def close(self, operators: Iterable[str]) -> None:
        """Release the resources of these operators: all of them, even if one fails."""
        errors: list[ResourceError] = []
        for name in operators:
            if name in self.made:
                operator, resource = self.made.pop(name)
                try:
                    close(operator.logic, resource, operator.name, operator.where)
                except ResourceError as error:
                    errors.append(error)
        if errors:
            raise errors[0]
