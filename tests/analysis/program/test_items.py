"""Handlers of items: calls, attributes, iteration and subscripts, each alone; and memory."""

from __future__ import annotations

import collections
import types
from typing import Any

import pytest

from tests.analysis.program.machines import PLACE, ROW, In, effects, kinds, machine
from thalweg.analysis.program.abstract_values import (
    INT,
    STATE,
    STR,
    SUBMIT,
    Anything,
    Bound,
    InputTuple,
    Item,
    Known,
    Method,
    New,
    Part,
    Root,
    Value,
    ValueOf,
    just,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.callbacks import call_often, run_later
from thalweg.analysis.program.contents import is_plain, is_plain_data
from thalweg.analysis.program.items import attributes, calls, iteration, known_attributes, known_calls, subscripts
from thalweg.analysis.program.items.names import assign_name, read_name
from thalweg.analysis.program.machine import ATTRIBUTES, CALLS, ITERATION, SUBSCRIPTS
from thalweg.analysis.program.memory import ELEMENTS, Memory
from thalweg.analysis.program.truth import truth

GLOBAL = Root("the global", "TABLE")
LIST = New((1, 1, ""), list)


class Counter:
    shared: list[int] = []
    limit = 3

    def __init__(self) -> None:
        self.n = 0

    @property
    def double(self) -> int:
        return self.n * 2

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Any:
        yield self.n

    def __getitem__(self, index: int) -> str:
        return "x"


class Hidden:
    def __getattr__(self, name: str) -> str:
        return name


READS: list[tuple[Item, str, set[str], list[str]]] = [
    (InputTuple(In.tuple_type, 0), "a", {"t.a"}, []),
    (ValueOf(str), "upper", {"Method"}, []),
    (LIST, "append", {"Method"}, []),
    (Known(Counter), "limit", {"3"}, []),
    (Known(Counter(), GLOBAL), "n", {"0"}, ["reads_mutable: reads the global TABLE"]),
    (Known(Hidden(), GLOBAL), "n", {"Anything"}, ["unknown_call: uses Hidden, which defines its own attribute lookup"]),
    (Known(collections), "deque", {repr(collections.deque)}, []),
    (Known(len), "__name__", {"some str"}, []),
    (Bound(len, LIST), "__self__", {"Anything"}, ["unknown_call: reads .__self__ of a function"]),
    (Anything(), "n", {"Anything"}, ["unknown_call: reads .n of a value that cannot be analyzed"]),
]


@pytest.mark.parametrize(("item", "name", "expected", "noted"), READS)
def test_attributes(item: Item, name: str, expected: set[str], noted: list[str]) -> None:
    m = machine()
    assert kinds(ATTRIBUTES[type(item)](m, item, name, PLACE)) == expected
    assert effects(m) == noted


def test_an_attribute_that_a_number_lacks_is_an_exception() -> None:
    m = machine()
    assert m.attribute(just(Known(1)), "nothing", PLACE) == frozenset()
    assert m.store is None


def test_a_property_is_followed() -> None:
    m = machine()
    assert kinds(known_attributes.of_known(m, Known(Counter(), STATE), "double", PLACE)) == {"some int"}


def test_setting_an_attribute_of_a_global_mutates_it() -> None:
    m = machine()
    attributes.set_attribute(m, just(Known(Counter(), GLOBAL)), "n", INT, PLACE, "TABLE.n")
    assert effects(m) == ["mutates: writes TABLE.n"]


ITERATED: list[tuple[Item, set[str], list[str]]] = [
    (ValueOf(str), {"some str"}, []),
    (ValueOf(bytes), {"some int"}, []),
    (Known([1, "a"]), {"1", "'a'"}, []),
    (Known({"k": 1}), {"'k'"}, []),
    (Known(3), set(), []),
    (Known(Counter(), STATE), {"0"}, []),
    (Known(iter([1]), GLOBAL), {"some PLAIN", "Anything"}, ["reads_mutable: reads the global TABLE"]),
    (Anything(), {"Anything"}, ["unknown_call: iterates over a value that cannot be analyzed"]),
]


@pytest.mark.parametrize(("item", "expected", "noted"), ITERATED)
def test_iteration(item: Item, expected: set[str], noted: list[str]) -> None:
    m = machine()
    assert kinds(ITERATION[type(item)](m, item, PLACE)) == expected
    assert [one for one in effects(m) if not one.startswith("mutates")] == noted


def test_iterating_over_a_global_iterator_changes_it() -> None:
    m = machine()
    iteration.over_known(m, Known(iter([1]), GLOBAL), PLACE)
    assert "mutates: takes from the global TABLE" in effects(m)


TAKEN: list[tuple[Item, Value, set[str]]] = [
    (Known([1, "a"]), just(Known(1)), {"'a'"}),
    (Known({"k": 1}), just(Known("k")), {"1"}),
    (Known([1, "a"]), INT, {"1", "'a'"}),
    (Known("text"), INT, {"some str"}),
    (Known(Counter(), STATE), INT, {"'x'"}),
    (ValueOf(bytes), INT, {"some int"}),
    (Part(GLOBAL, collections.defaultdict), INT, {"Part", "some PLAIN"}),
]


@pytest.mark.parametrize(("item", "index", "expected"), TAKEN)
def test_subscripts(item: Item, index: Value, expected: set[str]) -> None:
    assert kinds(SUBSCRIPTS[type(item)](machine(), item, index, PLACE)) >= expected


def test_setting_an_element_of_a_tuples_list_is_not_a_change() -> None:
    m = machine()
    subscripts.set_subscript(m, m.attribute(ROW, "v", PLACE), INT, INT, PLACE, "t.v[0]")
    assert m.memory.objects == {}


CALLED: list[tuple[Item, list[Value], set[str], list[str]]] = [
    (Known(len), [STR], {"some int"}, []),
    (Known(str.upper), [STR], {"some str"}, []),
    (Known(Counter), [], {"new Counter"}, []),
    (Method(ValueOf(str), "split"), [], {"new list"}, []),
    (Method(LIST, "append"), [INT], {"some NoneType"}, []),
    (Bound(Counter.__len__, Known(Counter(), STATE)), [], {"0"}, []),
    (Known(eval), [STR], {"Anything"}, ["unknown_call: uses eval()"]),
    (Anything(), [], {"Anything"}, ["unknown_call: calls something, which cannot be analyzed"]),
    (ValueOf(int), [], set(), []),
]


@pytest.mark.parametrize(("item", "given", "expected", "noted"), CALLED)
def test_calls(item: Item, given: list[Value], expected: set[str], noted: list[str]) -> None:
    m = machine()
    assert kinds(CALLS[type(item)](m, item, Args(given), PLACE, True)) == expected
    assert effects(m) == noted


def test_submit_counts() -> None:
    m = machine()
    calls.call_submit(m, SUBMIT, Args([ROW]), PLACE, True)
    assert m.store is not None
    assert m.store.counts == {0: (1, 1)}
    assert m.notes.emitted[0]["a"] == (0, "a")


def test_submitting_for_another_operator_is_unknown() -> None:
    m = machine()
    known_calls.submit(m, Known(Counter(), GLOBAL), Args([ROW]), PLACE)
    assert effects(m) == ["unknown_call: submits for another operator"]


# Names.


def test_names_are_local_then_captured_then_global() -> None:
    cell = types.CellType("captured")
    m = machine(module={"a": "global", "b": "global", "c": "global"}, a=INT)
    m.frame.cells = {"a": cell, "b": cell}
    assert [kinds(read_name(m, name, PLACE)) for name in "abc"] == [{"some int"}, {"'captured'"}, {"'global'"}]


def test_assigning_a_global_is_hidden_state() -> None:
    m = machine(module={"n": 1})
    m.frame.names = m.frame.names._replace(globals=frozenset("n"))
    assign_name(m, "n", STR, PLACE)
    assert effects(m) == ["mutates: writes the global n"]
    assert kinds(read_name(m, "n", PLACE)) == {"1", "some str"}


# Truth, plain data, callbacks, memory.


def test_truth_runs_len() -> None:
    m = machine()
    assert kinds(truth(m, just(Known("")), PLACE)) == {"False"}
    assert kinds(truth(m, just(Known(Counter(), STATE)), PLACE)) == {"some bool"}
    assert m.steps > 2


@pytest.mark.parametrize(
    ("item", "plain", "data"),
    [
        (ValueOf(int), True, True),
        (Known([1]), True, True),
        (Known(Counter()), False, False),
        (Known(object()), False, False),
    ],
)
def test_plain(item: Item, plain: bool, data: bool) -> None:
    assert (is_plain(machine(), just(item)), is_plain_data(machine(), just(item))) == (plain, data)


def test_a_callback_may_run_any_number_of_times() -> None:
    m = machine()
    assert m.store is not None
    m.store.make(LIST, (0, 0))
    call_often(m, just(Method(LIST, "append")), Args([INT]), PLACE)
    assert m.store.length(LIST) == (0, None)


def test_code_that_runs_later_may_not_run() -> None:
    m = machine()
    assert m.store is not None
    m.store.make(LIST, (0, 0))
    run_later(m, lambda: m.call(just(Method(LIST, "append")), Args([INT]), PLACE))
    assert m.store.length(LIST)[0] == 0
    assert LIST in m.memory.altered


def test_memory_only_grows() -> None:
    memory = Memory()
    memory.put(LIST, ELEMENTS, INT)
    assert memory.grew
    memory.grew = False
    memory.put(LIST, ELEMENTS, INT)
    assert not memory.grew
    memory.put(Part(GLOBAL, list, LIST), ELEMENTS, STR)
    assert kinds(memory.get(LIST, ELEMENTS)) == {"some int", "some str"}


def test_memory_reaches_what_is_inside() -> None:
    memory = Memory()
    inner = New((1, 2, ""), list)
    memory.put(LIST, ELEMENTS, just(inner))
    memory.put(inner, ELEMENTS, INT)
    assert memory.reach([just(Method(LIST, "append"))]) == {Method(LIST, "append"), LIST, inner, ValueOf(int)}
