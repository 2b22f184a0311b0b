"""Calls of Python's own functions."""

from __future__ import annotations

import ast
import copy
import logging
import operator
import re
from typing import Any

from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.handlers import HANDLERS
from thalweg.analysis.program.makers import Makers, among
from thalweg.analysis.program.tables import (
    CONTAINERS,
    HASHER,
    HEAP_CHANGING,
    SHARED_RANDOM,
    SORTED_CHANGING,
    THREADS,
    effect_of,
    is_outside,
    module_of,
    pure_result,
)
from thalweg.analysis.program.values import (
    BOOL,
    NOTHING,
    PLAIN,
    PLAINS,
    SCALARS,
    STR,
    TREE,
    Item,
    Known,
    Value,
    join,
    types_of,
)
from thalweg.ir.facts import HASH_ORDER, IO, RANDOMNESS, UNKNOWN_CALL

_REFUSED = (exec, eval, compile, __import__, globals, locals, breakpoint, delattr, vars, dir)


class Builtins(Makers):
    """Functions of Python's own."""

    def call_built_in(self, function: Any, args: Args, node: ast.AST) -> Value | None:
        """What a function of Python's own gives; None: it is none that is known here."""
        handler = HANDLERS.get(id(function))
        if handler is not None:
            return handler(self, args, node)
        if among(function, CONTAINERS):
            return self.make_container(function, args, node)
        if among(function, _REFUSED):
            return self.unknown(f"uses {function.__name__}()", node, *args.all())
        if among(function, (*HEAP_CHANGING, *SORTED_CHANGING)):
            return self.change_heap(function, args, node)
        if (found := effect_of(function)) is not None and module_of(function) == "logging":
            return self.logs(logging.root, function.__name__, args, node)
        if found is not None:
            self.effect(found[0], f"calls {found[1]}", node)
            return self.pure(PLAIN, found[1], args, node)
        if (result := pure_result(function)) is not None:
            return self._pure(function, result, args, node)
        return self._by_module(function, args, node)

    def _by_module(self, function: Any, args: Args, node: ast.AST) -> Value | None:
        name = f"{module_of(function)}.{getattr(function, '__qualname__', type(function).__name__)}"
        if getattr(function, "__self__", None) is SHARED_RANDOM:
            name = f"random.{function.__name__}()"
            self.effect(RANDOMNESS, f"calls {name}", node)
            self.effect(UNKNOWN_CALL, f"{name} draws from the generator that all calls share", node)
            return self._drawn(function.__name__, args, node)
        if function is open or is_outside(function):
            self.effect(IO, f"calls {name}", node)
            return self.unknown(f"{name} can see what other calls left outside the program", node, *args.all())
        if module_of(function).partition(".")[0] in THREADS:
            return self.unknown(f"{name} is for code that runs at the same time", node, *args.all())
        if module_of(function) == "_hashlib":
            self.pure(PLAIN, name, args, node)
            return self.made(HASHER, node, NOTHING)
        if module_of(function) == "itertools" or module_of(function) == "_functools":
            return self.iterate(function, args, node)
        return None

    def _copy(self, item: Item, node: ast.AST) -> Value:
        kinds = types_of(item) or (object,)
        if all(kind in SCALARS or kind is PLAIN for kind in kinds):
            return frozenset((item,))
        if isinstance(item, Known):
            self.place(item, node)
        if all(kind in CONTAINERS for kind in kinds):
            return self.copied(item, kinds[0], node)
        return self.unknown("copies something that cannot be read", node, frozenset((item,)))

    def _pure(self, function: Any, result: type, args: Args, node: ast.AST) -> Value:
        if among(function, (hash, id)):
            self.effect(HASH_ORDER, f"{function.__name__}() is another in each process", node)
        if among(function, (isinstance, issubclass, callable)):
            return BOOL  # a class with its own __instancecheck__ is not a thing of functions of tuples
        if function is copy.copy:
            return join(self._copy(item, node) for item in args.at(0))
        if function is operator.getitem:
            return self.subscript(args.at(0), args.at(1), node)
        if module_of(function) == "_operator" and self.plain_data(*args.all()):
            # The result may be an element of an argument, or a new container with its elements.
            held = join(self.contents(item) for value in args.all() for item in value)
            self.look_into(args.all(), node)
            return join((PLAINS, held, self.made(TREE, node, held, tag="operator")))
        if among(function, (re.sub, re.subn)) and not self.plain(args.at(1)):
            self.call_often(args.at(1), Args([PLAINS]), node)
            return STR
        return self.pure(result, getattr(function, "__name__", "it"), args, node)
