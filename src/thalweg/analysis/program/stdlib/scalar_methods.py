"""Methods of immutable types, of loggers and of the standard streams."""

from __future__ import annotations

import ast
import logging

from thalweg.analysis.program.abstract_values import (
    INT,
    NONE,
    PLAIN,
    PLAINS,
    SCALARS,
    STR,
    Item,
    Known,
    Value,
    just,
    of,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.callbacks import call_often
from thalweg.analysis.program.contents import check_keys, is_plain
from thalweg.analysis.program.known_functions import standard_streams
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.python_types import CLOCK_METHODS, LIST_METHODS, LOGGING, TEXT_METHODS
from thalweg.analysis.program.stdlib.logs import users_code
from thalweg.analysis.program.stdlib.plain_functions import call_plain, runs_code
from thalweg.ir.facts import IO, TIME

_LOGGERS = (logging.Logger, logging.RootLogger)


def known_method(m: Machine, receiver: Known, name: str, args: Args, node: ast.AST) -> Value | None:
    """Call a method of an existing object; None if it needs no special handling."""
    value = receiver.value
    if isinstance(value, type):
        return _class_method(m, value, name, args, node)
    if isinstance(value, logging.Logger) and type(value) in _LOGGERS and name in LOGGING:
        return write_log(m, value, name, args, node)
    if any(value is stream for stream in standard_streams()) and name in ("write", "flush", "writelines"):
        m.effect(IO, f"writes with {name}()", node)
        return NONE
    return None


def _class_method(m: Machine, cls: type, name: str, args: Args, node: ast.AST) -> Value | None:
    if (cls, name) in CLOCK_METHODS:
        m.effect(TIME, f"reads the clock: {cls.__name__}.{name}()", node)
        return PLAINS
    if cls is dict and name == "fromkeys":
        keys = m.elements(args.at(0), node)
        check_keys(m, keys, node)
        return m.made(dict, node, args.at(1) | NONE, tag=name, keys=keys)
    return call_plain(m, PLAIN, f"{cls.__name__}.{name}", args, node) if cls in SCALARS else None


def write_log(m: Machine, logger: logging.Logger, name: str, args: Args, node: ast.AST) -> Value:
    own = users_code(logger)
    if own is not None:
        m.unknown(f"logs with {own}, whose code is not analyzed", node, *args.all())
        return NONE
    m.effect(IO, f"writes a log message with {name}()", node)
    call_plain(m, PLAIN, name, args, node)
    return NONE


def scalar_method(m: Machine, receiver: Item, kind: type, name: str, args: Args, node: ast.AST) -> Value:
    """A method of an immutable type."""
    if kind is tuple and name in ("count", "index"):
        m.read_whole(just(receiver), *args.all())
        return INT if is_plain(m, just(receiver), *args.all()) else runs_code(m, name, args, node)
    if name == "join":
        parts = m.elements(args.at(0), node)
        return STR if is_plain(m, parts) else runs_code(m, name, args, node)
    if name == "sub" and not is_plain(m, args.at(0)):  # of a pattern, with a function
        call_often(m, args.at(0), Args([PLAINS]), node)
        return STR
    if name in LIST_METHODS:
        call_plain(m, PLAIN, name, args, node)
        return m.made(list, node, PLAINS if kind not in (str, bytes) else of(kind), tag=name)
    if kind is str and (name in TEXT_METHODS or name.startswith(("is", "starts", "ends"))):
        call_plain(m, PLAIN, name, args, node)
        return of(TEXT_METHODS.get(name, bool))
    found = call_plain(m, PLAIN, name, args, node)
    return STR if kind is str and found == PLAINS else found
