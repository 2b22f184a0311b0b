"""Where in the user's program the call in progress is."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType

from thalweg.errors import Where

_FRONT_END = ("thalweg.lang", "thalweg.endpoints", "thalweg.library", "thalweg.ir.arguments", "thalweg.api")


@dataclass(frozen=True, slots=True)
class CompositeCall:
    """A composite at work: what the names of its operators begin with, and where it was called."""

    prefix: str
    where: Where


current_call: ContextVar[CompositeCall | None] = ContextVar("current_call", default=None)


def prefixed(name: str) -> str:
    """The name of an operator made here: inside a composite it begins with the composite's."""
    call = current_call.get()
    return name if call is None else f"{call.prefix}.{name}"


def user_frame() -> FrameType:
    """The innermost frame outside of the modules whose functions users call to build a graph."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_FRONT_END):
        frame = frame.f_back
    assert frame is not None
    return frame


def call_place(frame: FrameType) -> Where:
    call = current_call.get()
    return Where(frame.f_code.co_filename, frame.f_lineno, None if call is None else call.where)
