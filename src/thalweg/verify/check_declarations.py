"""Check the users' declarations: a reference that compares the operators' output with what is declared about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thalweg.analysis.apply_declarations import declared_of
from thalweg.analysis.derive_facts import facts_of
from thalweg.errors import Where, summary
from thalweg.ir.canonical_form import canonical
from thalweg.ir.declarations import Declaration
from thalweg.ir.facts import STATELESS, Facts
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator
from thalweg.ir.values import carried
from thalweg.verify.compare import same_bits
from thalweg.verify.reference import Reference
from thalweg.verify.reference_per_tuple import Emitted, OrderKey

AGAIN = 2_000  # the number of tuples that an operator declared stateless processes a second time


@dataclass(frozen=True, slots=True)
class WrongDeclaration:
    """A tuple for which a declaration does not hold."""

    operator: str
    kind: str
    where: Where  # of the declaration
    tuple: str
    declared: str
    found: str

    def __str__(self) -> str:
        return (
            f"a declaration of {self.operator} ({self.kind}) does not hold, {self.where}\n"
            f"  tuple:    {self.tuple}\n  declared: {self.declared}\n  found:    {self.found}"
        )

    def as_json(self) -> dict[str, str]:
        return {n: str(getattr(self, n)) for n in ("operator", "kind", "where", "tuple", "declared", "found")}


@dataclass(frozen=True, slots=True)
class _Call:
    """The output of an operator for a tuple."""

    port: int
    row: Any
    key: OrderKey
    now: int | None
    emitted: list[tuple[int, tuple[Any, ...]]]


class DeclarationChecker(Reference):
    """The reference, with a check of the declarations. `wrong` is the first that does not hold."""

    def __init__(self, graph: LogicalGraph) -> None:
        super().__init__(graph)
        declared = ((o, declared_of(o)) for o in graph.operators)
        self.declared: Mapping[str, Declaration] = {o.name: d for o, d in declared if d is not None}
        self.facts = facts_of(graph)
        # Operators that are stateless because of a declaration about their state or effects.
        by_declaration = [name for name, d in self.declared.items() if d.state == STATELESS or d.effects is not None]
        self.calls: dict[str, list[_Call]] = {name: [] for name in by_declaration if self.facts[name].stateless}
        self.wrong: WrongDeclaration | None = None

    def _process(self, operator: Operator, port: int, row: Any, key: OrderKey) -> Emitted:
        emitted = super()._process(operator, port, row, key)
        if operator.name in self.declared and port != operator.mark_port and self.wrong is None:
            self._watch(operator, port, row, key, emitted)
        return emitted

    def _watch(self, operator: Operator, port: int, row: Any, key: OrderKey, emitted: Emitted) -> None:
        declared, facts = self.declared[operator.name], self.facts[operator.name]
        results = [(p, made) for p, made, _ in emitted if p not in (operator.mark_output, operator.dead_port)]
        if declared.selectivity is not None:
            self._check_counts(operator, facts, row, [p for p, _ in results])
        if declared.forwards is not None:
            for out, made in results:
                self._check_copies(operator, facts.forwards[out][port], row, made)
        calls = self.calls.get(operator.name)
        if calls is not None and len(calls) < AGAIN:
            shown = [(p, _values(operator, p, made)) for p, made in results]
            calls.append(_Call(port, row, key, self.now.get(operator.name), shown))

    def _check_counts(self, operator: Operator, facts: Facts, row: Any, ports: list[int]) -> None:
        for port, bounds in enumerate(facts.selectivity):
            count = ports.count(port)
            if port in (operator.mark_output, operator.dead_port):
                continue
            if count < bounds.least or (bounds.most is not None and count > bounds.most):
                at = f" at port {port}" if len(facts.selectivity) > 1 else ""
                self._found(operator, row, f"selectivity {bounds}{at}", f"{count} tuples{at}")

    def _check_copies(self, operator: Operator, copies: Mapping[str, str], row: Any, made: Any) -> None:
        for name, origin in copies.items():
            if not hasattr(row, origin) or not hasattr(made, name):
                continue  # no operator reads it
            old, new = getattr(row, origin), getattr(made, name)
            if canonical(carried(old)) != canonical(carried(new)):
                self._found(operator, row, f"{name} is forwarded from {origin}", f"{name}={new!r} of {origin}={old!r}")

    def try_again(self) -> WrongDeclaration | None:
        """Let the operators that are declared stateless process their tuples again, in reverse order."""
        again = Reference(self.graph)
        for name, calls in self.calls.items():
            operator = self.graph.by_name[name]
            for call in reversed(calls):
                if self.wrong is not None:
                    return self.wrong
                self._again(again, operator, call)
        return self.wrong

    def _again(self, again: Reference, operator: Operator, call: _Call) -> None:
        again.state.get(operator.name, {}).clear()
        if call.now is not None:
            again.now[operator.name] = call.now
        wanted = call.emitted
        try:
            made = again._process(operator, call.port, call.row, call.key)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._found(operator, call.row, STATELESS, f"first {_shown(wanted)}, then {summary(error)}")
            return
        results = [(p, row) for p, row, _ in made if p not in (operator.mark_output, operator.dead_port)]
        found = [(p, _values(operator, p, row)) for p, row in results]
        same = len(found) == len(wanted) and all(
            a[0] == b[0] and all(map(same_bits, a[1], b[1])) for a, b in zip(found, wanted, strict=True)
        )
        if not same:
            self._found(operator, call.row, STATELESS, f"first {_shown(wanted)}, then {_shown(found)}")

    def _found(self, operator: Operator, row: Any, declared: str, found: str) -> None:
        if self.wrong is None:
            where = self.declared[operator.name].where
            self.wrong = WrongDeclaration(operator.name, operator.kind, where, repr(row), declared, found)


def _values(operator: Operator, port: int, row: Any) -> tuple[Any, ...]:
    return tuple(carried(getattr(row, name)) for name in operator.outputs[port].names if hasattr(row, name))


def _shown(emitted: list[tuple[int, tuple[Any, ...]]]) -> str:
    return ", ".join(str(values) for _, values in emitted) or "nothing"
