"""PlanRequest: the options of a plan. Every entry point builds it from the same keyword arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Unpack

from thalweg.errors import PlanError, UsageError, did_you_mean
from thalweg.ir.bucket_tables import Table
from thalweg.ir.plan import DEFAULT_FRAME_ROWS
from thalweg.ir.plan_options import OPEN, Degree, Fusion, PlanOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """`degree`: the channels of every parallel region, or by operator; "open": chosen when the plan is run.
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

    degree: Degree = 1
    fuse: Fusion = "all"
    buckets: int | None = None
    balance: bool = False
    rules: str = "thalweg"
    frame_rows: int = DEFAULT_FRAME_ROWS
    plan: str | Path | None = None

    def __post_init__(self) -> None:
        degrees = self.degree.values() if isinstance(self.degree, Mapping) else [self.degree]
        for degree in degrees:
            if degree != OPEN and (not _is_count(degree) or degree < 1):
                raise PlanError("a degree counts channels", expected="1 or more, or open", found=str(degree))
        for name in ("buckets", "frame_rows"):
            number = getattr(self, name)
            if number is not None and (not _is_count(number) or number < 1):
                raise PlanError(f"{name} must be a number", expected="1 or more", found=str(number))
        if self.plan is not None:
            self._refuse_what_the_plan_decides()

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

    @property
    def plan_text(self) -> str | None:
        """The given plan. From the output of `explain`, only the plan is used."""
        if self.plan is None:
            return None
        text = self.plan.read_text() if isinstance(self.plan, Path) else self.plan
        if text.startswith("application "):
            text = "plan " + text.partition("\nplan ")[2].partition("\n\n")[0]
        return text

    @property
    def groups(self) -> str | Mapping[str, str]:
        """The value of `fuse`, or the content of the file that it names."""
        if isinstance(self.fuse, Mapping):
            return self.fuse
        named = self.fuse not in ("all", "none") and os.path.isfile(self.fuse)
        return Path(self.fuse).read_text() if named else str(self.fuse)


_DEFAULTS = {one.name: one.default for one in fields(PlanRequest)}
if _DEFAULTS.keys() != PlanOptions.__annotations__.keys():
    raise TypeError("PlanRequest and PlanOptions have different options")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Held:
    """The content of a checkpoint to which a plan must conform.

    `states`: the operators that have a state in it. `routes`: the attributes that route tuples to these, where they are
    not the complete key; None: there is no state, and the plan is free. `tables`: the channel of each bucket."""

    states: frozenset[str] = frozenset()
    routes: Mapping[str, tuple[str, ...]] | None = None
    tables: Mapping[str, Table] = field(default_factory=dict)
