"""Operators written as Python code: they take tuples one at a time and submit any number of tuples to any port."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

from thalweg.ir.types import INT64_MIN

Submitted = tuple[int, int, Any]  # output port, rank, value


class Logic:
    """Base class of operator classes. An instance holds the state of one key in its attributes.

    `__init__` sets the initial state of every key. `setup` creates expensive objects that are not state (a model, a
    client) once per worker; its result is `self.resource`, which is never stored.
    """

    __slots__ = ("__dict__", "_forgotten", "_submitted", "config", "now", "resource")  # only the first is state

    _forgotten: bool  # whether the current call removes the key's state
    _submitted: list[Submitted]
    resource: Any
    config: Any  # the operator's settings; shared by all keys
    now: int | None  # the event time that has passed, if the stream has event time

    model: Any = None  # its declaration (`tw.declare`), or a method that returns one; None: its code is analyzed
    version: ClassVar[int] = 1  # increment it when stored attributes change their meaning, and write `upgrade`

    def process(self, t: Any, port: int) -> None:
        """Process one tuple that arrived at an input port."""
        raise NotImplementedError(f"{type(self).__name__}.process")

    def on_mark(self, time: int) -> None:
        """Handle a punctuation, or the event time (microseconds since 1970) that has passed. Called for every key with
        state that does not sleep."""

    def at_end(self) -> None:
        """Handle the end of the input: submit the remaining results. Called for every key with state."""

    def setup(self) -> Any:
        """Create the resource that all keys of a worker share."""
        return None

    def close(self, resource: Any) -> None:
        """Release the resource that `setup` created."""

    def upgrade(self, attributes: dict[str, Any], version: int) -> dict[str, Any]:
        """Convert the attributes that an older version stored to those of this version."""
        raise NotImplementedError(f"{type(self).__name__} cannot read its state of version {version}")

    def submit(self, value: Any, port: int = 0, *, rank: int = 0) -> None:
        """Send a tuple (a dict, or an object with the attributes) to an output port.

        At a mark and at the end, tuples of all keys are ordered by rank, then by key.
        """
        self._submitted.append((port, rank, value))

    def forget(self) -> None:
        """Remove the state of this key when the current call is over: its next tuple starts from the initial state."""
        self._forgotten = True

    def sleep_until(self, time: int) -> None:
        """Do not call `on_mark` for this key before the event time (microseconds since 1970) has reached `time`."""
        self._asleep_until = waking_time(time)


def waking_time(time: object) -> int:
    """The argument of `sleep_until`, checked. The analysis knows what it returns, whatever the argument is."""
    if type(time) is not int:
        raise TypeError(f"sleep_until: expected an int, as `on_mark` gets it, found {time!r}")
    return time


def acts_on_marks(logic: Logic) -> bool:
    return type(logic).on_mark is not Logic.on_mark


def acts_at_end(logic: Logic) -> bool:
    return type(logic).at_end is not Logic.at_end


def wakes_at(logic: Logic) -> int:
    """The event time from which on a user's object takes marks."""
    found: int = logic.__dict__.get("_asleep_until", INT64_MIN)
    return found


def fresh(template: Logic) -> Logic:
    """A copy of the template: the initial state of a key."""
    made = type(template).__new__(type(template))
    made.__dict__.update(copy.deepcopy(template.__dict__))
    made.config, made.now, made._forgotten = getattr(template, "config", None), None, False
    return made
