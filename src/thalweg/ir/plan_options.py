"""The options of a plan: the same keyword arguments at every entry point."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypedDict

OPEN: Literal["open"] = "open"  # the degree is chosen when the plan is run

Degree = int | Mapping[str, int] | Literal["open"]
Fusion = str | Path | Mapping[str, str]


class PlanOptions(TypedDict, total=False):
    """For meanings and defaults see `optimize.request.PlanRequest`, which is built from these options."""

    degree: Degree | None
    fuse: Fusion
    buckets: int | None
    balance: bool
    rules: str
    frame_rows: int
    plan: str | Path | None
