"""The error tree. Every error reports its location, what was expected, what was found, and a hint."""

from __future__ import annotations

import contextlib
import difflib
import json
import math
import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from thalweg.relative_paths import relative_paths


@dataclass(frozen=True, slots=True)
class Where:
    """A location in the user's program; inside a composite, also the location of the call."""

    file: str
    line: int
    via: Where | None = None

    def __str__(self) -> str:
        here = f"{self.file}:{self.line}"
        return here if self.via is None else f"{here}{_CALLED}{self.via}"

    @staticmethod
    def parse(text: str) -> Where | None:
        """The location that this text represents."""
        here, _, via = text.partition(_CALLED)
        file, _, line = here.rpartition(":")
        return Where(file, int(line), Where.parse(via)) if file and line.isdigit() else None


_CALLED = ", called at "

_hidden: set[str] = set()


def hide(secret: str) -> None:
    """Hide this text in all later errors of this process, also as it is written in Python and in JSON."""
    forms = {secret} - {""}
    for _ in range(2):  # the text of a KeyError is a repr, possibly of a text that has a repr in it
        forms |= {form for text in forms for form in _literals(text)}
    _hidden.update(forms)


def _literals(text: str) -> Iterator[str]:
    """The text inside of quotes. Python escapes a single quote only if there is a double quote, too."""
    for literal in (repr, ascii):
        inside = literal(f'"{text}')[2:-1]
        yield inside
        yield inside.replace("\\'", "'")
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]


def redacted(text: str) -> str:
    """The text without the secrets of this process. The longest is replaced first: one secret may contain another.
    Numbers of hundreds of digits are shortened."""
    text = _LONG_NUMBER.sub(lambda number: _shortened(number[0]), text)
    for secret in sorted(_hidden, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def indented(text: str) -> str:
    """A text of several lines as a part of a paragraph."""
    return text.replace("\n", "\n    ")


class ThalwegError(Exception):
    """Base of all errors that Thalweg raises on purpose."""

    kind = "error"
    exit_code = 1  # of the command that ends with it

    def __init__(
        self,
        message: str,
        *,
        operator: str | None = None,
        where: Where | None = None,
        at: object | None = None,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None:
        message = redacted(message)
        super().__init__(message)
        self.message = message
        self.operator = operator
        self.where = where
        self.at = None if at is None else redacted(str(at))
        self.expected = expected and redacted(expected)
        self.found = found and redacted(found)
        self.hint = hint and redacted(hint)

    def __str__(self) -> str:
        place = ", ".join(
            part for part in (f"operator {self.operator}" if self.operator else "", str(self.where or "")) if part
        )
        lines = [indented(self.message) + (f"  ({place})" if place else "")]
        lines += [
            f"  {label}: {indented(text)}"
            for label in ("at", "expected", "found", "hint")
            if (text := getattr(self, label))
        ]
        return relative_paths("\n".join(lines))

    def as_json(self) -> dict[str, object]:
        return {
            "error": self.kind,
            "message": self.message,
            "operator": self.operator,
            "where": str(self.where) if self.where else None,
            "at": self.at,
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


class HintError(PlanError):
    """A hint of the user about the plan cannot be satisfied."""


class InputError(ThalwegError):
    """An input file is missing, changed or does not fit its tuple type."""

    kind = "input error"


class CheckpointError(ThalwegError):
    """The run cannot start from this checkpoint."""

    kind = "checkpoint error"


class TupleError(ThalwegError):
    """A user function failed on a tuple; the one at the lowest position is reported."""

    kind = "tuple error"


class StateError(ThalwegError):
    """The state of an operator cannot be stored."""

    kind = "state error"


class ResourceError(ThalwegError):
    """`setup` or `close` of an operator failed."""

    kind = "resource error"


class OutputError(ThalwegError):
    """The target of a sink does not accept its tuples."""

    kind = "output error"


class StorageError(ThalwegError):
    """Thalweg cannot write to a folder: the disk is full, or writing is not permitted."""

    kind = "storage error"


class EngineError(ThalwegError):
    """The underlying engine (Spark, Java, the disk) failed."""

    kind = "engine error"


def not_enough_memory(error: MemoryError, operators: Iterable[str] = (), where: Where | None = None) -> EngineError:
    """The process could not allocate memory; these operators were running."""
    return EngineError(
        "not enough memory",
        operator=" or ".join(operators) or None,
        where=where,
        found=summary(error),
        hint="smaller epochs need less: --max-tuples-per-epoch",
    )


class PackageError(ThalwegError):
    """An optional package is missing."""

    kind = "package error"


class UsageError(ThalwegError):
    """The command line is wrong."""

    kind = "usage error"
    exit_code = 2


class Interrupted(ThalwegError):
    """Ctrl-C, before a run could be stopped after an epoch."""

    kind = "interrupted"
    exit_code = 130


class InternalError(ThalwegError):
    """A bug in Thalweg."""

    kind = "internal error"


def internal_error(error: Exception) -> InternalError:
    """The error for an exception that no part of Thalweg expected."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(_NOT_OF_USER)]
    return InternalError(
        "Thalweg failed",
        at=f"{own[-1].filename}:{own[-1].lineno}, in {own[-1].name}" if own else None,
        found=summary(error),
        hint="this is a bug in Thalweg: please report it with the traceback that --debug shows",
    )


class ThalwegWarning(UserWarning):
    """A construct is allowed but may not be what the user intended."""


_kept: ContextVar[list[str] | None] = ContextVar("_kept", default=None)


def warn(text: str) -> None:
    """Emit a warning: Thalweg has no other way. The command prints it; the result of `tw.run` has it, too."""
    text = redacted(text)
    kept = _kept.get()
    if kept is not None:
        kept.append(text)
    warnings.warn(text, ThalwegWarning, stacklevel=_level_of_user())


def _level_of_user() -> int:
    """The `stacklevel` of the innermost line outside of Thalweg, for a warning that its caller emits."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_NOT_OF_USER):
        frame, level = frame.f_back, level + 1
    return level


_NOT_OF_USER = (os.path.dirname(__file__) + os.sep, contextlib.__file__)


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """The list that the warnings of this thread are added to while the block runs."""
    kept: list[str] = []
    before = _kept.set(kept)
    try:
        yield kept
    finally:
        _kept.reset(before)


def summary(error: BaseException) -> str:
    """The class of an exception and its text, if it has one, without secrets."""
    try:
        text = str(error)
    except Exception:  # the user's own `__str__` may raise anything
        text = "(its text cannot be shown)"
    return redacted(f"{type(error).__name__}: {text}".removesuffix(": "))


def described(value: object) -> str:
    """The text of an unexpected value. Functions and classes are shown by name: an address is not useful."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = getattr(value, "__name__", None)
    return f"the function {name}" if callable(value) and name else shown(value)


_LONG_NUMBER = re.compile(r"\d{200,}")


def _shortened(digits: str) -> str:
    return f"{digits[:12]}…{digits[-12:]} ({len(digits):,} digits)"


def shown(value: object) -> str:
    """The repr of a value. Python refuses to print an int of thousands of digits, also inside of other values, and what
    is nested too deeply."""
    try:
        return repr(value)
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deeply to be shown"
    except ValueError:
        if isinstance(value, int):
            return f"an int of {1 + int(value.bit_length() * math.log10(2)):,} digits"
        return f"a {type(value).__name__} with an int of thousands of digits"


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint for an unknown name, or None if no known name is similar."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean `{close[0]}`?" if close else None
