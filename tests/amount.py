"""How much is tested at random, for every test that draws cases. The Makefile's targets differ in these numbers."""

from __future__ import annotations

import os

CASES = int(os.environ.get("THALWEG_CASES", "1000"))  # of the plan-invariance test; the others take their share of it
SPARK_CASES = int(os.environ.get("THALWEG_SPARK_CASES", "40"))
SPARK_KILLED = int(os.environ.get("THALWEG_SPARK_KILLED", "8"))
KILLS = int(os.environ.get("THALWEG_KILLS", "4"))
# The same cases at every run, so that a change is judged by what it changed; `make test-long` looks for new ones.
EXPLORE = "THALWEG_EXPLORE" in os.environ


def share(part: int) -> int:
    """One case for every `part` of the plan-invariance test's."""
    return max(4, CASES // part)
