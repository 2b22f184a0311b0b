"""What driver and workers say to each other. A worker is known by its channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thalweg.engine.inputs.readers import InputReader
from thalweg.engine.local.buckets import Buckets
from thalweg.engine.storage.log import Epoch
from thalweg.runtime.frame import Frame
from thalweg.runtime.pe_counts import Counts
from thalweg.runtime.program import Failure, Program

DRIVER = -1
END = 2**63 - 1  # the pulse behind everything


@dataclass(frozen=True, slots=True)
class Job:
    """A plan as a worker sees it."""

    programs: tuple[tuple[Program, ...], ...]
    inputs: Mapping[str, InputReader]
    channels: int
    readers: int  # how many of the channels, the first ones, read input


# From the driver


@dataclass(frozen=True, slots=True)
class Load:
    """Take on a job, with what the channel remembers (by stage); None: give back what the last one made."""

    job: Job | None
    state: Mapping[int, Buckets]


@dataclass(frozen=True, slots=True)
class Begin:
    """An epoch. `keep`: whether the state that the epoch before wrote is to be kept. Block number `limit` and those
    behind it must wait."""

    round: int
    epoch: Epoch
    fed: Mapping[str, Frame]
    first: int  # the least position of a tuple in this epoch
    rows: int  # tuples per block
    limit: int
    keep: bool


@dataclass(frozen=True, slots=True)
class Go:
    """Earlier blocks are through: now this one must wait, and those behind it."""

    round: int
    limit: int


@dataclass(frozen=True, slots=True)
class Close:
    """Give everything back and go."""


# From workers


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a channel sends to a channel of the next stage, or behind the last stage to the driver: its tuples by wire,
    and the pulse behind them. All of its tuples up to the pulse have been sent, whether there are any or not."""

    round: int
    stage: int  # where it goes
    sender: int
    frames: Mapping[int, Frame]
    pulse: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error that is not a tuple's. `place`: stage, then block or channel; the least one is reported."""

    place: tuple[int, int]
    error: Exception


@dataclass(frozen=True, slots=True)
class Done:
    """A channel is through with an epoch."""

    round: int
    sender: int
    written: Mapping[int, Buckets]  # by stage
    counts: Counts
    failures: Sequence[Failure]
    troubles: Sequence[Trouble]
    most_held: Mapping[int, int]  # by stage: the most tuples that its merger held


@dataclass(frozen=True, slots=True)
class Answered:
    """A channel has done what `Load` or `Close` asked for, or could not."""

    sender: int
    error: Exception | None = None


ToWorker = Load | Begin | Go | Close | Delivery
ToDriver = Delivery | Done | Answered
Message = ToWorker | ToDriver
Sent = tuple[int, Message]  # to whom
