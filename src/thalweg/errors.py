"""The error tree. Every error says where, what was expected, what was found, and a hint."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Where:
    """A place in the user's program."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class ThalwegError(Exception):
    """Base of all errors that Thalweg raises on purpose."""

    kind = "error"

    def __init__(
        self,
        message: str,
        *,
        operator: str | None = None,
        where: Where | None = None,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.operator = operator
        self.where = where
        self.expected = expected
        self.found = found
        self.hint = hint

    def __str__(self) -> str:
        place = ", ".join(
            part for part in (f"operator {self.operator}" if self.operator else "", str(self.where or "")) if part
        )
        lines = [f"{self.message}" + (f"  ({place})" if place else "")]
        lines += [
            f"  {label}: {text}"
            for label, text in (("expected", self.expected), ("found", self.found), ("hint", self.hint))
            if text
        ]
        return "\n".join(lines)

    def as_json(self) -> dict[str, object]:
        return {
            "error": self.kind,
            "message": self.message,
            "operator": self.operator,
            "where": str(self.where) if self.where else None,
            "expected": self.expected,
            "found": self.found,
            "hint": self.hint,
        }


class GraphError(ThalwegError):
    """The user's program is wrong; found while the graph is built."""

    kind = "graph error"


class PlanError(ThalwegError):
    """A plan is not legal for its graph."""

    kind = "plan error"


class InputError(ThalwegError):
    """An input file is missing, changed or does not fit its tuple type."""

    kind = "input error"


class CheckpointError(ThalwegError):
    """A checkpoint does not allow this start."""

    kind = "checkpoint error"


class TupleError(ThalwegError):
    """A user function failed on one tuple; the one at the least position is reported."""

    kind = "tuple error"


class OutputError(ThalwegError):
    """The receiver of a sink's tuples does not take them."""

    kind = "output error"


class EngineError(ThalwegError):
    """The engine under Thalweg (Spark, Java, the disk) failed."""

    kind = "engine error"


class InternalError(ThalwegError):
    """A bug in Thalweg."""

    kind = "internal error"


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint for an unknown name, or None when nothing known resembles it."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean `{close[0]}`?" if close else None
