"""Cases: monkeypatching."""

# mypy: ignore-errors

from __future__ import annotations

from tests.analysis.corpus.base import ONE, case

SEEN: list[int] = []


def _original(value):
    return value + 1


def _patched(value):
    SEEN.append(value)
    return value + 1


class Tool:
    step = staticmethod(_original)


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="SEEN")
def monkeypatched(t):
    return {"k": t.k, "a": Tool.step(t.a)}


Tool.step = staticmethod(_patched)


@case("map", "unknown", ONE, None, "k", "unknown_call", why="async def")
def coroutine_inside(t):
    async def later():
        return t.a

    later()
    return {"k": t.k, "a": t.a + 1}
