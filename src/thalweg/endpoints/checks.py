"""Checks of the arguments that describe endpoints."""

from __future__ import annotations

from thalweg.errors import GraphError, did_you_mean, shown
from thalweg.ir.user_calls import call_place, user_frame


def require(good: bool, message: str, expected: str, found: object) -> None:
    if not good:
        raise GraphError(message, where=call_place(user_frame()), expected=expected, found=shown(found))


def one_of(what: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise GraphError(
            f"unknown {what} {value!r}",
            where=call_place(user_frame()),
            expected=", ".join(known),
            found=shown(value),
            hint=did_you_mean(str(value), known),
        )
