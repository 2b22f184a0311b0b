"""Helpers of the corpus that live in another module, as users' do."""

from __future__ import annotations

from typing import Any

REGISTRY: dict[str, int] = {}
RATES = {"eur": 1.1, "usd": 1.0}


def double(value: int) -> int:
    return value * 2


def rate(word: str) -> float:
    return RATES.get(word, 1.0)


def register(word: str) -> int:
    REGISTRY[word] = REGISTRY.get(word, 0) + 1
    return REGISTRY[word]


def fill(target: list[int], value: int) -> list[int]:
    target.append(value)
    return target


def pieces(t: Any) -> Any:
    yield {"k": t.k, "a": t.a}
    yield {"k": t.k, "a": -t.a}


def apply_twice(function: Any, value: Any) -> Any:
    return function(function(value))
