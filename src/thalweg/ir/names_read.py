"""The names of globals that functions read."""

from __future__ import annotations

import builtins
import dis
import functools
import types

MODULE_NAMES = ("__name__", "__file__", "__package__")  # of every module

_NAME_OPERATIONS = {dis.opmap[name] for name in ("LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME")}


def names_read(function: types.FunctionType) -> list[str]:
    """The globals that a function and the functions inside it read or assign, except built-in names."""
    around = function.__globals__
    return [n for n in _names_in(function.__code__) if n in around or not hasattr(builtins, n)]


def calls_globals(function: types.FunctionType) -> bool:
    return "globals" in _names_in(function.__code__) and "globals" not in function.__globals__


@functools.lru_cache(maxsize=10_000)
def _names_in(code: types.CodeType) -> tuple[str, ...]:
    found: list[str] = []
    if not _NAME_OPERATIONS.isdisjoint(code.co_code[::2]):
        found += [i.argval for i in dis.get_instructions(code) if i.opcode in _NAME_OPERATIONS]
    found += [name for part in code.co_consts if isinstance(part, types.CodeType) for name in _names_in(part)]
    return tuple(name for name in dict.fromkeys(found) if name not in MODULE_NAMES)
