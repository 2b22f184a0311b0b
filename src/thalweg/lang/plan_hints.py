"""The user's hints about the plan: `parallel`, `sequential`, `fuse_with`, `isolate`, `unordered`.

Each applies to the operator that made the stream (`unordered`: only to this stream) and returns the stream, so that
calls can be chained. None of them changes the answer; `unordered` gives up an order that does not matter to the user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thalweg.errors import GraphError, Where, described
from thalweg.ir.arguments import Count, checked
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.hints import Hint
from thalweg.ir.operators import Operator, Source
from thalweg.ir.types import unknown_attribute
from thalweg.ir.user_calls import call_place, user_frame
from thalweg.lang.window import Names, names

if TYPE_CHECKING:
    from thalweg.lang.app import Stream


@checked
def parallel(self: Stream, degree: Count | None = None, *, key: Names = None) -> Stream:
    """Run the operator in `degree` channels (by default, the degree of the run), with its tuples routed by `key`, or
    round-robin. For an operator with state, the key must be a part of the operator's key."""
    where = call_place(user_frame())
    operator = _operator(self)
    chosen = None if key is None else names(key)
    if chosen is not None:
        _check_key(self, operator, chosen, where)
    if operator.key == () and operator.users_code is None:
        raise GraphError(
            f"{operator.name} keeps one state for all tuples and cannot run in several channels",
            operator=operator.name,
            where=where,
            expected="an operator without state, or with a key",
            hint='by="…" gives it a state for each key',
        )
    return _hinted(self, where, "parallel", parallel=True, degree=degree, key=chosen)


@checked
def sequential(self: Stream) -> Stream:
    """Run the operator in one channel, where it gets all its tuples in order."""
    return _hinted(self, call_place(user_frame()), "sequential", sequential=True)


@checked
def fuse_with(self: Stream, *others: Stream) -> Stream:
    """Run the operator in the same PE as the operators that made the other streams."""
    where = call_place(user_frame())
    found: list[str] = []
    if not others:
        raise GraphError("fuse_with: no stream", where=where, expected="a stream of another operator")
    for other in others:
        if not isinstance(other, type(self)) or other.app is not self.app or other.ref.operator == self.ref.operator:
            shown = f"{other.ref} of {other.app.name}" if isinstance(other, type(self)) else described(other)
            raise GraphError(
                "fuse_with: not a stream of another operator",
                where=where,
                expected="streams of other operators of the same application",
                found=shown,
            )
        alone = self.app._hints.get(other.ref.operator)
        if alone is not None and alone.isolate:
            raise _contradiction(self.ref.operator, other.ref.operator, where, alone.where)
        found.append(other.ref.operator)
    held = self.app._hints.get(self.ref.operator)
    both = (*(held.fuse_with if held is not None else ()), *found)
    return _hinted(self, where, "fuse_with", fuse_with=tuple(dict.fromkeys(both)))


@checked
def isolate(self: Stream) -> Stream:
    """Run the operator in its own PE."""
    where = call_place(user_frame())
    for name, hint in self.app._hints.items():
        if self.ref.operator in hint.fuse_with:
            raise _contradiction(name, self.ref.operator, where, hint.where)
    return _hinted(self, where, "isolate", isolate=True)


def _contradiction(name: str, alone: str, where: Where, other: Where) -> GraphError:
    return GraphError(
        f"{name} cannot be fused with {alone}, which is isolated",
        operator=name,
        where=where,
        found=f"the conflicting hint is at {other}",
        hint="remove .fuse_with() or .isolate()",
    )


@checked
def unordered(self: Stream) -> Stream:
    """The order of this stream does not matter: sinks after it may get its tuples in any order, unless an epoch that
    runs again must repeat it (files, Kafka, TCP). State after it still gets the tuples of each key in order."""
    held = self.app._hints.get(self.ref.operator)
    ports = {self.ref.port, *(held.unordered if held is not None else ())}
    return _hinted(self, call_place(user_frame()), "unordered", unordered=tuple(sorted(ports)))


_AGAINST = {
    "parallel": ("sequential",),
    "sequential": ("parallel",),
    "fuse_with": ("isolate",),
    "isolate": ("fuse_with",),
    "unordered": (),
}


def _hinted(stream: Stream, where: Where, word: str, **said: Any) -> Stream:
    name = stream.ref.operator
    held = stream.app._hints.get(name)
    against = next((other for other in _AGAINST[word] if held is not None and getattr(held, other)), None)
    if against is not None:
        assert held is not None
        raise GraphError(
            f"{name} has both .{against}() and .{word}()",
            operator=name,
            where=where,
            found=f".{against}() at {held.where}",
            hint=f"remove .{against}() or .{word}()",
        )
    stream.app._hints[name] = replace(held, **said) if held is not None else Hint(where=where, **said)
    return stream


def _operator(stream: Stream) -> Operator:
    return stream.app._by_name[stream.ref.operator]


def _check_key(stream: Stream, operator: Operator, key: tuple[str, ...], where: Where) -> None:
    if isinstance(operator, Source):
        raise GraphError(
            "parallel: a source is read in blocks, not by key",
            operator=operator.name,
            where=where,
            hint='app.source(…, partition_by="…") declares how it is partitioned',
        )
    if operator.key:
        if not key or not set(key) <= set(operator.key):
            raise GraphError(
                f"parallel: the tuples of {operator.name} would be routed away from their state",
                operator=operator.name,
                where=where,
                expected=f"attributes of its key: {', '.join(operator.key)}",
                found=", ".join(key) or "none",
            )
        return
    for ref in operator.inputs:
        kind = stream.app._by_name[ref.operator].outputs[ref.port]
        for name in key:
            if kind.get(name) is None:
                raise unknown_attribute(name, kind, where)


def check_hints(before: Mapping[str, Hint], graph: LogicalGraph) -> None:
    """Reject hints for operators that no longer exist: the operators of an immediate loop become one."""
    for name, hint in before.items():
        if name not in graph.by_name and (hint.parallel or hint.fuse_with or hint.isolate):
            raise GraphError(
                f"{name} is in an immediate loop, whose operators run one tuple at a time in one PE",
                operator=name,
                where=hint.where,
            )
