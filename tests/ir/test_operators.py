"""Operators declare what they are: what one leaves out fails when it is defined, with its name."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import thalweg as tw
from tests.properties.coverage import MUST_BE_SEEN
from thalweg import testing
from thalweg.analysis.facts import facts_of
from thalweg.errors import InternalError
from thalweg.ir import operators
from thalweg.ir.completeness import complete
from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.operator_model import AT_MOST_ONE, Model, same
from thalweg.ir.operators import OPERATORS, Filter, Map, Operator, Process, Sink
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import TUPLE, UserCode


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
    assert kinds - set(OPERATORS.values()) == {Operator, operators.Calling}  # which several kinds have in common
    assert set(OPERATORS.values()) <= kinds


def test_the_decision_lists_what_operators_declare() -> None:
    page = Path(__file__).parents[2] / "docs" / "decisions" / "0038-operators-declare-what-they-are.md"
    rows = [line.split("|") for line in page.read_text().splitlines() if line.startswith("| ")][1:]
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row[2])}
    fields = {f.name for f in dataclasses.fields(Operator)} | {"is_family"}
    derived = {"port_keys", "dead_port", "output", "sub_positions"}  # which no kind defines
    declared = {n for n in (*vars(Operator), *Operator.__annotations__) if not n.startswith("_")}
    assert listed == declared - fields - derived


def test_random_cases_have_every_kind() -> None:
    words = {f"operator {name.lower()}" for name, kind in OPERATORS.items() if kind is not Process}
    assert words <= set(MUST_BE_SEEN)


def test_an_operator_that_leaves_something_out() -> None:
    with pytest.raises(InternalError, match="Upper does not define code, model, needed, counts_emissions, as every"):

        @dataclass(frozen=True, slots=True, kw_only=True)
        class Upper(Operator):
            pass

    assert "Upper" not in {name.rpartition(".")[2] for name in OPERATORS}


def test_an_operator_of_a_family_that_leaves_something_out() -> None:
    with pytest.raises(InternalError, match="Checked does not define model, counts_emissions"):

        @dataclass(frozen=True, slots=True, kw_only=True)
        class Checked(operators.per_tuple.Judging):
            use: ClassVar[str] = TUPLE


def test_a_state_without_a_fingerprint() -> None:
    with pytest.raises(InternalError, match="Kept has a key and does not define state_fingerprint"):

        @dataclass(frozen=True, slots=True, kw_only=True)
        class Kept(_Complete):
            counts_emissions: ClassVar[bool] = False

            @property
            def key(self) -> tuple[str, ...]:
                return ()


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
class _Complete(Operator):
    """All that is abstract, defined."""

    is_family: ClassVar[bool] = True

    def model(self, inputs: tuple[TupleType, ...]) -> Model | None:
        return None

    def needed(self, port: int, names: Set[str], live: Set[str], *, by_rows: bool) -> Set[str]:
        return names

    def code(self, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()


def test_a_derived_operator_that_leaves_something_out() -> None:
    with pytest.raises(InternalError, match="Silent does not define code, known, settings, as every LibraryLogic"):

        class Silent(LibraryLogic):
            def process(self, t: Any, port: int) -> None:
                pass


class EveryNth(LibraryLogic):
    """Of each key, every n-th tuple. All that Thalweg needs to know of a derived operator is in its class."""

    config: int

    def __init__(self) -> None:
        self.count = 0

    def settings(self) -> str:
        return f"every {self.config}"

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        read = frozenset(operator.key or ())
        return Model("every n-th tuple goes on", (AT_MOST_ONE,), ((same(*inputs * 2),),), (read,), can_fail=False)

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return ()

    def process(self, t: Any, port: int) -> None:
        self.count += 1
        if self.count % self.config == 0:
            self.submit(t)


class Reading(tw.Tuple):
    k: str
    i: int


def test_a_derived_operator_is_one_class() -> None:
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
