"""Options of Spark's readers and writers: strings, some of which may be secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg.endpoints.checks import require
from thalweg.ir.secret import Secret

Options = tuple[tuple[str, Any], ...]


def checked_options(what: str, options: Mapping[str, object]) -> Options:
    """Options as Spark accepts them: strings. A secret stays hidden until it is passed to Spark."""
    for name, value in options.items():
        good = isinstance(name, str) and isinstance(value, str | int | float | Secret)
        require(good, f"{what}: bad option {name}", "a str, number, bool or secret", value)
    return tuple((name, value if isinstance(value, Secret) else _text(value)) for name, value in options.items())


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def revealed(options: Options) -> dict[str, str]:
    """Options as they are passed to Spark."""
    return {name: value.reveal() if isinstance(value, Secret) else value for name, value in options}
