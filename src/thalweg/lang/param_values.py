"""Values of parameters: Python values are checked, text is converted."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from thalweg.errors import GraphError, Where, shown
from thalweg.ir.secret import Secret

_TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def _bool(text: str) -> bool:
    try:
        return _TRUTHS[text.strip().lower()]
    except KeyError:
        raise ValueError(f"not one of {', '.join(_TRUTHS)}") from None


def _path(text: str) -> Path:
    if not text:
        raise ValueError("an empty path")
    return Path(text)


# The conversion of text, by type.
TYPES: Mapping[type, Callable[[str], Any]] = {
    int: int,
    float: float,
    str: str,
    bool: _bool,
    Path: _path,
    dt.datetime: dt.datetime.fromisoformat,
    dt.date: dt.date.fromisoformat,
}


def converted(value: Any, kind: type, what: str, where: Where | None) -> Any:
    """The value as this type, or an error that names `what`. Errors never show the value of a secret."""
    if kind is Secret:
        return _secret(value, what, where)
    if kind is float and type(value) is int:
        return float(value)
    if kind is Path and isinstance(value, Path):
        return value
    if type(value) is kind:
        return value
    if not isinstance(value, str):
        raise GraphError(
            f"{what}: wrong type", where=where, expected=kind.__name__, found=f"{type(value).__name__} ({shown(value)})"
        )
    try:
        return TYPES[kind](value)
    except ValueError as error:
        raise GraphError(f"{what}: {error}", where=where, expected=kind.__name__, found=shown(value)) from None


def _secret(value: Any, what: str, where: Where | None) -> Secret:
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str):
        raise GraphError(f"{what}: wrong type", where=where, expected="str", found=type(value).__name__)
    if not value.startswith("@"):
        return Secret(value)
    try:
        return Secret(Path(value[1:]).read_text().rstrip("\r\n"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise GraphError(
            f"{what}: its file cannot be read: {reason}",
            where=where,
            found=value[1:],
            hint="@ names a file that holds the secret; a secret that begins with @ must be in a file",
        ) from None
