"""Options of Spark's readers and writers: texts, of which some may be secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg.endpoints.checks import require
from thalweg.ir.secret import Secret

Options = tuple[tuple[str, Any], ...]


def checked_options(what: str, options: Mapping[str, object]) -> Options:
    """Options as Spark takes them: texts. A secret stays one until Spark is told."""
    for name, value in options.items():
        good = isinstance(name, str) and isinstance(value, str | int | float | Secret)
        require(good, f"{what}: bad option {name}", "a str, number, bool or secret", value)
    return tuple((name, value if isinstance(value, Secret) else _text(value)) for name, value in options.items())


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def revealed(options: Options) -> dict[str, str]:
    """Options as Spark is told them."""
    return {name: value.reveal() if isinstance(value, Secret) else value for name, value in options}
