"""PlanRequest: the options of a plan. Every entry point builds it from the same keyword arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Unpack

from thalweg.analysis.channel_safety import rules_of
from thalweg.errors import PlanError, UsageError, did_you_mean, shown
from thalweg.ir.bucket_tables import Table
from thalweg.ir.plan import DEFAULT_FRAME_ROWS
from thalweg.ir.plan_options import OPEN, Degree, Fusion, PlanOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """`degree`: the channels of every parallel region, or by operator; "open": chosen when the plan is run; None: one
    channel or, for the migration of a checkpoint, as many as it has.
    `fuse`: "all" for as few PEs as possible, "none" for one per operator, groups of operators (`a b; c d`, or a file
    with a group per line), or the group of each operator by name.
    `buckets` of the state: at least one per channel, which is the default (64 per channel with `balance`).
    `balance`: spread keys over the channels by how often they occur in a sample of the input.
    `rules`: which operators may be parallel, all for which it is safe ("thalweg") or those of Schneider et al.
    ("paper").
    `frame_rows`: the maximum number of tuples in a frame.
    `plan`: a plan in its text form, or the file that contains it, instead of `fuse`, `balance`, `rules` and
    `frame_rows`; its open degrees become `degree`.
    """

    degree: Degree | None = None
    fuse: Fusion = "all"
    buckets: int | None = None
    balance: bool = False
    rules: str = "thalweg"
    frame_rows: int = DEFAULT_FRAME_ROWS
    plan: str | Path | None = None

    def __post_init__(self) -> None:
        self._check_degree()
        if self.buckets is not None and not _is_count(self.buckets):
            raise _invalid("buckets", "1 or more, or None", self.buckets)
        if not _is_count(self.frame_rows):
            raise _invalid("frame_rows", "1 or more", self.frame_rows)
        if not isinstance(self.balance, bool):
            raise _invalid("balance", "True or False", self.balance)
        if not isinstance(self.fuse, str | Path | Mapping):
            raise _invalid("fuse", "all, none, groups of operators, or the group of each operator", self.fuse)
        if not isinstance(self.plan, str | Path | None):
            raise _invalid("plan", "the text of a plan, or a file", self.plan)
        rules_of(self.rules)
        if self.plan is not None:
            self._refuse_what_the_plan_decides()

    def _check_degree(self) -> None:
        if isinstance(self.degree, Mapping):
            for name, degree in self.degree.items():
                if not _is_count(degree):
                    raise _invalid(f"degree of {name}", "1 or more", degree)
        elif self.degree not in (None, OPEN) and not _is_count(self.degree):
            raise _invalid("degree", "1 or more, open, or the degree of each operator", self.degree)

    def _refuse_what_the_plan_decides(self) -> None:
        for name in ("fuse", "balance", "rules", "frame_rows"):
            if getattr(self, name) != _DEFAULTS[name]:
                raise UsageError(f"a plan already decides {name}", expected=f"plan or {name}, not both")

    @staticmethod
    def of(**options: Unpack[PlanOptions]) -> PlanRequest:
        """The request for keyword arguments that a user wrote."""
        for name in options:
            if name not in _DEFAULTS:
                known = ", ".join(_DEFAULTS)
                raise PlanError(f"unknown option {name}", expected=known, hint=did_you_mean(name, _DEFAULTS))
        return PlanRequest(**options)

    def channels(self) -> Degree:
        """The degree of a new plan."""
        return 1 if self.degree is None else self.degree

    def plan_text(self) -> str | None:
        """The given plan. From the output of `explain`, only the plan is used."""
        if self.plan is None:
            return None
        if isinstance(self.plan, str) and _is_plan(self.plan):
            text = self.plan
        else:
            text = _read(Path(self.plan), "plan", "a file with a plan in its text form or as JSON")
        if text.startswith("application "):
            text = "plan " + text.partition("\nplan ")[2].partition("\n\n")[0]
        return text

    def groups(self) -> str | Mapping[str, str]:
        """The value of `fuse`, or the content of the file that it names."""
        if isinstance(self.fuse, Mapping):
            return self.fuse
        named = isinstance(self.fuse, Path) or (self.fuse not in ("all", "none") and os.path.isfile(self.fuse))
        return _read(Path(self.fuse), "fuse", "a text file with a group per line") if named else str(self.fuse)


_DEFAULTS = {one.name: one.default for one in fields(PlanRequest)}
if _DEFAULTS.keys() != PlanOptions.__annotations__.keys():
    raise TypeError("PlanRequest and PlanOptions have different options")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _invalid(name: str, expected: str, found: object) -> PlanError:
    return PlanError(f"invalid {name}", expected=expected, found=shown(found))


def _is_plan(text: str) -> bool:
    """Whether this is the text of a plan and not the name of a file."""
    return "\n" in text or text.startswith(("plan ", "{")) or not text.strip()


def _read(file: Path, option: str, expected: str) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problem = "is not text" if isinstance(error, UnicodeDecodeError) else (error.strerror or str(error)).lower()
        raise UsageError(f"{option}: cannot read {file}: {problem}", expected=expected, found=str(file)) from error


@dataclass(frozen=True, slots=True)
class Held:
    """The content of a checkpoint to which a plan must conform.

    `states`: the operators that have a state in it. `routes`: the attributes that route tuples to these, where they are
    not the complete key; None: there is no state, and the plan is free. `tables`: the channel of each bucket."""

    states: frozenset[str] = frozenset()
    routes: Mapping[str, tuple[str, ...]] | None = None
    tables: Mapping[str, Table] = field(default_factory=dict)
