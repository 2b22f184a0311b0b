"""`tw.App` and `tw.Stream`: the language. Building a graph runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thalweg.errors import GraphError, Where, did_you_mean
from thalweg.ir import operators as ops
from thalweg.ir.expr import Record
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Collect, Files, Function, Operator, StreamRef
from thalweg.ir.types import BOOL, FLOAT, INT, TupleType
from thalweg.lang import agg
from thalweg.lang.functions import read_function, unknown_attribute
from thalweg.lang.params import current_scope
from thalweg.lang.place import assigned_name, call_place, prefixed, user_frame
from thalweg.lang.tuples import Tuple, check_names
from thalweg.lang.window import Last, names

RowFunction = Callable[[Any], Any]


class App:
    """An application: a named graph of operators. Make it at module level; nothing runs until it is started."""

    def __init__(self, name: str) -> None:
        frame = user_frame()
        self.where = call_place(frame)
        self.name = word(name, "application", self.where)
        self.module = str(frame.f_globals.get("__name__", ""))
        self._scope = current_scope()
        self._scope.app_modules.add(self.module)
        self._operators: list[Operator] = []
        self._calls: list[str] = []  # the names of its composites

    def source(self, endpoint: Files, tuple_type: type[Tuple], *, name: str | None = None) -> Stream:
        """A stream of the tuples that an endpoint holds."""
        site = _Site(self, "source", name)
        if not (isinstance(tuple_type, type) and issubclass(tuple_type, Tuple)):
            raise GraphError(
                "a source needs a tuple type",
                where=site.where,
                expected="a subclass of tw.Tuple",
                found=repr(tuple_type),
            )
        if not isinstance(endpoint, Files):
            raise GraphError("not a source", where=site.where, expected="tw.files(…)", found=repr(endpoint))
        return site.stream(
            ops.Source(name=site.name, outputs=(tuple_type.tuple_type,), where=site.where, endpoint=endpoint)
        )

    def graph(self) -> LogicalGraph:
        """The finished graph: every stream must end somewhere."""
        self._scope.check(self.module)
        params = tuple((d.name, d.shown) for d in self._scope.of(self.module))
        graph = LogicalGraph(self.name, tuple(self._operators), params)
        if not graph.sources:
            raise GraphError(
                f"application {self.name} has no source", where=self.where, hint="app.source(tw.files(…), Type)"
            )
        for stream, consumers in graph.consumers.items():
            if not consumers:
                raise GraphError(
                    f"the stream {stream} leads nowhere",
                    operator=stream.operator,
                    where=graph.by_name[stream.operator].where,
                    expected="an operator or a sink behind every output port",
                    hint=".sink(tw.collect())",
                )
        _check_folders(graph)
        return graph

    def _add(self, operator: Operator) -> None:
        self._operators.append(operator)


def word(name: str, what: str, where: Where) -> str:
    """A name that stands in the text form of a plan and in generated code as one word."""
    if not name or any(c.isspace() or not c.isprintable() or c in "#=[]" for c in name):
        raise GraphError(f"bad {what} name", where=where, expected="a word without spaces or # = [ ]", found=repr(name))
    return name


class _Site:
    """The call of the user's program that makes an operator: its place and the operator's name."""

    def __init__(self, app: App, kind: str, name: str | None) -> None:
        frame = user_frame()
        self.app, self.where = app, call_place(frame)
        self.name = self._own(name) if name is not None else self._derived(kind, assigned_name(frame))

    def _own(self, name: str) -> str:
        taken = {o.name: o for o in self.app._operators}
        name = prefixed(word(name, "operator", self.where))
        if name in taken:
            raise GraphError(
                f"two operators are called {name}", where=self.where, found=f"the first stands at {taken[name].where}"
            )
        return name

    def _derived(self, kind: str, assigned: tuple[str, bool] | None) -> str:
        base = prefixed(kind if assigned is None else assigned[0] if assigned[1] else f"{assigned[0]}.{kind}")
        taken = {o.name for o in self.app._operators}
        numbered = [base, *(f"{base}_{i}" for i in range(2, len(taken) + 3))]
        return next(name for name in numbered if name not in taken)

    def stream(self, operator: Operator) -> Stream:
        self.app._add(operator)
        return Stream(self.app, operator.output, operator.outputs[0])


@dataclass(frozen=True)
class Stream:
    """The tuples of one output port."""

    app: App
    ref: StreamRef
    tuple_type: TupleType

    def map(self, function: RowFunction, into: type[Tuple] | None = None, *, name: str | None = None) -> Stream:
        """One tuple out for each tuple in. The function returns a dict or a tuple; `into` declares its type."""
        site = _Site(self.app, "map", name)
        read = read_function(function, self.tuple_type, site.where)
        output = _map_type(read, into, site)
        if isinstance(read.expr, Record):
            read = _in_declared_order(read, output, site)
        elif read.expr is not None:
            raise GraphError(
                "a map returns a tuple",
                where=site.where,
                expected="a dict of attributes",
                found=f"a single {read.expr.type}",
            )
        return site.stream(
            ops.Map(name=site.name, inputs=(self.ref,), outputs=(output,), where=site.where, function=read)
        )

    def filter(self, predicate: RowFunction, *, name: str | None = None) -> Stream:
        """The tuples for which the predicate is true."""
        site = _Site(self.app, "filter", name)
        read = read_function(predicate, self.tuple_type, site.where)
        if read.expr is not None and (isinstance(read.expr, Record) or read.expr.type is not BOOL):
            # Truth of a number or a string: Python decides, row by row.
            read = replace(read, expr=None, opaque_because="it does not return a bool")
        return site.stream(
            ops.Filter(name=site.name, inputs=(self.ref,), outputs=(self.tuple_type,), where=site.where, function=read)
        )

    def flat_map(self, function: RowFunction, into: type[Tuple], *, name: str | None = None) -> Stream:
        """Any number of tuples for each tuple in: the function returns or yields dicts or tuples."""
        site = _Site(self.app, "flat_map", name)
        read = Function(function, site.where, None, "it may return several tuples")
        output = _declared(into, site)
        return site.stream(
            ops.FlatMap(name=site.name, inputs=(self.ref,), outputs=(output,), where=site.where, function=read)
        )

    def split(self, function: RowFunction, ports: int, *, name: str | None = None) -> tuple[Stream, ...]:
        """Each tuple goes to the one of `ports` output streams whose number the function returns."""
        site = _Site(self.app, "split", name)
        if type(ports) is not int or ports < 1:
            raise GraphError("split: bad number of ports", where=site.where, expected="1 or more", found=repr(ports))
        read = read_function(function, self.tuple_type, site.where)
        if read.expr is not None and (isinstance(read.expr, Record) or read.expr.type is not INT):
            raise GraphError("split: the function names a port", where=site.where, expected=f"an int in 0..{ports - 1}")
        operator = ops.Split(
            name=site.name, inputs=(self.ref,), outputs=(self.tuple_type,) * ports, where=site.where, function=read
        )
        self.app._add(operator)
        return tuple(Stream(self.app, StreamRef(operator.name, port), self.tuple_type) for port in range(ports))

    def union(self, *others: Stream, name: str | None = None) -> Stream:
        """The tuples of several streams of one type, in the order of their positions."""
        site = _Site(self.app, "union", name)
        for other in others:
            self._same_app(other, site)
            if not self.tuple_type.same_attributes(other.tuple_type):
                raise GraphError(
                    "union of different tuple types",
                    where=site.where,
                    expected=str(self.tuple_type),
                    found=str(other.tuple_type),
                )
        refs = (self.ref, *(other.ref for other in others))
        return site.stream(ops.Union(name=site.name, inputs=refs, outputs=(self.tuple_type,), where=site.where))

    def aggregate(
        self, window: ops.Running | ops.Sliding, *, name: str | None = None, **fields: agg.Aggregate
    ) -> Stream:
        """Aggregates over a window, one result per tuple (or per `slide` tuples) of a key."""
        site = _Site(self.app, "aggregate", name)
        if not isinstance(window, ops.Running | ops.Sliding):
            raise GraphError(
                "not a window for an aggregate",
                where=site.where,
                expected="window.running or window.sliding",
                found=repr(window),
            )
        if not fields:
            raise GraphError("an aggregate without fields", where=site.where, hint="total=agg.sum('volume')")
        self._check_attributes(window.by, site)
        check_names(fields, site.name, site.where)
        table = agg.FoldTable(self.tuple_type, site.where)
        record = Record(tuple((field, table.resolve(aggregate)) for field, aggregate in fields.items()))
        output = TupleType(site.name, tuple((field, expr.type) for field, expr in record.fields))
        return site.stream(
            ops.Aggregate(
                name=site.name,
                inputs=(self.ref,),
                outputs=(output,),
                where=site.where,
                window=window,
                folds=tuple(table.folds),
                fields=record,
            )
        )

    def join(self, other: Stream, window: Last, *, on: str | Iterable[str], name: str | None = None) -> Stream:
        """Each tuple of this stream with the last tuple of the other that has its key; without one it is dropped."""
        site = _Site(self.app, "join", name)
        self._same_app(other, site)
        if not isinstance(window, Last):
            raise GraphError(
                "not a window for a join", where=site.where, expected="window.last(1, by=…)", found=repr(window)
            )
        key = names(on)
        if not key:
            raise GraphError("a join needs a key", where=site.where, expected='on="attribute"')
        self._check_attributes(key, site)
        other._check_attributes(key, site)
        if window.by not in ((), key):
            raise GraphError(
                "the join's window is kept by another key",
                where=site.where,
                expected=f"by={key}",
                found=f"by={window.by}",
            )
        for attribute in key:
            if self.tuple_type.get(attribute) != other.tuple_type.get(attribute):
                raise GraphError(
                    f"the sides of the join disagree on the type of {attribute}",
                    where=site.where,
                    expected=str(self.tuple_type.get(attribute)),
                    found=str(other.tuple_type.get(attribute)),
                )
        added = tuple((n, t) for n, t in other.tuple_type.attributes if n not in key)
        twice = [n for n, _ in added if n in self.tuple_type.names]
        if twice:
            raise GraphError(
                f"both sides of the join have {', '.join(twice)}",
                where=site.where,
                expected="different names, except for the key",
                hint="rename them in a .map() before the join",
            )
        output = TupleType(site.name, self.tuple_type.attributes + added)
        return site.stream(
            ops.Join(name=site.name, inputs=(self.ref, other.ref), outputs=(output,), where=site.where, on=key)
        )

    def sink(self, endpoint: Files | Collect, *, name: str | None = None) -> None:
        """The end of a stream."""
        site = _Site(self.app, "sink", name)
        if not isinstance(endpoint, Files | Collect):
            raise GraphError(
                "not a sink", where=site.where, expected="tw.files(…) or tw.collect()", found=repr(endpoint)
            )
        self.app._add(ops.Sink(name=site.name, inputs=(self.ref,), where=site.where, endpoint=endpoint))

    def _same_app(self, other: Stream, site: _Site) -> None:
        if other.app is not self.app:
            raise GraphError(
                "streams of two applications meet", where=site.where, expected=self.app.name, found=other.app.name
            )

    def _check_attributes(self, attributes: tuple[str, ...], site: _Site) -> None:
        for attribute in attributes:
            if self.tuple_type.get(attribute) is None:
                raise unknown_attribute(attribute, self.tuple_type, site.where)


def _check_folders(graph: LogicalGraph) -> None:
    """Files are named by epoch: two sinks in one folder would overwrite each other's without a word."""
    read = {Path(s.endpoint.path).absolute() for s in graph.sources}
    written: dict[Path, str] = {}
    for sink in graph.sinks:
        if not isinstance(sink.endpoint, Files):
            continue
        folder = Path(sink.endpoint.path).absolute()
        if folder in read:
            raise GraphError(
                "a sink writes into the folder that a source reads",
                operator=sink.name,
                where=sink.where,
                expected="a folder of its own",
                found=str(folder),
            )
        if folder in written:
            raise GraphError(
                f"two sinks write into {folder}",
                operator=sink.name,
                where=sink.where,
                expected="a folder for each sink",
                found=f"{written[folder]} writes there too",
            )
        written[folder] = sink.name


def _declared(into: type[Tuple] | None, site: _Site) -> TupleType:
    if not (isinstance(into, type) and issubclass(into, Tuple)):
        raise GraphError("not a tuple type", where=site.where, expected="a subclass of tw.Tuple", found=repr(into))
    return into.tuple_type


def _map_type(read: Function, into: type[Tuple] | None, site: _Site) -> TupleType:
    if into is not None:
        return _declared(into, site)
    if isinstance(read.expr, Record):
        check_names((name for name, _ in read.expr.fields), site.name, site.where)
        return TupleType(site.name, tuple((name, expr.type) for name, expr in read.expr.fields))
    if read.expr is not None:
        return TupleType(site.name, ())  # refused by the caller, with what it found
    raise GraphError(
        f"the output type of this map cannot be inferred: {read.opaque_because}",
        where=site.where,
        expected="a declared tuple type",
        hint="stream.map(function, Out), where Out is a subclass of tw.Tuple",
    )


def _in_declared_order(read: Function, output: TupleType, site: _Site) -> Function:
    """The function with its fields in the order, and of the types, of the output type."""
    assert isinstance(read.expr, Record)
    fields = dict(read.expr.fields)
    for name in fields:
        if output.get(name) is None:
            raise GraphError(
                f"the map returns {name}, which {output.name} does not have",
                where=site.where,
                expected=str(output),
                hint=did_you_mean(name, output.names),
            )
    for name, kind in output.attributes:
        if name not in fields:
            raise GraphError(f"the map does not return {name}", where=site.where, expected=str(output))
        if fields[name].type is not kind and not (kind is FLOAT and fields[name].type is INT):
            raise GraphError(
                f"the map returns another type for {name}",
                where=site.where,
                expected=str(kind),
                found=str(fields[name].type),
            )
    if any(fields[name].type is not kind for name, kind in output.attributes):
        return replace(read, expr=None, opaque_because="an int becomes a float")
    return replace(read, expr=Record(tuple((name, fields[name]) for name in output.names)))
