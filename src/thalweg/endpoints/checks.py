"""Checks of the arguments that describe endpoints."""

from __future__ import annotations

from thalweg.errors import GraphError, did_you_mean
from thalweg.ir.user_calls import call_place, user_frame


def require(good: bool, message: str, expected: str, found: object) -> None:
    if not good:
        raise GraphError(message, where=call_place(user_frame()), expected=expected, found=repr(found))


def one_of(what: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise GraphError(
            f"unknown {what} {value!r}",
            where=call_place(user_frame()),
            expected=", ".join(known),
            found=repr(value),
            hint=did_you_mean(str(value), known),
        )
