"""The built-in types of Python: which methods they have, and which of these change their object."""

from __future__ import annotations

import collections
import datetime as dt
import hashlib
import random
from functools import lru_cache
from typing import Any

from thalweg.analysis.program.abstract_values import PLAIN, SCALARS, TREE

HASHER = type(hashlib.sha256())

# Methods of mutable types that change their object.
_SEQUENCE = "append extend insert pop remove clear reverse __setitem__ __delitem__ __iadd__ __imul__"
_MAPPING = "update setdefault pop popitem clear __setitem__ __delitem__ __ior__"
_SET = (
    "add discard remove pop clear update difference_update intersection_update symmetric_difference_update "
    "__ior__ __iand__ __isub__ __ixor__"
)
MUTATORS: dict[type, frozenset[str]] = {
    list: frozenset(f"{_SEQUENCE} sort".split()),
    bytearray: frozenset(_SEQUENCE.split()),
    collections.deque: frozenset(f"{_SEQUENCE} appendleft extendleft popleft rotate".split()),
    dict: frozenset(_MAPPING.split()),
    collections.OrderedDict: frozenset(f"{_MAPPING} move_to_end".split()),
    collections.defaultdict: frozenset((*_MAPPING.split(), "__missing__", "__getitem__")),
    collections.Counter: frozenset(f"{_MAPPING} subtract __iadd__ __isub__".split()),
    set: frozenset(_SET.split()),
    HASHER: frozenset(("update",)),
    random.Random: frozenset(n for n in dir(random.Random) if not n.startswith("_")),
}
MUTATORS[TREE] = MUTATORS[list] | MUTATORS[dict] | MUTATORS[set]
MAPPINGS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
SETS = (set, frozenset)
CONTAINERS = (*MAPPINGS, *SETS, list, tuple, collections.deque, bytearray)

ITERATOR: type = type(iter([]))  # represents all iterators that the code creates
_BUILT_IN = frozenset((PLAIN, TREE, ITERATOR, *CONTAINERS, *SCALARS, *MUTATORS))


def methods_of(kind: type) -> frozenset[str]:
    """The attribute names of objects of a built-in type."""
    return _methods_of(kind)


@lru_cache(maxsize=1_000)
def _methods_of(kind: Any) -> frozenset[str]:
    if kind is TREE:
        return frozenset(name for t in (*CONTAINERS, *SCALARS) for name in dir(t))
    if kind is PLAIN:
        return frozenset(name for t in (*SCALARS, tuple) for name in dir(t))
    return frozenset(dir(kind))


@lru_cache(maxsize=1_000)
def plain_attribute(kind: type, name: str) -> tuple[bool, bool]:
    """Whether plain data may have a method of this name, and whether it may have a data attribute of this name."""
    owners = (*SCALARS, tuple) if kind is PLAIN else (*CONTAINERS, *SCALARS)
    found = [callable(getattr(owner, name)) for owner in owners if hasattr(owner, name)]
    return True in found, False in found or not found


def is_built_in(kind: type) -> bool:
    """Whether all code of a type is part of Python and known here."""
    return kind in _BUILT_IN


TEXT_METHODS: dict[str, type] = dict.fromkeys(("find", "rfind", "index", "rindex", "count"), int) | {"encode": bytes}
LIST_METHODS = frozenset(("split", "rsplit", "splitlines", "partition", "rpartition", "findall", "groups", "as_tuple"))

# Class methods that read the clock, and methods of loggers that write.
CLOCK_METHODS = {(dt.datetime, "now"), (dt.datetime, "utcnow"), (dt.datetime, "today"), (dt.date, "today")}
LOGGING = frozenset(("debug", "info", "warning", "error", "critical", "exception", "log"))
