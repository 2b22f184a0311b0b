"""Operators that pass tuples through unchanged: `union`, `event_time`, `punctor`, `delay`, `throttle`."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING

from thalweg.errors import GraphError
from thalweg.ir import operators as ops
from thalweg.ir.arguments import Count, Positive, RowFunction, checked
from thalweg.ir.operators import MARK, Policy, StreamRef
from thalweg.ir.types import DATETIME, INT
from thalweg.lang.dropped_attributes import naming_the_dropper
from thalweg.lang.operator_call import OperatorSite, longest
from thalweg.lang.read_function import read_function
from thalweg.library.window_arguments import Duration, length_of_time

if TYPE_CHECKING:
    from thalweg.lang.app import Stream

TIME_TYPES = (INT, DATETIME)


@checked
def union(self: Stream, *others: Stream, name: str | None = None) -> Stream:
    """The tuples of several streams of one type, in the order of their positions."""
    site = OperatorSite(self.app, "union", name)
    for other in others:
        self._same_app(other, site)
        if not self.tuple_type.same_attributes(other.tuple_type):
            raise GraphError(
                "union of different tuple types",
                where=site.where,
                expected=str(self.tuple_type),
                found=str(other.tuple_type),
                hint="use .map() to give one stream the attributes of the other, in the same order",
            )
    refs = (self.ref, *(other.ref for other in others))
    marks = site.marks_of([self, *others])
    made = site.stream(ops.Union(name=site.name, inputs=refs, outputs=(self.tuple_type,), where=site.where))
    timed = marks is not None and self.timed
    like = replace(self, marks=marks, timed=timed, idle=longest([self, *others]))
    if not timed or len({(s.time, s.at_ends) for s in (self, *others)}) > 1:
        like = replace(like, time="", at_ends=False)
    return made._with_times_of(like)


IDLE_EPOCHS = 10


@checked
def event_time(
    self: Stream,
    attribute: str,
    *,
    lateness: Duration = 0,
    step: Duration | None = None,
    idle: Count | None = IDLE_EPOCHS,
    name: str | None = None,
) -> Stream:
    """Use an attribute (a datetime, or an int in any unit) as the event time of the stream; tuples may arrive up to
    `lateness` after newer ones. Event time advances in steps; by default, their size depends on the windows.

    The event time of several sources is the minimum of theirs. After `idle` epochs without tuples of a source the
    others no longer wait for it; with None they always do."""
    site = OperatorSite(self.app, "event_time", name)
    self._check_attributes((attribute,), site)
    if self.tuple_type.get(attribute) not in TIME_TYPES:
        raise GraphError(
            f"event_time: {attribute} is not a time",
            where=site.where,
            expected=" or ".join(map(str, TIME_TYPES)),
            found=str(self.tuple_type.get(attribute)),
        )
    late = length_of_time("event_time: bad lateness", lateness, least=0, where=site.where)
    every = 0 if step is None else length_of_time("event_time: bad step", step, least=1, where=site.where)
    for given in (lateness, step):
        if given not in (0, None):  # 0 is the default, also for datetimes
            site.check_unit(self, attribute, isinstance(given, dt.timedelta))
    operator = ops.EventTime(
        name=site.name,
        inputs=(self.ref,),
        outputs=(self.tuple_type, MARK),
        where=site.where,
        attribute=attribute,
        lateness=late,
        step=every,
        idle=idle,
    )
    clock = self.tuple_type.get(attribute) == DATETIME
    marks = StreamRef(site.name, 1)
    return replace(site.stream(operator), marks=marks, time=attribute, timed=True, clock=clock, idle=idle)


@checked
def punctor(
    self: Stream,
    predicate: RowFunction,
    *,
    before: bool = False,
    on_error: Policy = "fail",
    name: str | None = None,
) -> Stream:
    """The stream with a punctuation after (or before) each tuple for which the predicate is true."""
    site = OperatorSite(self.app, "punctor", name)
    with naming_the_dropper(self):
        read = read_function(predicate, self.tuple_type, site.where, site.freezer, as_truth=True)
    policy, letters = site.policy(on_error)
    operator = ops.Punctor(
        name=site.name,
        inputs=(self.ref,),
        outputs=(self.tuple_type, MARK, *letters),
        where=site.where,
        on_error=policy,
        function=read,
        before=before,
    )
    return replace(site.stream(operator), marks=StreamRef(site.name, 1))


@checked
def delay(self: Stream, seconds: Positive, *, name: str | None = None) -> Stream:
    """The same tuples, delayed: each frame, as cut by the plan, waits this many seconds before it is passed on."""
    site = OperatorSite(self.app, "delay", name)
    return _paced(self, site, delay_s=float(seconds))


@checked
def throttle(self: Stream, rate: Positive, *, name: str | None = None) -> Stream:
    """The same tuples, at most `rate` per second on each channel."""
    site = OperatorSite(self.app, "throttle", name)
    return _paced(self, site, rate_per_s=float(rate))


def _paced(self: Stream, site: OperatorSite, *, delay_s: float = 0.0, rate_per_s: float | None = None) -> Stream:
    operator = ops.Pace(
        name=site.name,
        inputs=(self.ref,),
        outputs=(self.tuple_type,),
        where=site.where,
        delay_s=delay_s,
        rate_per_s=rate_per_s,
    )
    return site.stream(operator, self)
