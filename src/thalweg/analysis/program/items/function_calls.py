"""Calls of functions that are written in Python: their code is followed at the call."""

from __future__ import annotations

import ast
import copy
import types
from functools import lru_cache

from thalweg.analysis.program.abstract_values import NOTHING, STR, Known, New, Root, Value, join, just
from thalweg.analysis.program.call_frames import NO_FRAME, Args, CallFrame, frames_around
from thalweg.analysis.program.callbacks import run_later, suspend
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.memory import ELEMENTS, KEYS
from thalweg.analysis.program.notes import Copied
from thalweg.analysis.program.python_types import ITERATOR
from thalweg.analysis.program.scopes import Function, body_of, is_generator, parameters, suspends
from thalweg.analysis.program.store import ANY_NUMBER, Count, meet
from thalweg.ir.declarations import declared_of_function
from thalweg.ir.facts import STATELESS
from thalweg.ir.secret import Secret
from thalweg.lang.source_place import function_node


def call_function(m: Machine, function: types.FunctionType, args: Args, node: ast.AST) -> Value:
    """Call an existing function, by its source. Its declaration applies wherever it is called."""
    declared = declared_of_function(function)
    if function.__module__ == Secret.__module__:
        return STR
    if declared is None or (declared.state != STATELESS and declared.effects is None):
        return _call_source(m, function, args, node)
    before = copy.copy(m.notes)
    m.notes = m.notes.fresh()
    try:
        return _call_source(m, function, args, node)
    finally:
        m.notes = before.with_more(m.notes, declared.effects)


def _call_source(m: Machine, function: types.FunctionType, args: Args, node: ast.AST) -> Value:
    code = function.__code__
    found = _source(code, code.co_filename)
    name = function.__qualname__.rpartition("<locals>.")[2]
    if found is None:
        return m.unknown(f"calls {name}, whose source is not available", node, *args.all())
    outer = CallFrame(NO_FRAME, name, code.co_filename, function.__globals__, None)
    outer.owner = _owner(function)
    outer.cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    defaults: dict[str, Value] = {}
    positional = [a.arg for a in (*found.args.posonlyargs, *found.args.args)]
    given = function.__defaults__ or ()
    for parameter, held in [
        *zip(positional[len(positional) - len(given) :], given, strict=True),
        *(function.__kwdefaults__ or {}).items(),
    ]:
        defaults[parameter] = just(Known(held, Root.of("the default argument", parameter, held)))
    return follow(m, found, args, node, outer, defaults, name)


@lru_cache(maxsize=2_000)
def _source(code: types.CodeType, file: str) -> Function | None:
    """The syntax tree of a function; None if it is not available, or does not match the code: a file may have changed.
    Code objects of two files can be equal."""
    found = function_node(code)
    if found is None:
        return None
    count = code.co_argcount + code.co_kwonlyargcount
    return found if parameters(found)[:count] == list(code.co_varnames[:count]) else None


def _owner(function: types.FunctionType) -> str | None:
    """The class that defines a function: names like `__total` are mangled with its name."""
    around = function.__qualname__.rpartition(".")[0].rpartition(".")[2]
    return around if around and around != "<locals>" else None


def follow(
    m: Machine, function: Function, args: Args, node: ast.AST, outer: CallFrame, defaults: dict[str, Value], name: str
) -> Value:
    """Follow the call of a function by its syntax tree; `outer`: the frame that defines it."""
    if suspends(function):
        return m.unknown(f"calls {name}, a coroutine", node, *args.all())
    if m.calls.is_too_deep(function, m.limits.depth):
        captured = m.memory.captured(frames_around(outer))
        return m.unknown(f"calls {name} recursively, or too deeply", node, *args.all(), *captured)
    frame = CallFrame(m.calls.path_of(node, function), name, outer.file, outer.module, outer)
    frame.enters(function)
    frame.owner = outer.owner
    frame.called_at = (m.frame, node)
    bound = _bound(m, function, args, defaults, frame)
    if bound is None:
        return m.unknown(f"calls {name} with arguments that do not match its signature", node, *args.all())
    m.calls.frames.append(frame)
    try:
        for parameter, value in bound.items():
            bind(m, frame, frame.key, parameter, value)
        return _start_generator(m, frame, function, node) if is_generator(function) else _run(m, frame, function)
    finally:
        m.calls.frames.pop()
        if m.store is not None:
            m.store.leave(frame.key)


def bind(m: Machine, frame: CallFrame, scope: object, name: str, value: Value) -> None:
    """Assign a local variable of a frame, or of a comprehension in it."""
    if name in frame.names.later:
        m.memory.bind((scope, name), value)
    elif m.store is not None:
        m.store.set((scope, name), value)
        m.touch()


def _run(m: Machine, frame: CallFrame, function: Function) -> Value:
    m.run(body_of(function))
    if m.store is not None:
        frame.returns.append((just(Known(None)), m.store))
    m.store = meet(store for _, store in frame.returns)
    return join([value for value, _ in frame.returns])


def _start_generator(m: Machine, frame: CallFrame, function: Function, node: ast.AST) -> Value:
    """Start a generator. Its code runs when values are taken from it: possibly never, possibly not to its end."""
    item = New((frame.key, id(node), "generator"), ITERATOR)
    frame.generator = item
    assert m.store is not None
    m.store.taken(item)
    length = run_later(m, lambda: _counted(m, frame, function, item))
    m.store.taken(item)
    m.store.make(item, length)
    return just(item)


def _counted(m: Machine, frame: CallFrame, function: Function, item: New) -> Count:
    """The number of values that a generator yields. An endless generator is left by an exception, anywhere."""
    _run(m, frame, function)
    return ANY_NUMBER if m.store is None else m.store.counts.get(item, (0, 0))


def yield_values(m: Machine, value: Value, copied: Copied | None, count: Count, node: ast.AST) -> None:
    """Yield one or more values from a generator."""
    item = m.frame.generator
    assert item is not None
    if not value and count != (0, 0):
        m.lose("yields a value that cannot be analyzed", node)
    m.put(item, ELEMENTS, value)
    m.memory.yields(item, copied)
    if m.store is not None:
        m.store.emit(item, count)
        m.touch()
        suspend(m)


def _bound(
    m: Machine, function: Function, args: Args, defaults: dict[str, Value], frame: CallFrame
) -> dict[str, Value] | None:
    """The parameters with their values; None if the arguments do not match."""
    declared = function.args
    names = [a.arg for a in (*declared.posonlyargs, *declared.args)]
    found: dict[str, Value] = dict(zip(names, args.positional, strict=False))
    extra = args.positional[len(names) :]
    every = {*names, *(a.arg for a in declared.kwonlyargs)}
    named = {k: v for k, v in args.named.items() if k in every}
    loose = {k: v for k, v in args.named.items() if k not in every}
    if (extra and declared.vararg is None) or (loose and declared.kwarg is None) or found.keys() & named.keys():
        return None
    found |= named
    for name in every - found.keys():
        rest = [v for v in (args.more if name in names else None, args.more_named) if v is not None]
        default = defaults.get(name, NOTHING)
        if not rest and not default and name not in defaults:
            return None
        found[name] = join((*rest, default))
    if declared.vararg is not None:
        fixed = args.more is None
        length = (len(extra), len(extra)) if fixed else ANY_NUMBER
        item = _packed(m, tuple, frame, "args", join((*extra, args.more or NOTHING)), length)
        found[declared.vararg.arg] = just(item)
        if fixed:
            m.set_fields(item, dict(enumerate(extra)))
    if declared.kwarg is not None:
        held = join((*loose.values(), args.more_named or NOTHING))
        item = _packed(m, dict, frame, "kwargs", held, ANY_NUMBER)
        found[declared.kwarg.arg] = just(item)
        m.put(item, KEYS, STR)
        if args.more_named is None:
            m.set_fields(item, loose)
    return found


def _packed(m: Machine, kind: type, frame: CallFrame, tag: str, held: Value, length: Count) -> New:
    item = New((frame.key, 0, tag), kind)
    assert m.store is not None
    m.store.make(item, length)
    m.put(item, ELEMENTS, held)
    return item
