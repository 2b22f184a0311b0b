"""How the tuples of a stream are spread over the channels of its stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from thalweg.analysis.derive_facts import facts_of
from thalweg.ir.bucket_tables import Table
from thalweg.ir.operators import Feedback, Operator, Source, StreamRef
from thalweg.ir.plan import STAY, TO_FIRST, Plan, Route


def partitioning(plan: Plan) -> Mapping[StreamRef, Route]:
    """The route by which each stream is partitioned where it is made; STAY if nothing is known."""
    return plan.once(_partitioning)


def _partitioning(plan: Plan) -> Mapping[StreamRef, Route]:
    parts: dict[StreamRef, Route] = {}
    for operator in plan.graph.operators:
        parts.update(_output_routes(plan, operator, parts))
    return parts


def _output_routes(plan: Plan, operator: Operator, parts: Mapping[StreamRef, Route]) -> dict[StreamRef, Route]:
    """The routes by which an operator's output streams are partitioned."""
    in_one = plan.reads_in_one or (plan.channels == 1 and not plan.is_open)
    if isinstance(operator, Feedback) or (isinstance(operator, Source) and in_one):
        return {StreamRef(operator.name, port): TO_FIRST for port in range(len(operator.outputs))}
    arriving = arriving_routes(plan, operator, parts)
    routes = {
        StreamRef(operator.name, port): _kept(plan, operator, port, arriving) for port in range(len(operator.outputs))
    }
    if operator.mark_port is not None and operator.mark_output is not None:
        # Every channel got all marks and passes all of them on.
        routes[StreamRef(operator.name, operator.mark_output)] = plan.route_into(operator, operator.mark_port)
    return routes


def arriving_routes(plan: Plan, operator: Operator, parts: Mapping[StreamRef, Route]) -> dict[int, Route]:
    """By input port that takes tuples: how they are spread when they arrive."""
    ports = [port for port in range(len(operator.inputs)) if port != operator.mark_port]
    if plan.is_routed(operator):
        return {port: plan.route_into(operator, port) for port in ports}
    # An operator without a route takes tuples where they are, regardless of the stage they come from.
    return {port: parts[operator.inputs[port]] for port in ports}


def _kept(plan: Plan, operator: Operator, output: int, arriving: Mapping[int, Route]) -> Route:
    """The route by which the tuples of one output port are partitioned: its key must be forwarded unchanged."""
    routes = set(arriving.values())
    first = next(iter(routes), STAY)
    if routes == {first} and first.key == ():
        return first
    if any(not r.key or _spread(r) != _spread(first) for r in routes):
        return STAY
    if not first.key or speaks_for_itself(operator):
        return STAY
    forwards = facts_of(plan.graph)[operator.name].forwards[output]
    names: list[str] = []
    for index in range(len(first.key)):
        copies = [copies_of(forwards[port], (route.key or ())[index]) for port, route in arriving.items()]
        common = [name for name in copies[0] if all(name in other for other in copies)]
        if not common:
            return STAY
        names.append(common[0])
    return replace(first, key=tuple(names))


def _spread(route: Route) -> tuple[int, int, bool, Table | None]:
    """Two routes that agree in this send equal keys to the same channel."""
    return len(route.key or ()), route.degree, route.open, route.table


def speaks_for_itself(operator: Operator) -> bool:
    """Whether marks or the end make it emit tuples about which nothing is known: facts only cover output for tuples."""
    return (operator.ranks_keys or operator.acts_at_end) and not operator.facts_cover_end


def copies_of(forwards: Mapping[str, str], attribute: str) -> list[str]:
    """The output attributes that are copies of an input attribute; one of the same name comes first."""
    names = (name for name, origin in forwards.items() if origin == attribute)
    return sorted(names, key=lambda name: (name != attribute, name))
