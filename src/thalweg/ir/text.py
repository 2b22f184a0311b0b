"""The text form of a plan: a line for each operator, with its decisions. It can be printed and parsed.

plan bargains buckets=2 frame_rows=262144
# stage 0
ticks            degree=2 group=0
trades           group=0
quotes           group=0
# stage 1: exchange trades by symbol over 2; quotes by symbol over 2
vwap             degree=2 key=symbol group=1
bargains.join    degree=2 key=symbol group=1
bargains.filter  group=1
bargains         group=1

Text after `#` is derived and is not parsed. With `degree=open` the degree is chosen at run time; an operator without a
degree takes tuples where they are. Without `key=` the operator's complete key routes its tuples. `table=0110` is the
channel of each bucket (`ir.bucket_tables`). A sink's line is optional.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from thalweg.errors import PlanError, did_you_mean
from thalweg.ir.bucket_tables import Table, read_table, table_text
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import layout
from thalweg.ir.operators import Operator, Sink
from thalweg.ir.plan import Decision, Plan
from thalweg.ir.plan_options import OPEN

_HEADER = ("buckets", "frame_rows")


def print_plan(plan: Plan) -> str:
    """The plan in readable form: operators by stage and PE, and what each exchange carries."""
    made = layout(plan)
    width = max((len(name) for name in _with_line(plan)), default=0)
    lines = [_header(plan)]
    for index, stage in enumerate(made.stages):
        carried = "; ".join(f"{wire.stream} {wire.route}" for wire in made.exchanges[index])
        lines.append(f"# stage {index}" + (f": exchange {carried}" if index else ""))
        lines += [_line(plan, name, width) for pe in stage.pes for name in pe.operators]
    lines += [_line(plan, name, width) for name in _with_line(plan) if isinstance(plan.graph.by_name[name], Sink)]
    return "\n".join(lines) + "\n"


def print_decisions(plan: Plan) -> str:
    """The plan without derived text."""
    return "\n".join([_header(plan), *(_line(plan, name) for name in _with_line(plan))]) + "\n"


def _header(plan: Plan) -> str:
    return f"plan {plan.graph.name} buckets={plan.buckets} frame_rows={plan.frame_rows}"


def _with_line(plan: Plan) -> list[str]:
    nothing = Decision()
    operators = plan.graph.operators
    return [o.name for o in operators if not isinstance(o, Sink) or plan.decisions[o.name] != nothing]


def _line(plan: Plan, name: str, width: int = 0) -> str:
    fields = " ".join(f"{field}={value}" for field, value in _fields(plan.decisions[name], plan.graph.by_name[name]))
    return f"{name:<{width}}  {fields}".rstrip()


def _fields(decision: Decision, operator: Operator) -> Iterator[tuple[str, str]]:
    if decision.key is not None:
        yield "degree", OPEN if decision.degree is None else str(decision.degree)
    if decision.key or (decision.key is not None and operator.key):
        yield "key", ",".join(decision.key)  # empty: an operator with a key that is not used (illegal, but printed)
    if decision.group is not None:
        yield "group", str(decision.group)
    if decision.table is not None:
        yield "table", table_text(decision.table)
    if decision.host is not None:
        yield "host", decision.host
    if decision.ports:
        yield "ports", ",".join(map(str, decision.ports))


def parse_plan(source: str, graph: LogicalGraph) -> Plan:
    """Parse a plan for this graph. `optimize.legality` checks whether the plan is legal."""
    header: dict[str, int] | None = None
    decisions: dict[str, Decision] = {}
    for number, raw in enumerate(source.splitlines(), 1):
        words = raw.split("#")[0].split()
        if not words:
            continue
        line = _Line(number, raw)
        if header is None:
            header = _read_header(line, words, graph)
            continue
        operator = line.operator(words[0], graph)
        if operator.name in decisions:
            raise line.error(f"duplicate line for {operator.name}", "one line for each operator")
        decisions[operator.name] = line.decision(words[1:], operator)
    if header is None:
        raise PlanError("the plan is empty", expected="plan NAME buckets=N frame_rows=N")
    for operator in graph.operators:
        if operator.name not in decisions and not isinstance(operator, Sink):
            raise PlanError(
                f"the plan has no line for {operator.name}",
                operator=operator.name,
                where=operator.where,
                expected="a line for each operator that is not a sink",
                hint="thalweg explain prints a complete plan",
            )
    whole = {o.name: decisions.get(o.name, Decision()) for o in graph.operators}
    return Plan(graph, whole, header["buckets"], header["frame_rows"])


def _read_header(line: _Line, words: list[str], graph: LogicalGraph) -> dict[str, int]:
    shape = "plan NAME buckets=N frame_rows=N"
    if len(words) < 2 or words[0] != "plan":
        raise line.error("a plan must begin with its header", shape)
    if words[1] != graph.name:
        raise line.error(f"this plan is for {words[1]}", f"a plan for {graph.name}")
    header: dict[str, int] = {}
    for name, value in map(_pair, words[2:]):
        if name not in _HEADER:
            raise line.error(f"unknown field {name!r} in the header", shape, did_you_mean(name, _HEADER))
        if name in header:
            raise line.error(f"{name} is given twice", f"one {name}=")
        header[name] = line.number(value)
    if missing := [name for name in _HEADER if name not in header]:
        raise line.error(f"the header has no {' and no '.join(missing)}", shape)
    return header


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key, value


class _Line:
    """One line of a plan's text."""

    def __init__(self, index: int, raw: str) -> None:
        self.index, self.raw = index, raw

    def error(self, message: str, expected: str, hint: str | None = None) -> PlanError:
        found = self.raw.strip()
        return PlanError(f"plan, line {self.index}: {message}", expected=expected, found=found, hint=hint)

    def operator(self, name: str, graph: LogicalGraph) -> Operator:
        if name not in graph.by_name:
            hint = did_you_mean(name, graph.by_name)
            raise self.error(f"unknown operator {name!r}", "an operator of the graph", hint)
        return graph.by_name[name]

    def decision(self, words: list[str], operator: Operator) -> Decision:
        given: dict[str, Any] = {}
        for name, value in map(_pair, words):
            if name not in _READERS:
                expected = ", ".join(f"{known}=" for known in _READERS)
                raise self.error(f"unknown field {name!r}", expected, did_you_mean(name, _READERS))
            if name in given:
                raise self.error(f"{name} is given twice", f"one {name}=")
            given[name] = _READERS[name](self, value)
        if "degree" in given:
            given.setdefault("key", operator.key or ())
        elif "key" in given or "table" in given:
            raise self.error("a key or a table requires a degree", "degree=N or degree=open in addition")
        return Decision(**given)

    def number(self, text: str) -> int:
        if not re.fullmatch(r"[0-9]+", text):
            raise self.error(f"not a number: {text!r}", "a whole number")
        return int(text)

    def degree(self, text: str) -> int | None:
        degree = None if text == OPEN else self.number(text)
        if degree == 0:
            raise self.error("a degree must be a number of channels", "1 or more, or open")
        return degree

    def names(self, text: str) -> tuple[str, ...]:
        names = tuple(text.split(",")) if text else ()
        if not all(names):
            raise self.error("an attribute name is empty", "key=NAME or key=NAME,NAME")
        if len(set(names)) < len(names):
            raise self.error("an attribute is named twice", "each attribute at most once")
        return names

    def table(self, text: str) -> Table:
        try:
            return read_table(text)
        except ValueError:
            raise self.error(f"not a table: {text!r}", "one digit per bucket, or comma-separated numbers") from None

    def host(self, text: str) -> str:
        if not text:
            raise self.error("the host name is empty", "host=NAME")
        return text

    def numbers(self, text: str) -> tuple[int, ...]:
        return tuple(map(self.number, text.split(",")))


_READERS: Mapping[str, Callable[[_Line, str], Any]] = {
    "degree": _Line.degree,
    "key": _Line.names,
    "group": _Line.number,
    "table": _Line.table,
    "host": _Line.host,
    "ports": _Line.numbers,
}
