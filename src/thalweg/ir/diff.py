"""The differences between two plans of one graph, as values and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from thalweg.errors import PlanError
from thalweg.ir.bucket_tables import table_text
from thalweg.ir.layout import Layout, layout
from thalweg.ir.operators import Sink
from thalweg.ir.pe_id import PeId
from thalweg.ir.plan import STAY, Decision, Plan

NONE = "none"


@dataclass(frozen=True, slots=True)
class Difference:
    """`what`: buckets, frame_rows, degree, key, table, host, ports, pe, exchange or stages. A changed group
    appears as differences of PEs."""

    what: str
    operator: str | None
    before: str
    after: str

    def __str__(self) -> str:
        match self.what:
            case "pe":
                return f"{self.operator} moves from PE {self.before} to PE {self.after}"
            case "exchange" if self.before == NONE:
                return f"new exchange before {self.operator}: {self.after}"
            case "exchange":
                return f"removed exchange before {self.operator}: {self.before}"
        name = self.what if self.operator is None else f"{self.what} of {self.operator}"
        return f"{name} {self.before} -> {self.after}"

    def as_json(self) -> Mapping[str, str | None]:
        return asdict(self)


def diff(before: Plan, after: Plan) -> tuple[Difference, ...]:
    """The changes from one plan to another: first the decisions, then what is derived from them."""
    if before.decisions.keys() != after.decisions.keys():
        raise PlanError(
            "these plans are for different graphs",
            expected=f"plans of {after.graph.name} with the same operators",
            found=", ".join(sorted(before.decisions.keys() ^ after.decisions.keys())),
        )
    return (*_numbers(before, after), *_decided(before, after), *_moved(before, after), *_exchanges(before, after))


def _numbers(before: Plan, after: Plan) -> Iterator[Difference]:
    for name in ("buckets", "frame_rows"):
        old, new = str(getattr(before, name)), str(getattr(after, name))
        if old != new:
            yield Difference(name, None, old, new)


def _decided(before: Plan, after: Plan) -> Iterator[Difference]:
    for operator in after.graph.operators:
        one, two = before.decisions[operator.name], after.decisions[operator.name]
        if one == two:
            continue
        old, new = _shown(one), _shown(two)
        for name in old:
            if old[name] != new[name]:
                yield Difference(name, operator.name, old[name], new[name])


def _shown(decision: Decision) -> dict[str, str]:
    return {
        "degree": "open" if decision.is_open else str(decision.degree or NONE),
        "key": ",".join(decision.key or ()) or NONE,
        "table": NONE if decision.table is None else table_text(decision.table),
        "host": decision.host or NONE,
        "ports": ",".join(map(str, decision.ports)) or NONE,
    }


def _moved(before: Plan, after: Plan) -> Iterator[Difference]:
    """An operator stays if it is in the PE that has most of its old PE's operators, regardless of its number."""
    old, new = layout(before), layout(after)
    names = [o.name for o in after.graph.operators if not isinstance(o, Sink)]
    shared = Counter((old.place[name], new.place[name]) for name in names)
    became: dict[PeId, PeId] = {}
    taken: set[PeId] = set()
    for (here, there), _ in sorted(shared.items(), key=lambda one: (-one[1], one[0][0] != one[0][1], one[0])):
        if here not in became and there not in taken:
            became[here] = there
            taken.add(there)
    for name in names:
        if became.get(old.place[name]) != new.place[name]:
            yield Difference("pe", name, str(old.place[name]), str(new.place[name]))


def _exchanges(before: Plan, after: Plan) -> Iterator[Difference]:
    old, new = layout(before), layout(after)
    for operator in after.graph.operators:
        for port in range(len(operator.inputs)):
            one, two = _routed(old, operator.name, port), _routed(new, operator.name, port)
            if (one == NONE) != (two == NONE):
                yield Difference("exchange", operator.name, one, two)
    if len(old.stages) != len(new.stages):
        yield Difference("stages", None, str(len(old.stages)), str(len(new.stages)))


def _routed(made: Layout, operator: str, port: int) -> str:
    wire = made.wire_of.get((operator, port))
    return NONE if wire is None or wire.route == STAY else f"{wire.stream} {wire.route}"
