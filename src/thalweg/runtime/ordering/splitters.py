"""Splitters: split one stream into channels, with pulses that let mergers distinguish dropped tuples from slow ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from thalweg.runtime.columns import Array
from thalweg.runtime.frame import Frame
from thalweg.runtime.left_folds import group_order
from thalweg.runtime.ordering.mergers import Item, Pulse

PULSE_PERIOD = 10  # frames' worth of tuples per channel between pulses, as in the paper, where a frame is a tuple

Sent = tuple[int, Item]  # channel, the item for it


@dataclass(slots=True)
class Dealer:
    """Sends complete frames in turn: for regions without state that emit exactly one tuple for each tuple."""

    channels: int
    next: int = 0

    def split(self, frame: Frame) -> Iterator[Sent]:
        yield self.next, frame
        self.next = (self.next + 1) % self.channels


@dataclass(slots=True)
class Router:
    """Sends tuples to the channel of their key, or in turn if there is none; a pulse to every channel once per period.

    `period`: tuples per channel between two pulses; None: no pulses, because they exist already (inside a shuffle).
    """

    channels: int
    route: Callable[[Frame], Array]  # the channel of each tuple
    period: int | None
    since: int = field(default=0)  # tuples since the last pulse

    def split(self, frame: Frame) -> Iterator[Sent]:
        yield from self.spread(frame)
        self.since += len(frame)
        if self.period is not None and self.since >= self.period * self.channels:
            self.since = 0
            yield from self.pulse(Pulse(int(frame.position[-1])))

    def spread(self, frame: Frame) -> Iterator[tuple[int, Frame]]:
        """The part of a frame for each channel."""
        routes = self.route(frame)
        if len(routes) and (routes == routes[0]).all():  # a complete block
            yield int(routes[0]), frame
            return
        order, starts, lengths = group_order(routes, self.channels)
        spread = frame.take(order)
        for channel, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
            if length:
                yield channel, spread.window(start, start + length)

    def pulse(self, pulse: Pulse) -> Iterator[Sent]:
        """The same pulse to every channel: a new one or, inside a shuffle, one that arrived."""
        for channel in range(self.channels):
            yield channel, pulse


def in_turn(channels: int) -> Callable[[Frame], Array]:
    """Routes by position: for regions without state that may drop tuples."""
    return lambda frame: frame.position % channels


def by_block(channels: int, rows: int) -> Callable[[Frame], Array]:
    """Routes blocks of consecutive positions, so that frames stay in one piece."""
    return lambda frame: np.asarray((frame.position // rows) % channels)
