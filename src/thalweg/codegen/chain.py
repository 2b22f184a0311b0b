"""A chain of maps and filters of one PE as one kernel.

    a = source.map(…) ; b = a.filter(…) ; c = b.map(…)      three kernels, three frames
    c_chain(f, n)                                           one kernel, one frame

Attributes stay in local variables from operator to operator, a filter gathers only what is still needed, and positions
are gathered once, at the end. Where the kernel falls back, the operators run one by one. An operator that cannot be
read, that several operators consume, or whose stream leaves its segment, ends a chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from thalweg.codegen.expression_code import Writer
from thalweg.codegen.templates import TEMPLATES
from thalweg.ir.expr import Apply, Expr, Record, live_fields, reads, rule, walk
from thalweg.ir.operators import Filter, Function, Map, Operator, StreamRef
from thalweg.ir.rules import CAN_FALL_BACK
from thalweg.ir.types import INT, AttributeType

Live = Mapping[StreamRef, tuple[str, ...]]


def find_chains(
    operators: Sequence[Operator],
    consumers: Callable[[StreamRef], Sequence[tuple[Operator, int]]],
    sent: set[StreamRef],
    segment: Mapping[str, int],
) -> list[list[Operator]]:
    """Chains of two or more operators; each operator is in at most one. `sent`: the streams that leave the PE;
    `segment`: the segment of each operator of the PE."""
    chained: set[str] = set()
    found: list[list[Operator]] = []
    for operator in operators:
        if operator.name in chained or not _readable(operator):
            continue
        chain = [operator]
        while chain[-1].output not in sent:
            following = [consumer for consumer, _ in consumers(chain[-1].output)]
            if len(following) != 1 or not _readable(following[0]):
                break
            if segment.get(following[0].name) != segment[operator.name]:
                break
            chain.append(following[0])
        chained.update(o.name for o in chain)
        if len(chain) > 1:
            found.append(chain)
    return found


def _readable(operator: Operator) -> bool:
    if operator.dead_port is not None:
        return False  # it has two outputs
    match operator:
        case Map(function=function):
            return isinstance(function.expr, Record)
        case Filter(function=function):
            return isinstance(function.expr, Expr)
    return False


class ChainWriter:
    """Writes the body of a chain's kernel, which returns the rows that it kept (None: all) and their columns."""

    def __init__(self, chain: Sequence[Operator], live: Live, inputs: Sequence[str]) -> None:
        self.live, self.lines = live, ["rows = late = None"]
        self.taken: set[str] = set()
        self.columns: dict[str, str] = {}  # attribute -> the variable or literal that holds it
        self.waiting = False  # whether the columns may still contain rows that a filter dropped
        for name in inputs:
            self.columns[name] = self._variable(f"f[{name!r}]")
        for operator, following in zip(chain, (*chain[1:], None), strict=True):
            self.lines.append(f"# {operator.name}: {operator.where}")
            if isinstance(operator, Map):
                self._map(operator)
            elif isinstance(operator, Filter):
                self._filter(operator, now=following is None or _needs_exact_rows(following))
            if self.waiting and (following is None or _needs_exact_rows(following)):
                self._narrow("True", now=True)

    def _column(self, name: str, kind: AttributeType) -> str:
        """Values of boxed types are only passed on, so they are already columns."""
        source = self.columns[name]
        return source if kind.boxed else f"k.column({source}, n, AttributeType.{kind.name})"

    def finish(self, last: Operator) -> list[str]:
        kinds = dict(last.outputs[0].attributes)
        fields = [f"    {n!r}: {self._column(n, kinds[n])}," for n in self.live[last.output]]
        return [*self.lines, "return rows, {", *fields, "}"]

    def _variable(self, source: str) -> str:
        name = f"c{len(self.taken)}"
        self.taken.add(name)
        self.lines.append(f"{name} = {source}")
        return name

    def _map(self, operator: Map) -> None:
        record = operator.function.expr
        assert isinstance(record, Record)
        live = self.live[operator.output]
        fields = live_fields(record, frozenset(live))
        sources = self._values([expr for _, expr in fields])
        made: dict[str, str] = {}
        for (name, expr), source in zip(fields, sources, strict=True):
            if name not in live:
                self.lines.append(source)  # it is not read, but it may raise
            else:
                made[name] = self._variable(source) if isinstance(expr, Apply) else source
        self.columns = made

    def _filter(self, operator: Filter, *, now: bool) -> None:
        predicate = operator.function.expr
        assert isinstance(predicate, Expr)
        (mask,) = self._values([predicate])
        self.columns = {name: self.columns[name] for name in self.live[operator.output]}
        self._narrow(mask, now=now, counted=operator.name)

    def _narrow(self, mask: str, *, now: bool, counted: str | None = None) -> None:
        held = list(dict.fromkeys(c for c in self.columns.values() if c in self.taken))
        names = ", ".join(["n", "rows", "late", *held])
        self.lines.append(f"{names} = chains.narrow({mask}, {now}, {names})")
        if counted is not None:
            self.lines.append(f"seen[{counted!r}] = n if late is None else int(np.count_nonzero(late))")
        self.lines += ["if not n:", "    return rows, {}"]
        self.waiting = not now

    def _values(self, exprs: Sequence[Expr]) -> list[str]:
        writer = Writer(self.columns, taken=self.taken)
        sources = writer.values(exprs)
        self.lines += writer.lines
        self.taken |= writer.names
        return sources


def chain_inputs(first: Operator, live: Live) -> list[str]:
    """The attributes of its input that a chain needs."""
    match first:
        case Map(function=Function(expr=Record() as record)):
            needed = frozenset(
                n for _, field in live_fields(record, frozenset(live[first.output])) for n in reads(field)
            )
        case Filter(function=Function(expr=predicate)) if predicate is not None:
            needed = reads(predicate) | set(live[first.output])
        case _:
            raise AssertionError(first)
    return [name for name in live[first.inputs[0]] if name in needed]


# Sums and products fall back on overflow, which is rare, so they may run on rows that are yet to be dropped.
_HARMLESS = frozenset((op, INT, INT) for op in ("+", "-", "*")) | {("neg", INT), ("abs", INT)}


def _needs_exact_rows(operator: Operator) -> bool:
    """Whether it must not run on rows that a filter before it drops: it might fall back on them, or be expensive."""
    assert isinstance(operator, Map | Filter)
    expr = operator.function.expr
    assert expr is not None
    applied = [e for e in walk(expr) if isinstance(e, Apply)]
    return any(rule(e) not in TEMPLATES or (rule(e) in CAN_FALL_BACK and rule(e) not in _HARMLESS) for e in applied)
