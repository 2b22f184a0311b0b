"""Profile: what was measured of a graph's input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loads:
    """The tuples of a sample, per bucket, at each operator whose state has a key."""

    buckets: int
    tuples: int  # that the sources gave
    at: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Profile:
    loads: Loads
