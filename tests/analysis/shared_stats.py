"""A helper module: workers import it, so its functions and classes are not frozen, and operators share its objects."""

from __future__ import annotations

from typing import Any

import thalweg as tw


class Stats:
    total = 0
    limit = 3


class Special(Stats):
    pass


@tw.declare(state="stateless")
def counts(t: Any) -> Any:
    Stats.total += 1
    return {"k": t.k, "a": t.a}


TABLE = {"x": 1}


def reads(t: Any) -> Any:
    return {"symbol": t.symbol, "n": TABLE.get(t.symbol, 0)}


@tw.declare(state="stateless")
def writes(t: Any) -> Any:
    TABLE[t.symbol] = t.volume
    return {"symbol": t.symbol, "n": 1}
