"""Operators declare what they are: what one leaves out fails when it is defined, with its name."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

import thalweg as tw
from tests.properties.coverage import MUST_BE_SEEN
from thalweg import testing
from thalweg.analysis.derive_facts import facts_of
from thalweg.errors import InternalError
from thalweg.ir import operators
from thalweg.ir.completeness import complete, missing_pieces
from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.logic import Logic
from thalweg.ir.operator_model import AT_MOST_ONE, Model, same
from thalweg.ir.operators import OPERATORS, Filter, Join, Map, Operator, Process, Sink
from thalweg.ir.operators.base import Stateless
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import TUPLE, UserCode
from thalweg.verify.reference_definitions import DEFINITIONS


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Operators that tests define are none of Thalweg's."""
    known = dict(OPERATORS)
    yield
    OPERATORS.clear()
    OPERATORS.update(known)


def test_every_kind_is_known() -> None:
    exported = [getattr(operators, name) for name in operators.__all__]
    kinds = {c for c in exported if isinstance(c, type) and issubclass(c, Operator)}
    assert kinds - set(OPERATORS.values()) == {Operator, operators.Calling, operators.Entry}  # families of kinds
    assert set(OPERATORS.values()) <= kinds


def test_the_decision_lists_what_operators_declare() -> None:
    fields = {f.name for f in dataclasses.fields(Operator)} | {"is_family"}
    derived = {"port_keys", "dead_port", "output", "sub_positions"}  # which no kind defines
    declared = {n for n in (*vars(Operator), *Operator.__annotations__) if not n.startswith("_")}
    assert listed_declarations() == declared - fields - derived


def listed_declarations() -> set[str]:
    page = Path(__file__).parents[2] / "docs" / "decisions" / "0038-operators-declare-what-they-are.md"
    rows = [line.split("|") for line in page.read_text().splitlines() if line.startswith("| ")][1:]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row[2])}


def test_random_cases_have_every_kind() -> None:
    words = {f"operator {name.lower()}" for name, kind in OPERATORS.items() if kind is not Process}
    assert words <= set(MUST_BE_SEEN)


def test_an_operator_that_leaves_something_out() -> None:
    missing = "code, counts_emissions, mark_output, model, needed, users_code"
    with pytest.raises(InternalError, match=f"Upper does not define {missing}, as every Operator must"):

        @dataclass(frozen=True, slots=True, kw_only=True)
        class Upper(Stateless):
            pass

    assert "Upper" not in {name.rpartition(".")[2] for name in OPERATORS}


def test_an_operator_of_a_family_that_leaves_something_out() -> None:
    with pytest.raises(InternalError, match="Checked does not define counts_emissions, mark_output, model, as"):

        @dataclass(frozen=True, slots=True, kw_only=True)
        class Checked(operators.per_tuple.Judging):
            use: ClassVar[str] = TUPLE


def declarations(kind: type[Operator]) -> set[str]:
    """What a class must define itself, because none of its families does."""
    return set(missing_pieces(type("Base", kind.__bases__, {"is_family": True})))


PARTS = [(kind, name) for kind in OPERATORS.values() for name in sorted(declarations(kind))]


@pytest.mark.parametrize(("kind", "name"), PARTS, ids=[f"{kind.__name__}.{name}" for kind, name in PARTS])
def test_no_operator_may_leave_a_declaration_out(kind: type[Operator], name: str) -> None:
    whole = {key: value for key, value in vars(kind).items() if key in declarations(kind)}
    type("Whole", kind.__bases__, whole)
    del whole[name]
    with pytest.raises(InternalError, match=rf"Part does not define {name}, as every Operator must$"):
        type("Part", kind.__bases__, whole)


def test_every_declaration_without_a_safe_default_is_required() -> None:
    assert declarations(Filter) == {"counts_emissions", "mark_output", "use", "model"}
    assert declarations(Join) == declarations(Process) == set(missing_pieces(Operator))
    safe = {"kind", "state_text", "facts_cover_end"}
    assert set(missing_pieces(Operator)) == listed_declarations() - safe


def test_a_table_that_leaves_an_operator_out() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Upper(_Complete):
        counts_emissions: ClassVar[bool] = False

    table = {Map: 1, Upper: 2}
    assert complete(table, [Map, Upper, Sink], "kernels", but=(Sink,)) is table
    with pytest.raises(InternalError, match=r"kernels: no entry for Filter, Sink$"):
        complete(table, [Map, Filter, Upper, Sink], "kernels")
    with pytest.raises(InternalError, match=r"kernels: no entry for .*<locals>\.Upper$"):
        complete({kind: 1 for kind in OPERATORS.values() if kind is not Upper}, OPERATORS.values(), "kernels")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Complete(Stateless):
    """All that is abstract, defined."""

    is_family: ClassVar[bool] = True
    mark_output = None
    users_code = None

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        return None

    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        return names

    def code(self, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()


def test_a_derived_operator_that_leaves_something_out() -> None:
    with pytest.raises(InternalError, match=f"Silent does not define {', '.join(LOGIC_PARTS)}, as every LibraryLogic"):

        class Silent(LibraryLogic):
            def process(self, t: Any, port: int) -> None:
                pass


LOGIC_PARTS = missing_pieces(LibraryLogic)


@pytest.mark.parametrize("name", LOGIC_PARTS)
def test_no_derived_operator_may_leave_a_declaration_out(name: str) -> None:
    """A wrong default of `time_lengths` or `has_late` would change results or reports, and not fail."""
    parts = {key: value for key, value in vars(EveryNth).items() if key in (*LOGIC_PARTS, "process")}
    type("Whole", (LibraryLogic,), parts)
    del parts[name]
    with pytest.raises(InternalError, match=f"Part does not define {name}, as every LibraryLogic must"):
        type("Part", (LibraryLogic,), parts)
    optional = {name for name in vars(LibraryLogic) if not name.startswith("_")} - set(LOGIC_PARTS)
    assert optional == {"due", "emits_at_marks"}  # without them, a key is called at every mark and may emit tuples


class EveryNth(LibraryLogic):
    """Of each key, every n-th tuple. All that Thalweg needs to know of a derived operator is in its class."""

    config: int
    makes_marks = has_late = is_empty = False
    users_code = None
    time_lengths = inner_types = ()

    def __init__(self) -> None:
        self.count = 0

    def settings(self) -> str:
        return f"every {self.config}"

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        read = frozenset(operator.key or ())
        return Model("every n-th tuple is forwarded", (AT_MOST_ONE,), ((same(*inputs * 2),),), (read,), can_fail=False)

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()

    def process(self, t: Any, port: int) -> None:
        self.count += 1
        if self.count % self.config == 0:
            self.submit(t)


class EveryNthReference(Logic):
    """The definition of `EveryNth`, by the list of all tuples of a key."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.tuples: list[Any] = []

    def process(self, t: Any, port: int) -> None:
        self.tuples.append(t)
        if t in self.tuples[self.every - 1 :: self.every]:
            self.submit(t)


class Reading(tw.Tuple):
    k: str
    i: int


def test_a_derived_operator_is_one_class_and_its_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cast(Any, DEFINITIONS), EveryNth, lambda logic: EveryNthReference(logic.config))
    app = tw.App("derived")
    readings = app.source(tw.files("in"), Reading, name="readings")
    logic = EveryNth()
    logic.config = 2
    (every,) = readings._site("every", "every").process(
        "every", logic, [readings], by=[("k",)], outputs=[readings.tuple_type]
    )
    every.sink(tw.collect(), name="out")
    facts = facts_of(app.graph())["every"]
    assert (str(facts.state), str(facts.selectivity[0])) == ("partitioned by k", "0..1")
    assert (facts.reads, facts.forwards) == ((frozenset("k"),), (({"k": "k", "i": "i"},),))
    assert app.graph().by_name["every"].state_fingerprint() == "process v1 every EveryNth every 2 by (('k',),)"
    rows = [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5), ("a", 6)]
    found = testing.run(app, {"readings": rows})  # compared with the reference
    assert [tuple(row) for row in found["out"]] == [("a", 3), ("b", 5), ("a", 6)]
