"""The messages between driver and workers. A worker is identified by its channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thalweg.engine.inputs.readers import InputReader
from thalweg.engine.local.buckets import Buckets
from thalweg.engine.storage.log import Epoch
from thalweg.runtime.frame import Frame
from thalweg.runtime.pe_counts import Counts
from thalweg.runtime.pe_program import Failure, Program

DRIVER = -1
END = 2**63 - 1  # the pulse after all tuples


@dataclass(frozen=True, slots=True)
class Job:
    """The parts of a plan that a worker needs."""

    programs: tuple[tuple[Program, ...], ...]
    inputs: Mapping[str, InputReader]
    channels: int
    readers: int  # the number of channels that read input; these are the first ones


# From the driver


@dataclass(frozen=True, slots=True)
class Load:
    """Start a job with the channel's state, by stage. None: only release what the last job created in `setup`."""

    job: Job | None
    state: Mapping[int, Buckets]


@dataclass(frozen=True, slots=True)
class Begin:
    """Start an epoch. `keep`: whether the state that the previous epoch wrote is kept. Blocks from number `limit` on
    must wait."""

    round: int
    epoch: Epoch
    fed: Mapping[str, Frame]
    first: int  # the smallest position of a tuple in this epoch
    rows: int  # tuples per block
    limit: int
    keep: bool


@dataclass(frozen=True, slots=True)
class Go:
    """Earlier blocks are finished: the new limit from which blocks must wait."""

    round: int
    limit: int


@dataclass(frozen=True, slots=True)
class Close:
    """Release all resources and exit."""


# From workers


@dataclass(frozen=True, slots=True)
class Delivery:
    """Tuples by wire from a channel to a channel of the next stage, or after the last stage to the driver, and the
    pulse after them: the channel has sent all of its tuples up to the pulse."""

    round: int
    stage: int  # the receiving stage
    sender: int
    frames: Mapping[int, Frame]
    pulse: int


@dataclass(frozen=True, slots=True)
class ChannelError:
    """An error that is not the failure of a tuple. `place`: stage, then block or channel; the smallest is reported."""

    place: tuple[int, int]
    error: Exception


@dataclass(frozen=True, slots=True)
class Done:
    """A channel has finished an epoch."""

    round: int
    sender: int
    written: Mapping[int, Buckets]  # by stage
    counts: Counts
    failures: Sequence[Failure]
    errors: Sequence[ChannelError]
    most_held: Mapping[int, int]  # by stage: the largest number of tuples that its merger held


@dataclass(frozen=True, slots=True)
class Answered:
    """A channel has processed a `Load` or `Close`; `error` if that failed."""

    sender: int
    error: BaseException | None = None


ToWorker = Load | Begin | Go | Close | Delivery
ToDriver = Delivery | Done | Answered
Message = ToWorker | ToDriver
Sent = tuple[int, Message]  # the receiver's channel, or DRIVER
