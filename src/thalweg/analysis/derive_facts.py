"""`facts_of`: the known facts about every operator of a graph, from its model, user code and declarations."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from thalweg.analysis.apply_declarations import changed, with_declared
from thalweg.analysis.follow_user_code import FollowedCode, followed, tuple_types
from thalweg.analysis.program.notes import Copied, FollowResult
from thalweg.ir.facts import (
    MUTATES_INPUT,
    NOT_STATELESS,
    PARTITIONED,
    READS_CHANGED,
    STATELESS,
    UNKNOWN,
    UNKNOWN_CALL,
    Effect,
    Facts,
    Reason,
    Selectivity,
    StateFact,
)
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operator_model import MANY, Bounds, Copies, Model, same
from thalweg.ir.operators import Operator, Sink
from thalweg.ir.types import TupleType
from thalweg.ir.user_code import TUPLE, TUPLES, UserClass, UserFunction, UserStateFunction
from thalweg.ir.user_tracebacks import is_foreign


def facts_of(graph: LogicalGraph) -> Mapping[str, Facts]:
    """The facts of every operator, by name, in declaration order."""
    return graph.analyses.once(_facts_of)


def _facts_of(graph: LogicalGraph) -> dict[str, Facts]:
    inputs = {o.name: tuple_types(graph, o) for o in graph.operators}
    codes = {o.name: followed(o, inputs[o.name]) for o in graph.operators}
    changes = _Changes(codes)
    made: dict[str, Facts] = {}
    for operator in graph.operators:
        shared = changes.seen_by(operator.name)
        facts = _facts(operator, inputs[operator.name], codes[operator.name], shared)
        made[operator.name] = with_declared(facts, operator, inputs[operator.name])
    return made


def _facts(operator: Operator, inputs: tuple[TupleType, ...], code: list[FollowedCode], shared: list[Effect]) -> Facts:
    main = next((one for one in code if one.code.main), None)
    model = _with_code(operator, inputs, main)
    effects = _sorted([*(e for one in code for e in one.notes.effects), *shared])
    if any(e.kind == MUTATES_INPUT for e in effects):
        model = replace(model, copies=tuple(tuple({} for _ in port) for port in model.copies))
    sure = main is None or main.found.sure or not _counts_by_code(main)
    return Facts(
        _state(operator, main, effects, model),
        _selectivity(operator, model, sure),
        (*model.reads, *(frozenset[str]() for _ in range(len(operator.inputs) - len(model.reads)))),
        _forwards(operator, model),
        tuple(changed(kind, by) for kind, by in zip(operator.outputs, _forwards(operator, model), strict=True)),
        effects,
    )


def _counts_by_code(main: FollowedCode) -> bool:
    """Whether only the user code determines how many tuples are emitted for one."""
    return not isinstance(main.code, UserFunction) or main.code.use == TUPLES


def _with_code(operator: Operator, inputs: tuple[TupleType, ...], main: FollowedCode | None) -> Model:
    """The model, with the facts that the user code adds to it."""
    model = operator.model(inputs)
    code = None if main is None else main.code
    if main is not None and isinstance(code, UserStateFunction | UserClass):
        return _submitting(operator, inputs, len(code.outputs), main.found)
    if main is None or not isinstance(code, UserFunction) or code.arguments != inputs:
        assert model is not None
        return model  # code that is not called with the tuple itself adds no facts
    own = (_named(main.notes.reads.get(0, set()), inputs[0]),)
    if code.use == TUPLES:
        copies = _copies(main.found.elements, 0, operator.outputs[0], inputs[0])
        return Model("the number that its code emits", (main.found.length,), ((copies,),), own)
    assert model is not None
    if code.use == TUPLE:
        copies = _copies(main.found.returned, 0, operator.outputs[0], inputs[0])
        return replace(model, copies=((copies,),), reads=own)
    return replace(model, reads=own)


def _submitting(operator: Operator, inputs: tuple[TupleType, ...], results: int, main: FollowResult) -> Model:
    ports = range(results)
    counts: tuple[Bounds, ...] = tuple(main.counts.get(p, (0, 0)) if main.sure else MANY for p in ports)
    copies = tuple(
        tuple(
            _copies(main.copied.get(out, {}).get(port), port, operator.outputs[out], kind) if main.sure else {}
            for port, kind in enumerate(inputs)
        )
        for out in ports
    )
    own = tuple(_named(main.notes.reads.get(port, set()), kind) for port, kind in enumerate(inputs))
    return Model("the number that its code submits", counts, copies, own)


def _named(reads: set[str] | None, kind: TupleType) -> frozenset[str] | None:
    return None if reads is None else frozenset(name for name in reads if kind.get(name) is not None)


def _copies(copied: Copied | None, port: int, output: TupleType, kind: TupleType) -> Copies:
    """Only attributes that keep their type count as unchanged. If no tuple is ever emitted, all of them do."""
    if copied is None:
        return same(output, kind)
    return {
        name: origin[1]
        for name, origin in copied.items()
        if origin[0] == port and output.get(name) is not None and output.get(name) == kind.get(origin[1])
    }


def _sorted(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    return tuple(sorted(set(effects), key=lambda e: (e.kind, e.reason.where.file, e.reason.where.line, e.reason.text)))


def _state(operator: Operator, main: FollowedCode | None, effects: tuple[Effect, ...], model: Model) -> StateFact:
    by = operator.port_keys
    worst = next((e for kind in NOT_STATELESS for e in effects if e.kind == kind), None)
    contract = main.code.contract if main is not None and isinstance(main.code, UserFunction) else ""
    by_contract = bool(contract) and worst is not None and worst.kind == UNKNOWN_CALL
    if worst is not None and not by_contract:
        return StateFact(UNKNOWN, worst.reason, by)
    if isinstance(operator, Sink):
        return StateFact(PARTITIONED, Reason(model.why, operator.where), ((),))
    if operator.key is None or (main is not None and _keeps_nothing(main.found)):
        text = contract if by_contract else "keeps no state between tuples"
        return StateFact(STATELESS, Reason(text, operator.where))
    own = main.notes.writes_state if main is not None else None
    return StateFact(PARTITIONED, own or Reason(f"{operator.kind} has a state", operator.where), by)


def _keeps_nothing(main: FollowResult) -> bool:
    return main.notes.writes_state is None and main.notes.reads_time is None


def _selectivity(operator: Operator, model: Model, sure: bool) -> tuple[Selectivity, ...]:
    """By output port: results, marks, dead letters."""
    made: list[Selectivity] = []
    withheld = operator.on_error != "fail" and model.can_fail
    for least, most in model.counts:
        why = f"{model.why}; failed tuples are withheld" if withheld and least else model.why
        made.append(Selectivity(0 if withheld else least, most, Reason(why, operator.where), sure))
    if operator.mark_output is not None:
        made.append(Selectivity(0, 1, Reason("marks", operator.where)))
    if operator.dead_port is not None:
        made.append(Selectivity(0, 1, Reason("failed tuples", operator.where)))
    return tuple(made)


def _forwards(operator: Operator, model: Model) -> tuple[tuple[Copies, ...], ...]:
    nothing: tuple[Copies, ...] = tuple({} for _ in operator.inputs)
    marks = len(operator.inputs) - len(model.reads)
    made = [(*port, *nothing[:marks]) for port in model.copies]
    return (*made, *((nothing,) * (len(operator.outputs) - len(made))))


# Objects that several operators share.


class _Changes:
    """The changes that operators make, or may make, to the objects that they hold, by object."""

    def __init__(self, codes: Mapping[str, list[FollowedCode]]) -> None:
        self.codes = codes
        self.by_object: dict[int, list[_Change]] = {}
        self.reachable: dict[int, Mapping[int, object]] = {}
        for name, code in codes.items():
            for one in code:
                for kind, places in ((READS_CHANGED, one.notes.changed), (UNKNOWN_CALL, one.notes.exposed)):
                    for (_, _, reason), place in places.items():
                        self.by_object.setdefault(id(place[0]), []).append(_Change(name, kind, place[1], reason))

    def seen_by(self, reader: str) -> list[Effect]:
        """The effects on an operator that reads what another one changes: it depends on when the other one runs."""
        found: dict[tuple[int, int], Effect] = {}  # by object and change: the first read
        for one in self.codes[reader] if self.by_object else ():
            for (_, _, mine), (held, name) in one.notes.seen.items():
                for key, change in self._visible(held, name):
                    if change.operator != reader and key not in found:
                        verb = "changes" if change.kind == READS_CHANGED else "may change"
                        text = f"{mine.text}, which {change.operator} {verb} ({change.reason})"
                        found[key] = Effect(change.kind, Reason(text, mine.where))
        return list(found.values())

    def _visible(self, held: object, name: str) -> Iterator[tuple[tuple[int, int], _Change]]:
        """The changes that a read of a place can observe. A place without a name is any part of its object."""
        for index, change in enumerate(self.by_object.get(id(held), ())):
            if not name or not change.name or name == change.name:
                yield (id(held), index), change
        if name:
            return
        for other in self.by_object.keys() & self._reachable(held).keys() - {id(held)}:
            for index, change in enumerate(self.by_object[other]):
                if not change.name:
                    yield (other, index), change

    def _reachable(self, held: object) -> Mapping[int, object]:
        if id(held) not in self.reachable:
            self.reachable[id(held)] = _reachable(held)
        return self.reachable[id(held)]


@dataclass(frozen=True, slots=True)
class _Change:
    operator: str
    kind: str
    name: str  # the part of the object; empty: any part
    reason: Reason


def _reachable(held: object) -> Mapping[int, object]:
    """All objects that are reachable from an object, by identity. The contents of installed modules are skipped."""
    seen: dict[int, object] = {}
    waiting: list[Any] = [held]
    while waiting and len(seen) < 100_000:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, str | bytes | int | float):
            continue
        seen[id(one)] = one
        if isinstance(one, ModuleType) and _is_installed(one):
            continue
        if isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            waiting += one
        elif not isinstance(one, type):
            waiting += vars(one).values() if hasattr(one, "__dict__") else []
    return seen


def _is_installed(module: ModuleType) -> bool:
    return module.__name__ in sys.builtin_module_names or is_foreign(getattr(module, "__file__", None) or "")
