"""Errors as JSON documents: the process that raised one stores it in a file for the driver."""

from __future__ import annotations

from typing import Any

from thalweg.errors import ThalwegError, Where


def to_document(error: ThalwegError) -> dict[str, Any]:
    known = [c.__name__ for c in type(error).__mro__ if c in ThalwegError.__subclasses__()]
    return error.as_json() | {"class": known[0] if known else ""}


def from_document(document: dict[str, Any]) -> ThalwegError:
    known = {c.__name__: c for c in ThalwegError.__subclasses__()}
    return known.get(document["class"], ThalwegError)(
        document["message"],
        operator=document["operator"],
        where=Where.parse(document["where"] or ""),
        at=document["at"],
        expected=document["expected"],
        found=document["found"],
        hint=document["hint"],
    )
