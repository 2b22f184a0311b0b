"""How the tuples of a stream are spread over the channels of its stage."""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.ir.expr import Attr, Expr, Record
from thalweg.ir.operators import (
    Aggregate,
    EventTime,
    Filter,
    Function,
    Join,
    Map,
    Operator,
    Pace,
    Process,
    Punctor,
    RandomSplit,
    Split,
    StreamRef,
    Union,
)
from thalweg.ir.plan import STAY, PhysicalPlan, Route


def partitioning(plan: PhysicalPlan) -> Mapping[StreamRef, Route]:
    """The route by which each stream is partitioned where it is made; STAY when nothing is known."""
    parts: dict[StreamRef, Route] = {}
    for operator in plan.graph.operators:
        parts |= output_routes(plan, operator, parts)
    return parts


def output_routes(plan: PhysicalPlan, operator: Operator, parts: Mapping[StreamRef, Route]) -> dict[StreamRef, Route]:
    """The routes by which an operator's output streams are partitioned."""
    known = kept_route(plan, operator, parts)
    routes = {StreamRef(operator.name, port): known for port in range(len(operator.outputs))}
    if operator.mark_port is not None and operator.mark_output is not None:
        # Every channel got all marks and passes all of them on.
        routes[StreamRef(operator.name, operator.mark_output)] = plan.route_into(operator, operator.mark_port)
    return routes


def kept_route(plan: PhysicalPlan, operator: Operator, parts: Mapping[StreamRef, Route]) -> Route:
    """The route by which an operator's output is partitioned, given its inputs'."""
    if operator.key is not None:
        arriving = {plan.route_into(operator, p) for p in range(len(operator.inputs)) if p != operator.mark_port}
    else:
        stage = plan.place[operator.name][0]
        arriving = {parts[s] if plan.place[s.operator][0] == stage else STAY for s in operator.inputs}
    if len(arriving) != 1:
        return STAY
    (route,) = arriving
    return route if route.key == () or (route.key and forwards(operator, route.key)) else STAY


def forwards(operator: Operator, attributes: tuple[str, ...]) -> bool:
    """Whether every output tuple has the same values in these attributes as the input tuple that caused it."""
    match operator:
        case Filter() | Split() | Union() | RandomSplit() | Pace() | EventTime() | Punctor():
            return True
        case Map(function=Function(expr=Record(fields))):
            copied = dict(fields)
            return all(a in copied and copied[a] == Attr(a, copied[a].type) for a in attributes)
        case Aggregate(fields=Record(fields)):
            return all(_picks_key(operator, a, dict(fields)) for a in attributes)
        case Join(on=on):
            return set(attributes) <= set(on)
        case Process(by=((*keys,), *_), logic=logic) if getattr(logic, "forwards_key", False):
            return set(attributes) <= set(keys)
    return False


def _picks_key(operator: Aggregate, name: str, fields: Mapping[str, Expr]) -> bool:
    """A fold that picks one value of a key attribute returns the key: all tuples of a window share it."""
    field = fields.get(name)
    if name not in operator.window.by or not isinstance(field, Attr):
        return False
    fold = operator.folds[int(field.name.removeprefix("fold"))]
    argument = fold.argument.expr if fold.argument else None
    return fold.kind in ("any", "first", "last") and isinstance(argument, Attr) and argument.name == name
