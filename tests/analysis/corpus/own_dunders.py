"""Cases: hashes, truth and order with code of their own."""

# mypy: ignore-errors

from __future__ import annotations

import collections

from tests.analysis.corpus.base import ONE, case

SEEN: list[int] = []


class Noisy:
    def __hash__(self):
        SEEN.append(1)
        return 1

    def __bool__(self):
        SEEN.append(1)
        return True

    def __lt__(self, other):
        SEEN.append(1)
        return True


NOISY = Noisy()


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="user-defined special methods")
def hash_in_a_set(t):
    found = set()
    found.add(NOISY)
    return {"k": t.k, "a": len(found)}


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="user-defined special methods")
def hash_in_a_dict(t):
    return {"k": t.k, "a": len({key: n for n, key in enumerate((NOISY,))})}


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="user-defined special methods")
def hash_in_a_counter(t):
    return {"k": t.k, "a": len(collections.Counter([NOISY]))}


@case("map", "unknown", ONE, "k v", "k", "mutates reads_mutable", why="SEEN")
def truth_of_what_a_test_gives(t):
    return {"k": t.k, "a": len(list(filter(lambda v: NOISY, t.v)))}


@case("map", "unknown", ONE, "k v", "k", "unknown_call", why="compares objects")
def order_of_what_a_key_gives(t):
    return {"k": t.k, "a": sorted(t.v, key=lambda v: NOISY)[0]}
