"""Operators written as Python code: they take tuples one at a time and submit any number of tuples to any port."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

Submitted = tuple[int, int, Any]  # output port, rank, value


class Logic:
    """Base of operator classes. An instance holds the state of one key: its attributes are what is remembered.

    What `__init__` sets up is the state that every key starts with. `setup` makes what is expensive and not state (a
    model, a client), once per worker; its result is `self.resource`, which is never stored.
    """

    __slots__ = ("__dict__", "_submitted", "config", "now", "resource")  # all but the first are no state

    _submitted: list[Submitted]
    resource: Any
    config: Any  # what the operator was set to; shared by all keys
    now: int | None  # the event time that has passed, where the stream has one

    model: Any = None  # what is declared of it (`tw.declare`), or a method that makes it; None: it is found by reading
    version: ClassVar[int] = 1  # raise it when stored attributes change their meaning, and write `upgrade`

    def process(self, t: Any, port: int) -> None:
        """Take one tuple that arrived at an input port."""
        raise NotImplementedError(f"{type(self).__name__}.process")

    def on_mark(self, time: int) -> None:
        """A punctuation, or the event time (in microseconds since 1970) that has passed. Called for every key."""

    def at_end(self) -> None:
        """The input has ended: submit what is still to be said. Called for every key."""

    def setup(self) -> Any:
        """Make what is shared by all keys of a worker."""
        return None

    def close(self, resource: Any) -> None:
        """Give back what `setup` made."""

    def upgrade(self, attributes: dict[str, Any], version: int) -> dict[str, Any]:
        """The attributes of this version, from those that an older version stored."""
        raise NotImplementedError(f"{type(self).__name__} cannot read its state of version {version}")

    def submit(self, value: Any, port: int = 0, *, rank: int = 0) -> None:
        """Send a tuple (a dict, or an object with the attributes) to an output port.

        At a mark and at the end, tuples of all keys are ordered by rank, then by key.
        """
        self._submitted.append((port, rank, value))


def acts_on_marks(logic: Logic) -> bool:
    return type(logic).on_mark is not Logic.on_mark


def acts_at_end(logic: Logic) -> bool:
    return type(logic).at_end is not Logic.at_end


def fresh(template: Logic) -> Logic:
    """A copy of the template: the state that a key starts with."""
    made = type(template).__new__(type(template))
    made.__dict__.update(copy.deepcopy(template.__dict__))
    made.config, made.now = getattr(template, "config", None), None
    return made
