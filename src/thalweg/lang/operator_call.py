"""The call in the user's program that creates an operator: its location, its name, and the checks of all operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from thalweg.errors import GraphError, Where, shown
from thalweg.ir import operators as ops
from thalweg.ir.frozen_code import Freezer
from thalweg.ir.logic import Logic
from thalweg.ir.operators import DEAD_LETTER, MARK, Operator, StreamRef
from thalweg.ir.state_pickles import check_initial_state
from thalweg.ir.types import DATETIME, INT, TupleType
from thalweg.ir.user_calls import call_place, prefixed, user_frame
from thalweg.ir.windows import PUNCTUATION, Window
from thalweg.lang.dropped_attributes import time_hint
from thalweg.lang.outputs import declared_type
from thalweg.lang.source_place import assigned_name
from thalweg.lang.tuples import Tuple
from thalweg.lang.type_classes import check_distance
from thalweg.library.multi_port import EveryPunctuation, LeastTime, LeastTimeConfig, MeetConfig, Origin
from thalweg.library.windows.by_event_time import TimeWindow

if TYPE_CHECKING:
    from thalweg.lang.app import App, Stream


SINKS = ("sink", "export", "feed")
_SEPARATORS = "#=[];,/\\"


def word(name: str, what: str, where: Where) -> str:
    """A name that is a single word in the text form of a plan and in options, and one folder in a checkpoint."""
    good = isinstance(name, str) and all(c.isprintable() and not c.isspace() and c not in _SEPARATORS for c in name)
    if not good or not all(name.split(".")):
        raise GraphError(
            f"bad {what} name",
            where=where,
            expected=f"a word without spaces, control characters or {' '.join(_SEPARATORS)}; dots only inside it",
            found=shown(name),
            hint="plans and --fuse list names as words, and a checkpoint has a folder of this name",
        )
    return name


class OperatorSite:
    """The call in the user's program that creates an operator: its location and the operator's name."""

    def __init__(self, app: App, kind: str, name: str | None) -> None:
        frame = user_frame()
        self.app, self.where = app, call_place(frame)
        self.is_sink = kind in SINKS
        self.name = self._own(name) if name is not None else self._derived(kind, assigned_name(frame))
        self.freezer = Freezer(self.where, self.name)

    def _own(self, name: str) -> str:
        taken = self._taken
        name = prefixed(word(name, "operator", self.where))
        if name in taken:
            raise GraphError(
                f"two {'sinks' if self.is_sink else 'operators'} are called {name}",
                where=self.where,
                found=f"the first is at {taken[name].where}",
                hint="name= is optional",
            )
        return name

    @property
    def _taken(self) -> Mapping[str, Operator]:
        """Sinks have names of their own: a sink may be called like the stream that it ends."""
        return self.app._sinks if self.is_sink else self.app._by_name

    def _derived(self, kind: str, assigned: tuple[str, bool] | None) -> str:
        base = prefixed(kind if assigned is None else assigned[0] if assigned[1] else f"{assigned[0]}.{kind}")
        return (self.app._sink_names if self.is_sink else self.app._names).find(base, self._taken)

    def stream(self, operator: Operator, like: Stream | None = None) -> Stream:
        """The first output of a new operator. Marks bypass operators that emit at the positions of their input."""
        given = [self.app._by_name[ref.operator].outputs[ref.port] for ref in operator.inputs]
        own = tuple(map(self.freezer.tuple_type, given))
        if any(a is not b for a, b in zip(own, given, strict=True)):
            operator = replace(operator, own_types=own)
        self.app._add(operator)
        made = self.app._stream(operator.output, operator.outputs[0])
        if like is not None:
            made = made._with_times_of(like)
        if operator.dead_port is not None:
            letters = self.app._stream(StreamRef(operator.name, operator.dead_port), operator.outputs[-1])
            made = replace(made, dead_letter_stream=letters)
        return made

    def policy(self, on_error: str) -> tuple[str, tuple[TupleType, ...]]:
        """An error policy, and the output port that it adds."""
        return on_error, (DEAD_LETTER,) if on_error == "dead_letter" else ()

    def declared(self, into: type[Tuple] | None) -> TupleType:
        return self.freezer.tuple_type(declared_type(into, self.where))

    def time_attribute(self, stream: Stream) -> str:
        """The attribute with a stream's event time."""
        if not stream.timed or stream.tuple_type.get(stream.time) is None:
            raise GraphError(
                f"the stream {stream.ref} has no event time",
                where=self.where,
                expected="a stream after .event_time(attribute), with that attribute"
                + (f" ({stream.time})" if stream.time else ""),
                found=str(stream.tuple_type),
                hint=time_hint(stream),
            )
        return stream.time

    def window(self, stream: Stream, window: Window) -> Window:
        """The window, checked against its stream."""
        stream._check_attributes(window.by, self)
        if isinstance(window, TimeWindow):
            time = window.on or self.time_attribute(stream)
            if not stream.timed:
                self.time_attribute(stream)
            stream._check_attributes((time,), self)
            self.check_time(stream, time, window.clock)
            return replace(window, on=time, of_ends=stream.at_ends and time == stream.time)
        if window.marks == PUNCTUATION and (stream.marks is None or stream.timed):
            raise GraphError(
                f"the stream {stream.ref} has no punctuation",
                where=self.where,
                expected="a stream after .punctor(…)",
                hint=".punctor(lambda t: …), true for the tuples that end a window",
            )
        if window.distance is not None:
            attribute, delta = window.distance
            stream._check_attributes((attribute,), self)
            check_distance("a delta", attribute, stream.tuple_type.kind(attribute), delta, self.where)
        return window

    def check_time(self, stream: Stream, attribute: str, clock: bool) -> None:
        """The attribute, the length of time that it is compared with and the stream's event time have one unit."""
        self.check_unit(stream, attribute, clock)
        if clock != stream.clock:
            raise GraphError(
                f"{attribute} is not in the unit of the event time",
                where=self.where,
                expected=str(DATETIME if stream.clock else INT),
                found=str(stream.tuple_type.get(attribute)),
                hint=f'.event_time("{attribute}") makes it the event time',
            )

    def check_unit(self, stream: Stream, attribute: str, clock: bool) -> None:
        """A length of time must be in the unit of the attribute: 10 may mean seconds, but is 10 µs for a datetime."""
        kind = stream.tuple_type.get(attribute)
        if kind not in (INT, DATETIME):
            raise GraphError(
                f"{attribute} is not a time", where=self.where, expected="int or datetime", found=str(kind)
            )
        if clock != (kind == DATETIME):
            raise GraphError(
                "a length of time in a different unit than the event time",
                where=self.where,
                expected="a timedelta" if kind == DATETIME else f"an int, in the unit of {attribute}",
                found="a timedelta" if clock else "an int",
            )

    def marks_of(self, streams: list[Stream]) -> StreamRef | None:
        """The merged marks of several streams; None if they have different kinds of marks."""
        if not _alike_marked(streams):
            return None
        refs = list(dict.fromkeys(s.marks for s in streams if s.marks is not None))
        if len(refs) <= 1:
            return refs[0] if refs else None
        logic: LeastTime | EveryPunctuation
        if streams[0].timed:
            logic = LeastTime()
            idle = {s.marks: s.idle for s in streams}
            logic.config = LeastTimeConfig({(port, 0): Origin(port, idle[ref]) for port, ref in enumerate(refs)})
        else:
            logic = EveryPunctuation()
            logic.config = MeetConfig(len(refs))
        operator = marks_operator(self._derived(f"{self.name}.marks", None), tuple(refs), logic, self.where)
        self.app._add(operator)
        return operator.output

    def process(
        self,
        word: str,
        logic: Logic,
        streams: list[Stream],
        *,
        by: list[tuple[str, ...]] | None,
        outputs: list[TupleType],
        marks: StreamRef | None = None,
        timed: bool = False,
        on_error: str = "fail",
    ) -> list[Stream]:
        """Add an operator that runs Python code; returns its output streams."""
        for other in streams[1:]:
            streams[0]._same_app(other, self)
        policy, letters = self.policy(on_error)
        if by is not None:
            check_initial_state(logic, self.name, self.where)
        passed = (MARK,) if marks is not None else ()
        operator = ops.Process(
            name=self.name,
            inputs=(*(s.ref for s in streams), *((marks,) if marks is not None else ())),
            outputs=(*outputs, *passed, *letters),
            where=self.where,
            on_error=policy,
            word=word,
            logic=logic,
            by=None if by is None else tuple(by),
            marked=marks is not None,
            timed=timed,
            results=len(outputs),
        )
        first = self.stream(operator, streams[0] if marks is None else None)
        made = [replace(first, ref=StreamRef(self.name, i), tuple_type=t) for i, t in enumerate(outputs)]
        if marks is not None:
            mark_stream = StreamRef(self.name, len(outputs))
            like = replace(streams[0], marks=mark_stream, timed=timed, idle=longest(streams))
            made = [s._with_times_of(like) for s in made]
        return made

    def meeting(
        self,
        word: str,
        logic: Logic,
        streams: list[Stream],
        by: list[tuple[str, ...]],
        output: TupleType,
        on_error: str = "fail",
    ) -> Stream:
        """An operator that lets tuples of several streams wait for each other. The marks of its results are those of
        all streams together, as after a union."""
        marks = self.marks_of(streams)
        timed = marks is not None and streams[0].timed
        made = self.process(word, logic, streams, by=by, outputs=[output], marks=marks, timed=timed, on_error=on_error)[
            0
        ]
        if not timed or (output is streams[0].tuple_type and len({(s.time, s.at_ends) for s in streams}) > 1):
            made = replace(made, time="", at_ends=False)
        return replace(made, marks=made.marks if marks is not None else None, timed=timed)

    def windowed(
        self,
        stream: Stream,
        word: str,
        window: Window,
        logic: Logic,
        output: TupleType,
        on_error: str,
        end: str | None = None,
    ) -> Stream:
        """An operator over a window, with a late stream if the window is in event time. `end`: the attribute of its
        results with the window's end, which is their event time; None: results keep the attribute of the stream."""
        outputs = [output, stream.tuple_type] if window.timed else [output]
        marks = None if window.marks is None else stream.marks
        made = self.process(
            word, logic, [stream], by=[window.by], outputs=outputs, marks=marks, timed=window.timed, on_error=on_error
        )
        if not window.timed:
            return made[0]
        results = made[0] if end is None else replace(made[0], time=end, at_ends=True)
        return results.with_late(made[1])


def marks_operator(name: str, marks: tuple[StreamRef, ...], logic: Logic, where: Where) -> ops.Process:
    """An operator that makes one stream of marks of several."""
    by = ((),) * len(marks)
    return ops.Process(name=name, inputs=marks, outputs=(MARK,), where=where, word="marks", logic=logic, by=by)


def longest(streams: list[Stream]) -> int | None:
    """For how many epochs to wait for several streams together."""
    idle = [s.idle for s in streams]
    return None if None in idle else max(i for i in idle if i is not None)


def _alike_marked(streams: list[Stream]) -> bool:
    """Whether all streams have event time in one unit, or all punctuation; otherwise the result of combining them has
    neither."""
    return all(s.marks is not None for s in streams) and len({(s.timed, s.timed and s.clock) for s in streams}) == 1
