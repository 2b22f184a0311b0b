"""Methods of immutable types, and functions of plain data."""

from __future__ import annotations

import ast
import logging

from thalweg.analysis.program.contents import Contents
from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.logs import users_code
from thalweg.analysis.program.tables import (
    CLOCK_METHODS,
    ITERATOR,
    LIST_METHODS,
    LOGGING,
    STANDARD_STREAMS,
    TEXT_METHODS,
    is_built_in,
)
from thalweg.analysis.program.values import (
    INT,
    NONE,
    PLAIN,
    PLAINS,
    SCALARS,
    STR,
    TREE,
    Given,
    Item,
    Known,
    New,
    Part,
    Value,
    of,
)
from thalweg.ir.facts import IO, TIME

_LOGGERS = (logging.Logger, logging.RootLogger)


class Scalars(Contents):
    """What runs no code of the user's as long as its arguments have none."""

    def _known_method(self, receiver: Known, name: str, args: Args, node: ast.AST) -> Value | None:
        value = receiver.value
        if isinstance(value, type):
            if (value, name) in CLOCK_METHODS:
                self.effect(TIME, f"looks at the clock: {value.__name__}.{name}()", node)
                return PLAINS
            if value is dict and name == "fromkeys":
                keys = self.elements(args.at(0), node)
                self.check_keys(keys, node)
                return self.made(dict, node, args.at(1) | NONE, tag=name, keys=keys)
            if value in SCALARS or value in (str, bytes):
                return self.pure(PLAIN, f"{value.__name__}.{name}", args, node)
            return None
        if isinstance(value, logging.Logger) and type(value) in _LOGGERS and name in LOGGING:
            return self.logs(value, name, args, node)
        if any(value is stream for stream in STANDARD_STREAMS()) and name in ("write", "flush", "writelines"):
            self.effect(IO, f"writes with {name}()", node)
            return NONE
        return None

    def logs(self, logger: logging.Logger, name: str, args: Args, node: ast.AST) -> Value:
        own = users_code(logger)
        if own is not None:
            self.unknown(f"logs with {own}, whose code is not followed", node, *args.all())
            return NONE
        self.effect(IO, f"writes a log with {name}()", node)
        self.pure(PLAIN, name, args, node)
        return NONE

    def pure(self, result: type, name: str, args: Args, node: ast.AST) -> Value:
        """A function of plain data."""
        classes = [
            i.value for v in args.named.values() for i in v if isinstance(i, Known) and isinstance(i.value, type)
        ]
        if not all(map(is_built_in, classes)):  # `cls=…`: it makes objects of it
            return self.unknown(f"{name} runs code of a class", node, *args.all())
        if not (self.plain_data(*args.all()) if result is TREE else self.plain(*args.all())):
            return self.unknown(f"{name} runs code of its arguments that cannot be read", node, *args.all())
        self.look_into(args.all(), node)
        if result is TREE:
            return self.tree(node, name)
        return frozenset(PLAINS) if result is PLAIN else of(result)

    def look_into(self, values: list[Value], node: ast.AST) -> None:
        """These are read as a whole."""
        for item in self.reach(values):
            if isinstance(item, Known):
                self.place(item, node)
            if isinstance(item, New | Part) and item.type is ITERATOR:
                self.elements(frozenset((item,)), node)
            if (port := getattr(item, "port", None)) is not None and not isinstance(item, Given):
                self.notes.read(port, None)

    def _scalar_method(self, receiver: Item, kind: type, name: str, args: Args, node: ast.AST) -> Value:
        if kind is tuple and name in ("count", "index"):
            self.note_rows(frozenset((receiver,)), *args.all())
            return INT if self.plain(frozenset((receiver,)), *args.all()) else self._operators(name, args, node)
        if name == "join":
            parts = self.elements(args.at(0), node)
            return STR if self.plain(parts) else self._operators(name, args, node)
        if name == "sub" and not self.plain(args.at(0)):  # of a pattern, with a function
            self.call_often(args.at(0), Args([PLAINS]), node)
            return STR
        if name in LIST_METHODS:
            self.pure(PLAIN, name, args, node)
            return self.made(list, node, PLAINS if kind not in (str, bytes) else of(kind), tag=name)
        if kind is str and (name in TEXT_METHODS or name.startswith(("is", "starts", "ends"))):
            self.pure(PLAIN, name, args, node)
            return of(TEXT_METHODS.get(name, bool))
        found = self.pure(PLAIN, name, args, node)
        return STR if kind is str and found == PLAINS else found

    def _operators(self, name: str, args: Args, node: ast.AST) -> Value:
        return self.unknown(f"{name} runs code of its arguments that cannot be read", node, *args.all())
