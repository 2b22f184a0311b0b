"""`tw.App` and `tw.Stream`: the language. Building a graph does not run anything."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from thalweg.endpoints.files import exported
from thalweg.endpoints.kafka import Kafka, through
from thalweg.errors import GraphError, described
from thalweg.ir import operators as ops
from thalweg.ir.arguments import checked
from thalweg.ir.endpoints import Decoding, Endpoint, SourceEndpoint
from thalweg.ir.frozen_code import complete
from thalweg.ir.graph import LogicalGraph, beside
from thalweg.ir.hints import Hint
from thalweg.ir.operators import BAD_RECORD, Operator, StreamRef
from thalweg.ir.sent_code import send_code_of
from thalweg.ir.types import TupleType, unknown_attribute
from thalweg.ir.user_calls import call_place, user_frame
from thalweg.lang import derived_operators as library
from thalweg.lang import embedding as inside
from thalweg.lang import keyed_operators as keyed
from thalweg.lang import pass_through as passing
from thalweg.lang import per_tuple_operators as per_tuple
from thalweg.lang import plan_hints as control
from thalweg.lang import stream_ends as ends
from thalweg.lang.check_endpoints import check_source
from thalweg.lang.dropped_attributes import naming_the_dropper
from thalweg.lang.finish_graph import finished
from thalweg.lang.free_names import FreeNames
from thalweg.lang.operator_call import OperatorSite, word
from thalweg.lang.params import current_scope
from thalweg.lang.tuples import Tuple
from thalweg.lang.window import Names, names


class App:
    """An application: a named graph of operators. Create it at module level; nothing runs until it is started."""

    @partial(checked, label="App")
    def __init__(self, name: str) -> None:
        frame = user_frame()
        self.where = call_place(frame)
        self.name = word(name, "application", self.where)
        self.module = str(frame.f_globals.get("__name__", ""))
        self._scope = current_scope()
        self._scope.app_modules.add(self.module)
        send_code_of(self.module)
        self._operators: list[Operator] = []
        self._by_name: dict[str, Operator] = {}
        self._sinks: dict[str, Operator] = {}
        self._names = FreeNames()
        self._sink_names = FreeNames()
        self._immediate: set[str] = set()  # feedback operators whose loop is run tuple by tuple
        self._calls: set[str] = set()  # the names of its composites
        self._call_names = FreeNames()
        self._hints: dict[str, Hint] = {}  # hints about the plan, by operator

    @checked
    def source(
        self,
        endpoint: SourceEndpoint,
        tuple_type: type[Tuple],
        *,
        partition_by: Names = None,
        name: str | None = None,
    ) -> Stream:
        """A stream of an endpoint's tuples. `partition_by`: the attributes that partition the source;
        rules="paper" reads such a source in parallel."""
        site = OperatorSite(self, "source", name)
        if not (isinstance(tuple_type, type) and issubclass(tuple_type, Tuple)):
            raise GraphError(
                "a source needs a tuple type",
                where=site.where,
                expected="a subclass of tw.Tuple",
                found=tuple_type.call if isinstance(tuple_type, Endpoint) else described(tuple_type),
                hint="the endpoint comes first: app.source(tw.files(…), Type)"
                if isinstance(tuple_type, Endpoint)
                else None,
            )
        return self._source(site, endpoint, site.declared(tuple_type), names(partition_by))

    def _source(
        self, site: OperatorSite, endpoint: SourceEndpoint, tuple_type: TupleType, key: tuple[str, ...] = ()
    ) -> Stream:
        check_source(endpoint, tuple_type, site.where)
        if endpoint.numbered is not None:
            site.freezer.freeze(endpoint.numbered)  # raises the error of code that cannot be frozen
        decoding = endpoint.decoding(tuple_type, site.where)
        if decoding is not None:
            return self._decoded(site, endpoint, decoding, tuple_type)
        for attribute in key:
            if tuple_type.get(attribute) is None:
                raise unknown_attribute(attribute, tuple_type, site.where)
        letters = (BAD_RECORD,) if endpoint.row_policy == "dead_letter" else ()
        return site.stream(
            ops.Source(
                name=site.name,
                outputs=(tuple_type, *letters),
                where=site.where,
                on_error=endpoint.row_policy,
                endpoint=endpoint,
                partition_by=key,
            )
        )

    def _decoded(
        self, site: OperatorSite, endpoint: SourceEndpoint, decoding: Decoding, tuple_type: TupleType
    ) -> Stream:
        """A source of raw records and a map that decodes them: in the workers, under an error policy."""
        policy, letters = site.policy(decoding.on_error)
        name = self._names.find(f"{site.name}.records", self._by_name)
        records = site.stream(
            ops.Source(name=name, outputs=(decoding.record,), where=site.where, endpoint=endpoint),
        )
        return site.stream(
            ops.Map(
                name=site.name,
                inputs=(records.ref,),
                outputs=(tuple_type, *letters),
                where=site.where,
                on_error=policy,
                function=ops.Function(decoding.function, site.where, None, decoding.opaque_because),
            )
        )

    @checked
    def imported(
        self, export: str, tuple_type: type[Tuple], *, via: Kafka | None = None, name: str | None = None
    ) -> Stream:
        """The stream that another application exports under this name; they may run at the same time or in any order.

        `via=tw.kafka(…)`: the exporter's topic, instead of a folder."""
        site = OperatorSite(self, "imported", name)
        declared = site.declared(tuple_type)
        endpoint = through(via, export, site.where) if via is not None else exported(export, declared, site.where)
        return self._source(site, endpoint, declared)

    @checked
    def feedback(self, tuple_type: type[Tuple], *, immediate: bool = False, name: str | None = None) -> Stream:
        """The start of a loop: the tuples that `.feed(loop)` sends back, each in the next epoch; or, with
        `immediate`, before the next tuple enters the loop, whose operators then run one tuple at a time."""
        site = OperatorSite(self, "feedback", name)
        if immediate:
            self._immediate.add(site.name)
        return site.stream(ops.Feedback(name=site.name, outputs=(site.declared(tuple_type),), where=site.where))

    @checked
    def graph(self) -> LogicalGraph:
        """The finished graph: every stream must have a consumer."""
        return self._finished(self._distinct())

    def _finished(self, operators: tuple[Operator, ...], *, open_ends: bool = False) -> LogicalGraph:
        self._scope.check(self.module)
        complete()
        params = tuple((d.name, d.shown) for d in self._scope.of(self.module))
        here = {operator.name for operator in operators}
        hints = {name: hint for name, hint in self._hints.items() if name in here}
        graph = LogicalGraph(self.name, operators, params, hints)
        return finished(graph, frozenset(self._immediate), self.where, open_ends=open_ends)

    start = inside.start

    def _add(self, operator: Operator) -> None:
        self._operators.append(operator)
        (self._sinks if isinstance(operator, ops.Sink) else self._by_name)[operator.name] = operator

    def _distinct(self) -> tuple[Operator, ...]:
        """All operators. Here, a sink that is called like another operator gets a name of its own."""
        taken = {**self._by_name}
        for sink in self._sinks.values():
            name = beside(sink.name) if sink.name in self._by_name else sink.name
            if name in taken:
                found = f"the first is at {taken[name].where}"
                raise GraphError(f"two operators are called {name}", where=sink.where, found=found)
            taken[name] = sink
        renamed = {sink.name: name for name, sink in taken.items() if isinstance(sink, ops.Sink)}
        return tuple(replace(o, name=renamed[o.name]) if isinstance(o, ops.Sink) else o for o in self._operators)

    def _stream(self, ref: StreamRef, tuple_type: TupleType) -> Stream:
        return Stream(self, ref, tuple_type)


@dataclass(frozen=True)
class Stream:
    """The tuples of one output port."""

    app: App
    ref: StreamRef
    tuple_type: TupleType
    marks: StreamRef | None = None  # punctuation or event time
    time: str = ""  # the attribute with the event time
    at_ends: bool = False  # whether that is the end of a window, which the window does not include
    timed: bool = False
    clock: bool = False  # whether the event time is that of a datetime
    idle: int | None = None  # for how many epochs without tuples other streams wait for its event time; None: always
    beside_late: Stream | None = field(default=None, compare=False, repr=False)
    beside_late_other: Stream | None = field(default=None, compare=False, repr=False)
    dead_letter_stream: Stream | None = field(default=None, compare=False, repr=False)

    def __repr__(self) -> str:
        return f"<stream {self.ref} of {self.tuple_type}>"

    if not TYPE_CHECKING:  # otherwise, type checkers would accept every name

        def __getattr__(self, name: str) -> object:
            tuple_type = self.__dict__.get("tuple_type")  # not there yet while a copy is made
            if tuple_type is None or tuple_type.get(name) is None:
                raise AttributeError(f"'Stream' object has no attribute {name!r}", name=name, obj=self)
            raise AttributeError(
                f"{name} is an attribute of the tuples of {self.ref}, not of the stream: use it in a function, "
                f"lambda t: t.{name}, or by name, {name!r}"
            )

    def _site(self, kind: str, name: str | None) -> OperatorSite:
        return OperatorSite(self.app, kind, name)

    def _with_times_of(self, other: Stream) -> Stream:
        """The stream with the marks and the event time of another one."""
        return replace(
            self,
            marks=other.marks,
            time=other.time,
            at_ends=other.at_ends,
            timed=other.timed,
            clock=other.clock,
            idle=other.idle,
        )

    def with_late(self, late: Stream, other: Stream | None = None) -> Stream:
        return replace(self, beside_late=late, beside_late_other=other)

    @property
    def late(self) -> Stream:
        """After a window or join by time: the tuples of the stream that arrived too late for all their windows."""
        if self.beside_late is None:
            raise GraphError(
                f"the stream {self.ref} has no late tuples",
                where=call_place(user_frame()),
                expected="the result of an operator with a window by time",
            )
        return self.beside_late

    @property
    def late_other(self) -> Stream:
        """After a join within a time: the tuples of the other stream that arrived too late."""
        if self.beside_late_other is None:
            raise GraphError(
                f"the stream {self.ref} has no late tuples of another stream",
                where=call_place(user_frame()),
                expected="the result of a join with window.within(…)",
            )
        return self.beside_late_other

    @property
    def dead_letters(self) -> Stream:
        """After an operator with on_error="dead_letter": the tuples on which it failed, with the error."""
        if self.dead_letter_stream is None:
            raise GraphError(
                f"the stream {self.ref} has no dead letters",
                where=call_place(user_frame()),
                expected='the result of an operator with on_error="dead_letter"',
            )
        return self.dead_letter_stream

    map = per_tuple.map
    filter = per_tuple.filter
    flat_map = per_tuple.flat_map
    map_batches = per_tuple.map_batches
    split = per_tuple.split
    split_randomly = per_tuple.split_randomly
    union = passing.union
    event_time = passing.event_time
    punctor = passing.punctor
    delay = passing.delay
    throttle = passing.throttle
    aggregate = keyed.aggregate
    join = keyed.join
    sink = ends.sink
    export = ends.export
    feed = ends.feed
    parallel = control.parallel
    sequential = control.sequential
    fuse_with = control.fuse_with
    isolate = control.isolate
    unordered = control.unordered
    apply = library.apply
    sort = library.sort
    top_k = library.top_k
    skyline = library.skyline
    dedup = library.dedup
    lookup = library.lookup
    merge_ordered = library.merge_ordered
    barrier = library.barrier
    pair = library.pair
    custom = library.custom
    to_dataframe = inside.to_dataframe

    def _same_app(self, other: Stream, site: OperatorSite) -> None:
        if not isinstance(other, Stream):
            streams = isinstance(other, list | tuple) and all(isinstance(one, Stream) for one in other)
            hint = "pass the streams one by one, or with a star: *streams" if streams else None
            raise GraphError("not a stream", where=site.where, expected="a stream", found=described(other), hint=hint)
        if other.app is not self.app:
            raise GraphError(
                "streams of different applications cannot be combined",
                where=site.where,
                expected=f"a stream of {self.app.name}",
                found=f"the stream {other.ref} of {other.app.name}",
            )

    def _check_attributes(self, attributes: tuple[str, ...], site: OperatorSite) -> None:
        for attribute in attributes:
            if self.tuple_type.get(attribute) is None:
                with naming_the_dropper(self):
                    raise unknown_attribute(attribute, self.tuple_type, site.where)
