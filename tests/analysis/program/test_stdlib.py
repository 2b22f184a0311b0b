"""Handlers of Python's own functions and methods, each alone."""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import json
import logging
import operator
import random
import re
import time
from typing import Any

import pytest

from tests.analysis.program.machines import PLACE, ROW, effects, kinds, machine
from thalweg.analysis.program.abstract_values import INT, NONE, STR, UNKNOWN, Known, New, Root, Value, join, just
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.contents import length
from thalweg.analysis.program.memory import ELEMENTS
from thalweg.analysis.program.stdlib.container_methods import call_method
from thalweg.analysis.program.stdlib.function_table import FUNCTIONS
from thalweg.analysis.program.stdlib.library_calls import call_library

ITEMS = just(Known([1, "a"]))
SET = just(New((1, 1, ""), set))

FUNCTION_CASES: list[tuple[Any, list[Value], set[str], list[str]]] = [
    (len, [STR], {"some int"}, []),
    (print, [STR], {"some NoneType"}, ["io: prints"]),
    (str, [SET], {"some str"}, ["hash_order: converts a set to text"]),
    (hash, [STR], {"some int"}, ["hash_order: hash() differs between processes"]),
    (sorted, [ITEMS], {"new list"}, []),
    (max, [INT, STR], {"some int", "some str"}, []),
    (sum, [just(Known([1]))], {"some PLAIN"}, []),
    (any, [ITEMS], {"some bool"}, []),
    (next, [ITEMS, NONE], {"1", "'a'", "some NoneType"}, []),
    (map, [just(Known(str)), ITEMS], {"new list_iterator"}, []),
    (zip, [ITEMS, ITEMS], {"new list_iterator"}, []),
    (getattr, [ROW, just(Known("a"))], {"t.a"}, []),
    (getattr, [ROW, STR], {"Anything"}, ["unknown_call: uses getattr() with a name that is not constant"]),
    (hasattr, [ROW, just(Known("a"))], {"some bool"}, []),
    (type, [just(Known(1))], {"<class 'int'>"}, []),
    (isinstance, [UNKNOWN, UNKNOWN], {"some bool"}, []),
    (dict, [], {"new dict"}, []),
    (collections.Counter, [ITEMS], {"new Counter"}, []),
    (copy.copy, [INT], {"some int"}, []),
    (functools.reduce, [just(Known(operator.add)), just(Known([1]))], {"1", "some PLAIN", "new TREE"}, []),
    (operator.getitem, [ITEMS, just(Known(0))], {"1"}, []),
    (operator.add, [INT, INT], {"some PLAIN", "new TREE"}, []),
    (json.loads, [STR], {"new TREE", "some PLAIN"}, []),
    (re.sub, [STR, just(Known(len)), STR], {"some str"}, []),
    (time.time, [], {"some PLAIN"}, ["time: calls time.time()"]),
    (random.Random, [], {"new Random"}, ["randomness: creates a random number generator without a seed"]),
    (logging.info, [STR], {"some NoneType"}, ["io: writes a log message with info()"]),
    (exec, [STR], {"Anything"}, ["unknown_call: uses exec()"]),
]


@pytest.mark.parametrize(("function", "given", "expected", "noted"), FUNCTION_CASES)
def test_functions(function: Any, given: list[Value], expected: set[str], noted: list[str]) -> None:
    m = machine()
    assert kinds(FUNCTIONS[function](m, function, Args(given), PLACE)) == expected
    assert effects(m) == noted


BY_MODULE: list[tuple[Any, set[str], list[str]]] = [
    (open, {"Anything"}, ["io", "unknown_call"]),
    (random.random, {"some PLAIN"}, ["randomness", "unknown_call"]),
    (itertools.count, {"new list_iterator"}, []),
]


@pytest.mark.parametrize(("function", "expected", "noted"), BY_MODULE)
def test_functions_by_their_module(function: Any, expected: set[str], noted: list[str]) -> None:
    m = machine()
    found = call_library(m, function, Args(), PLACE)
    assert found is not None
    assert kinds(found) == expected
    assert [one.partition(":")[0] for one in effects(m)] == noted


def test_a_users_function_is_not_known() -> None:
    assert call_library(machine(), test_a_users_function_is_not_known, Args(), PLACE) is None


METHOD_CASES: list[tuple[type, str, list[Value], set[str], tuple[int, int | None], set[str]]] = [
    # type, method, arguments, result, length after it, contents after it; before it holds one `int`
    (list, "append", [STR], {"some NoneType"}, (2, 2), {"some int", "some str"}),
    (list, "extend", [just(Known(("a",)))], {"some NoneType"}, (2, 2), {"some int", "'a'"}),
    (list, "pop", [], {"some int"}, (0, 0), {"some int"}),
    (list, "clear", [], {"some NoneType"}, (0, 0), {"some int"}),
    (list, "sort", [], {"some NoneType"}, (1, 1), {"some int"}),
    (list, "index", [INT], {"some int"}, (1, 1), {"some int"}),
    (list, "copy", [], {"new list"}, (1, 1), {"some int"}),
    (dict, "get", [STR], {"some int", "some NoneType"}, (1, 1), {"some int"}),
    (dict, "setdefault", [STR, STR], {"some int", "some str"}, (0, None), {"some int", "some str"}),
    (dict, "items", [], {"new list_iterator"}, (1, 1), {"some int"}),
    (set, "add", [STR], {"some NoneType"}, (0, None), {"some int", "some str"}),
    (set, "union", [ITEMS], {"new set"}, (1, 1), {"some int"}),
    (collections.deque, "appendleft", [STR], {"some NoneType"}, (0, None), {"some int", "some str"}),
]


@pytest.mark.parametrize(("kind", "name", "given", "result", "after", "held"), METHOD_CASES)
def test_methods(
    kind: type, name: str, given: list[Value], result: set[str], after: tuple[int, int | None], held: set[str]
) -> None:
    m = machine()
    item = m.make(kind, PLACE, "receiver", (1, 1))
    m.put(item, ELEMENTS, INT)
    assert kinds(call_method(m, item, name, Args(given), PLACE)) == result
    assert length(m, just(item)) == after
    assert kinds(m.memory.contents(item)) == held
    assert effects(m) == []


def test_a_method_changes_what_is_global() -> None:
    m = machine()
    call_method(m, Known([], Root("the global", "SEEN")), "append", Args([INT]), PLACE)
    assert [one.partition(":")[0] for one in effects(m)] == ["reads_mutable", "mutates"]


def test_the_result_is_of_all_types_that_the_receiver_may_have() -> None:
    m = machine()
    found = join([call_method(m, item, "count", Args([STR]), PLACE) for item in (*STR, *ITEMS)])
    assert found == INT
