"""The known functions of Python: which are pure, and which have effects."""

from __future__ import annotations

import base64
import binascii
import bisect
import cmath
import colorsys
import copy
import datetime as dt
import decimal
import fractions
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
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from thalweg.analysis.program.abstract_values import PLAIN, TREE
from thalweg.ir.facts import IO, RANDOMNESS, TIME

# Functions of plain data that return plain data, with the type of the result. They run no user code unless
# their arguments contain some. By identity: functions need not be hashable.
_pure: dict[int, tuple[Any, type]] = {}
# Functions with an effect: its kind, and the displayed name of the function.
_effects: dict[int, tuple[Any, str, str]] = {}


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
_OTHERS = ("getitem", "setitem", "delitem", "methodcaller", "attrgetter", "itemgetter", "call")  # not of plain data
_in_place = [n for n in vars(operator) if n.startswith("i") and n[1:] in vars(operator) and n not in ("is_", "index")]
_add(PLAIN, _public(operator, without=(*_OTHERS, *_in_place)))

_CLOCKS = [n for n in vars(time) if callable(getattr(time, n)) and not n.startswith("_")]
for _name in _CLOCKS:
    if _name not in ("sleep", "struct_time", "strptime", "mktime"):
        _effects[id(getattr(time, _name))] = getattr(time, _name), TIME, f"time.{_name}()"
for _f in (*_public(secrets), secrets.choice, secrets.randbits, uuid.uuid1, uuid.uuid4, os.urandom):
    _effects[id(_f)] = _f, RANDOMNESS, f"{_f.__module__}.{getattr(_f, '__name__', '')}()"
for _f in (logging.debug, logging.info, logging.warning, logging.error, logging.exception, logging.log):
    _effects[id(_f)] = _f, IO, f"logging.{_f.__name__}()"

SHARED_RANDOM = random._inst

# Modules whose functions access resources outside the program.
OUTSIDE = frozenset[str]().union(
    ("os", "posix", "nt", "io", "_io", "socket", "_socket", "subprocess", "requests", "http", "urllib.request"),
    ("tempfile", "glob", "pathlib", "sqlite3", "ssl", "smtplib", "ftplib", "httpx", "aiohttp", "fcntl", "mmap"),
    ("select", "shutil"),
)
THREADS = frozenset(("threading", "_thread", "multiprocessing", "asyncio", "concurrent", "queue", "_queue", "sched"))


PURE = [function for function, _ in _pure.values()]
EFFECTFUL = [function for function, _, _ in _effects.values()]


def is_pure(function: object) -> bool:
    return id(function) in _pure


def pure_result(function: object) -> type:
    """The result type of a pure function; it may be PLAIN or TREE."""
    return _pure[id(function)][1]


def effect_of(function: object) -> tuple[str, str]:
    """The kind of a function's effect, and the displayed name of the function."""
    return _effects[id(function)][1:]


def module_of(function: Any) -> str:
    return getattr(function, "__module__", None) or getattr(getattr(function, "__self__", None), "__name__", "") or ""


def is_outside(module: str) -> bool:
    """Whether functions of a module access resources outside the program."""
    return module in OUTSIDE or module.partition(".")[0] in OUTSIDE


def standard_streams() -> tuple[object, ...]:
    return sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__


HEAP_CHANGING = (heapq.heappush, heapq.heappop, heapq.heapify, heapq.heapreplace, heapq.heappushpop)
SORTED_CHANGING = (bisect.insort_left, bisect.insort_right)
