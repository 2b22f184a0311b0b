"""Hints for an attribute, or an event time, that an operator upstream did not keep."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from thalweg.ir.operators import Operator
from thalweg.ir.types import UnknownAttribute

if TYPE_CHECKING:
    from thalweg.lang.app import Stream


@contextmanager
def naming_the_dropper(stream: Stream) -> Iterator[None]:
    """An unknown attribute that the stream had further upstream is reported with the operator that dropped it."""
    try:
        yield
    except UnknownAttribute as error:
        dropper = _dropper(stream, error.attribute)
        if dropper is not None:
            error.hint = f"{dropper.name} ({dropper.where}) does not keep {error.attribute}: add it there"
        raise


def time_hint(stream: Stream) -> str:
    """How to give an event time to a stream that has none, or whose attribute is missing."""
    if not stream.timed:
        return '.event_time("attribute", lateness=…)'
    if stream.time:
        dropper = _dropper(stream, stream.time)
        place = "the map" if dropper is None else f"{dropper.name} ({dropper.where})"
        return f"keep {stream.time} in {place}"
    if stream.at_ends:
        return "add end=agg.window_end() to the aggregate: the end of a window is the event time of its result"
    return '.event_time("attribute") after the union: its streams have their event time in different attributes'


def _dropper(stream: Stream, attribute: str) -> Operator | None:
    """The nearest operator upstream whose input has the attribute and whose output does not."""
    by_name, waiting, seen = stream.app._by_name, [stream.ref.operator], set[str]()
    while waiting:
        operator = by_name[waiting.pop(0)]
        seen.add(operator.name)
        if any(by_name[ref.operator].outputs[ref.port].get(attribute) is not None for ref in operator.inputs):
            return operator
        waiting += [ref.operator for ref in operator.inputs if ref.operator not in seen]
    return None
