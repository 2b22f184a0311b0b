"""Apply the declarations of an operator: check them against its tuple types, and let them override the analysis."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from thalweg.errors import GraphError, described, did_you_mean
from thalweg.ir.declarations import ALL, Declaration, declared_of_function
from thalweg.ir.facts import (
    NOT_STATELESS,
    PARTITIONED,
    STATELESS,
    UNKNOWN,
    Effect,
    Facts,
    Reason,
    Selectivity,
    StateFact,
)
from thalweg.ir.logic import Logic
from thalweg.ir.operators import Operator
from thalweg.ir.types import TupleType


def declared_of(operator: Operator) -> Declaration | None:
    """The declaration of an operator: that of its class, or of the one function that it runs."""
    code = operator.users_code
    return _model(code, operator) if isinstance(code, Logic) else declared_of_function(code)


def _model(logic: Logic, operator: Operator) -> Declaration | None:
    model: Any = type(logic).model  # of the class: an object may have an unrelated `model` in its state
    found = model(logic) if isinstance(model, types.FunctionType) else model
    if found is not None and not isinstance(found, Declaration):
        raise GraphError(
            f"the model of {type(logic).__name__} is not a declaration",
            operator=operator.name,
            where=operator.where,
            expected="tw.declare(…), or a method that returns it",
            found=described(found),
        )
    return found


def with_declared(facts: Facts, operator: Operator, inputs: tuple[TupleType, ...]) -> Facts:
    """The facts, with declared values in place of those that the analysis found."""
    said = declared_of(operator)
    if said is None:
        return facts
    results = _results(operator)
    made = replace(facts, declared=said.reason)
    if said.effects is not None:
        made = replace(made, effects=_effects(facts, said.effects, said.reason))
    if said.state is not None:
        made = replace(made, state=_state(said, operator, inputs))
    elif said.effects is not None and facts.state.kind == UNKNOWN and not made.has(*NOT_STATELESS):
        made = replace(made, state=StateFact(STATELESS, said.reason) if not facts.state.by else _kept(facts, said))
    if said.selectivity is not None:
        made = replace(made, selectivity=_selectivity(facts, said, operator, results))
    if said.forwards is not None:
        made = _forwarded(made, said, operator, inputs, results)
    if said.reads is not None:
        _check(said.reads, inputs[:1], "reads", said, operator)
        made = replace(made, reads=(said.reads, *facts.reads[1:]))
    return made


def _results(operator: Operator) -> list[int]:
    """The output ports that carry results: neither marks nor dead letters."""
    return [p for p in range(len(operator.outputs)) if p not in (operator.mark_output, operator.dead_port)]


def _kept(facts: Facts, said: Declaration) -> StateFact:
    return StateFact(PARTITIONED, said.reason, facts.state.by)


def _effects(facts: Facts, left: tuple[str, ...], reason: Reason) -> tuple[Effect, ...]:
    found = tuple(effect for effect in facts.effects if effect.kind in left)
    missing = [kind for kind in left if not facts.has(kind)]
    return (*found, *(Effect(kind, reason) for kind in missing))


def _state(said: Declaration, operator: Operator, inputs: tuple[TupleType, ...]) -> StateFact:
    if isinstance(said.state, str):
        return StateFact(said.state, said.reason)
    assert said.state is not None
    _check(said.state, inputs, "state", said, operator)
    by = operator.port_keys
    if not by or not all(set(key) <= set(said.state) for key in by):
        key = f"by={', '.join(by[0])}" if by else "no key"
        raise GraphError(
            f"the {operator.kind} declares state by {', '.join(said.state)}, but has no such key",
            operator=operator.name,
            where=said.where,
            expected="an operator class, or a function with state, that has this key or a part of it",
            found=f"{operator.kind} with {key}",
            hint='.custom(function, Out, by="key", state=…) keeps a state for each key',
        )
    return StateFact(PARTITIONED, said.reason, (said.state,) * len(inputs))


def _selectivity(facts: Facts, said: Declaration, operator: Operator, results: list[int]) -> tuple[Selectivity, ...]:
    assert said.selectivity is not None
    if len(said.selectivity) not in (1, len(results)):
        raise GraphError(
            "the declared selectivity is for a different number of output ports",
            operator=operator.name,
            where=said.where,
            expected=f"one, or {len(results)}",
            found=str(len(said.selectivity)),
        )
    bounds = said.selectivity * len(results) if len(said.selectivity) == 1 else said.selectivity
    made = list(facts.selectivity)
    for port, (least, most) in zip(results, bounds, strict=True):
        made[port] = Selectivity(least, most, said.reason)
    return tuple(made)


def _forwarded(
    facts: Facts, said: Declaration, operator: Operator, inputs: tuple[TupleType, ...], results: list[int]
) -> Facts:
    forwards, writes = list(facts.forwards), list(facts.writes)
    for port in results:
        output = operator.outputs[port]
        by_input = tuple(_mapping(said, output, kind, operator) for kind in inputs)
        forwards[port] = (*by_input, *forwards[port][len(by_input) :])
        writes[port] = changed(output, forwards[port])
    return replace(facts, forwards=tuple(forwards), writes=tuple(writes))


def _mapping(said: Declaration, output: TupleType, kind: TupleType, operator: Operator) -> Mapping[str, str]:
    if said.forwards == ALL:
        return {n: n for n, t in output.attributes if kind.get(n) == t}
    assert isinstance(said.forwards, Mapping)
    _check(said.forwards.keys(), (output,), "forwards", said, operator)
    _check(said.forwards.values(), (kind,), "forwards", said, operator)
    return dict(said.forwards)


def changed(output: TupleType, by_input: tuple[Mapping[str, str], ...]) -> frozenset[str]:
    """The attributes of an output that are not copied, under the same name, from every input."""
    return frozenset(n for n in output.names if not by_input or any(m.get(n) != n for m in by_input))


def _check(
    names: Iterable[str], kinds: tuple[TupleType, ...], word: str, said: Declaration, operator: Operator
) -> None:
    for kind in kinds:
        for name in names:
            if kind.get(name) is None:
                raise GraphError(
                    f"tw.declare: {word} names {name}, which {kind.name} does not have",
                    operator=operator.name,
                    where=said.where,
                    expected=f"one of {', '.join(kind.names)}",
                    hint=did_you_mean(name, kind.names),
                )
