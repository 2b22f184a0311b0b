"""The options by which users ask for a plan: the same keyword arguments at every entry point."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypedDict

OPEN: Literal["open"] = "open"  # a degree that is chosen when the plan is run

Degree = int | Mapping[str, int] | Literal["open"]
Fusion = str | Path | Mapping[str, str]


class PlanOptions(TypedDict, total=False):
    """What each means and its default: `optimize.request.PlanRequest`, which is made of them."""

    degree: Degree
    fuse: Fusion
    buckets: int | None
    balance: bool
    rules: str
    frame_rows: int
    plan: str | Path | None
