"""Operators: the vertices of a LogicalGraph. Each kind is one class, defined in one of these modules."""

from thalweg.ir.operators.base import (
    BAD_RECORD,
    DEAD_LETTER,
    MARK,
    NO_TIME,
    OPERATORS,
    ORIGIN_MARK,
    POLICIES,
    Calling,
    Function,
    Operator,
    Policy,
    StreamRef,
    code_fingerprint,
    rank_width,
)
from thalweg.ir.operators.keyed import Aggregate, Join
from thalweg.ir.operators.marks import EventTime, Punctor
from thalweg.ir.operators.per_tuple import Filter, FlatMap, Map, MapBatches, Pace, RandomSplit, Split, Union
from thalweg.ir.operators.process import Process
from thalweg.ir.operators.sources_sinks import Entry, Feedback, Sink, Source

__all__ = [
    "BAD_RECORD",
    "DEAD_LETTER",
    "MARK",
    "NO_TIME",
    "OPERATORS",
    "ORIGIN_MARK",
    "POLICIES",
    "Aggregate",
    "Calling",
    "Entry",
    "EventTime",
    "Feedback",
    "Filter",
    "FlatMap",
    "Function",
    "Join",
    "Map",
    "MapBatches",
    "Operator",
    "Pace",
    "Policy",
    "Process",
    "Punctor",
    "RandomSplit",
    "Sink",
    "Source",
    "Split",
    "StreamRef",
    "Union",
    "code_fingerprint",
    "rank_width",
]
