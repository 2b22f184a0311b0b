"""What is known of Python's own functions and types: which are pure, which change their object, which have effects."""

from __future__ import annotations

import base64
import binascii
import bisect
import cmath
import collections
import colorsys
import copy
import datetime as dt
import decimal
import fractions
import functools
import hashlib
import heapq
import html
import json
import logging
import math
import operator
import os
import random
import re
import secrets
import statistics
import string
import struct
import sys
import textwrap
import time
import unicodedata
import urllib.parse
import uuid
import zlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import ModuleType
from typing import Any

from thalweg.analysis.program.values import PLAIN, SCALARS, TREE
from thalweg.ir.facts import IO, RANDOMNESS, TIME

HASHER = type(hashlib.sha256())

# Functions of plain data that give plain data: by identity, with the type of the result. They run no code of the user's
# as long as their arguments have none.
_pure: dict[int, tuple[object, type]] = {}
# Functions with an effect: its kind, and whether a call can see what other calls did.
_effects: dict[int, tuple[object, str, str]] = {}


def _add(result: type, functions: Iterable[object]) -> None:
    _pure.update({id(f): (f, result) for f in functions})


def _public(module: ModuleType, *, without: Iterable[str] = ()) -> list[object]:
    """The functions of a module, without those that it only imports."""
    names = [n for n in vars(module) if not n.startswith("_") and n not in without]
    found = [f for f in (getattr(module, n) for n in names) if callable(f) and not isinstance(f, type)]
    return [f for f in found if getattr(f, "__module__", "") in (module.__name__, f"_{module.__name__}")]


_add(int, [len, ord, hash, id])
_add(bool, [callable, isinstance, issubclass, hasattr])
_add(str, [ascii, bin, chr, format, hex, oct])
_add(PLAIN, [abs, divmod, pow, round, bool, bytes, complex, float, int, range, slice])
_add(PLAIN, _public(math) + _public(cmath) + _public(unicodedata) + _public(html) + _public(binascii) + _public(base64))
_add(PLAIN, _public(zlib) + _public(colorsys) + [string.capwords, struct.pack, struct.calcsize])
_add(PLAIN, [*_public(statistics), os.path.join, os.path.basename, os.path.dirname, os.path.normpath])
_add(PLAIN, [decimal.Decimal, fractions.Fraction, uuid.UUID, uuid.uuid3, uuid.uuid5, json.dumps])
_add(PLAIN, [dt.datetime, dt.date, dt.time, dt.timedelta, dt.timezone, time.sleep, re.compile, re.escape])
_add(
    PLAIN, [re.match, re.fullmatch, re.search, re.sub, re.subn, bisect.bisect, bisect.bisect_left, bisect.bisect_right]
)
_add(TREE, [json.loads, struct.unpack, struct.unpack_from, re.findall, re.split, re.finditer, statistics.quantiles])
_add(TREE, [os.path.split, os.path.splitext, textwrap.wrap, statistics.multimode, copy.copy, copy.deepcopy])
_add(TREE, [*_public(urllib.parse, without=("clear_cache",)), math.frexp, math.modf])
_add(PLAIN, [textwrap.dedent, textwrap.fill, textwrap.shorten, textwrap.indent])
_CHANGING = ("setitem", "delitem", "methodcaller", "attrgetter", "itemgetter", "call")
_in_place = [n for n in vars(operator) if n.startswith("i") and n[1:] in vars(operator) and n not in ("is_", "index")]
_add(PLAIN, _public(operator, without=(*_CHANGING, *_in_place)))

_CLOCKS = [n for n in vars(time) if callable(getattr(time, n)) and not n.startswith("_")]
for _name in _CLOCKS:
    if _name not in ("sleep", "struct_time", "strptime", "mktime"):
        _effects[id(getattr(time, _name))] = getattr(time, _name), TIME, f"time.{_name}()"
for _f in (*_public(secrets), secrets.choice, secrets.randbits, uuid.uuid1, uuid.uuid4, os.urandom):
    _effects[id(_f)] = _f, RANDOMNESS, f"{_f.__module__}.{getattr(_f, '__name__', '')}()"
for _f in (logging.debug, logging.info, logging.warning, logging.error, logging.exception, logging.log):
    _effects[id(_f)] = _f, IO, f"logging.{_f.__name__}()"

CLOCK_METHODS = {(dt.datetime, "now"), (dt.datetime, "utcnow"), (dt.datetime, "today"), (dt.date, "today")}
SHARED_RANDOM = random._inst
LOGGING = frozenset(("debug", "info", "warning", "error", "critical", "exception", "log"))

# Modules whose functions reach outside the program.
OUTSIDE = frozenset[str]().union(
    ("os", "posix", "nt", "io", "_io", "socket", "_socket", "subprocess", "requests", "http", "urllib.request"),
    ("tempfile", "glob", "pathlib", "sqlite3", "ssl", "smtplib", "ftplib", "httpx", "aiohttp", "fcntl", "mmap"),
    ("select", "shutil"),
)
THREADS = frozenset(("threading", "_thread", "multiprocessing", "asyncio", "concurrent", "queue", "_queue", "sched"))


def pure_result(function: object) -> type | None:
    found = _pure.get(id(function))
    return None if found is None else found[1]


def effect_of(function: object) -> tuple[str, str] | None:
    found = _effects.get(id(function))
    return None if found is None else found[1:]


def module_of(function: Any) -> str:
    return getattr(function, "__module__", None) or getattr(getattr(function, "__self__", None), "__name__", "") or ""


def is_outside(function: object) -> bool:
    """Whether it is a function of a module that reaches outside the program."""
    module = module_of(function)
    return module in OUTSIDE or module.partition(".")[0] in OUTSIDE - {"urllib"}


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
HIGHER_ORDER = (map, filter, functools.reduce, min, max, sorted)

ITERATOR: type = type(iter([]))  # in the place of all iterators that the code makes


def methods_of(kind: type) -> frozenset[str]:
    """The names that objects of a built-in type have."""
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
    """Whether plain data may have a method of this name, and whether it may have data under it."""
    owners = (*SCALARS, tuple) if kind is PLAIN else (*CONTAINERS, *SCALARS)
    found = [callable(getattr(owner, name)) for owner in owners if hasattr(owner, name)]
    return True in found, False in found or not found


def is_built_in(kind: type) -> bool:
    """Whether all code of a type is Python's own and known here."""
    return kind in (PLAIN, TREE, ITERATOR) or kind in CONTAINERS or kind in SCALARS or kind in MUTATORS


TEXT_METHODS: dict[str, type] = dict.fromkeys(("find", "rfind", "index", "rindex", "count"), int) | {"encode": bytes}
LIST_METHODS = frozenset(("split", "rsplit", "splitlines", "partition", "rpartition", "findall", "groups", "as_tuple"))

STANDARD_STREAMS: Callable[[], tuple[object, ...]] = lambda: (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
HEAP_CHANGING = (heapq.heappush, heapq.heappop, heapq.heapify, heapq.heapreplace, heapq.heappushpop)
SORTED_CHANGING = (bisect.insort, bisect.insort_left, bisect.insort_right)
