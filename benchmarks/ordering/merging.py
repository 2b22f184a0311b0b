"""Mergers alone, in one process: the cost of order relative to the work that it orders."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from benchmarks.harness import Measured, interleaved

from thalweg.runtime.frame import Frame
from thalweg.runtime.ordering.mergers import Item, Merger, Numbers, NumbersAndPulses, Pulse, RoundRobin
from thalweg.runtime.ordering.splitters import PULSE_PERIOD, Dealer, Router, Sent, by_block

CHANNELS = 4
FRAME_ROWS = (1, 10, 100, 1000)
STEPS = (0, 10, 100, 1000)  # of a loop of Python's, per tuple
PERIODS = (1, 2, 4, 8, 16, 32, 64)
SELECTIVITIES = (1, 4, 16, 64, 256)
ROUND_ROBIN, NUMBERS, PULSES = "round-robin", "numbers", "numbers and pulses"


def spin(steps: int) -> None:
    for _ in range(steps):
        pass


def frames(tuples: int, rows: int) -> list[Frame]:
    """What the splitter gets: consecutive numbers with one attribute."""
    values = np.arange(tuples)
    return [Frame(values[at : at + rows], (), {"n": values[at : at + rows]}) for at in range(0, tuples, rows)]


@dataclass(frozen=True)
class Region:
    """A splitter, channels that work on each tuple and keep one of `selectivity`, a merger. Channels are heard in
    bursts, the same for all strategies: no channel runs ahead of another by more than a round of frames."""

    strategy: str
    rows: int
    steps: int = 0
    period: int = PULSE_PERIOD  # frames per channel
    selectivity: int = 1

    def splitter(self) -> Callable[[Frame], Iterator[Sent]]:
        if self.strategy == ROUND_ROBIN:
            return Dealer(CHANNELS).split
        period = self.period * self.rows if self.strategy == PULSES else None
        return Router(CHANNELS, by_block(CHANNELS, self.rows), period).split

    def merger(self) -> Merger:
        made: dict[str, Callable[[int], Merger]] = {
            ROUND_ROBIN: RoundRobin,
            NUMBERS: Numbers,
            PULSES: NumbersAndPulses,
        }
        return made[self.strategy](CHANNELS)

    def run(self, given: list[Frame]) -> tuple[float, int, int]:
        """Seconds for all of it, tuples out, and the most that the merger held."""
        split, merger, chance = self.splitter(), self.merger(), random.Random(7)
        began = time.perf_counter()
        out = 0
        waiting: list[list[Item]] = [[] for _ in range(CHANNELS)]
        for number, frame in enumerate(given):
            for channel, item in split(frame):
                waiting[channel].append(item)
            if number % CHANNELS == CHANNELS - 1 or number == len(given) - 1:
                for channel in chance.sample(range(CHANNELS), CHANNELS):
                    for item in waiting[channel]:
                        out += _tuples(merger.arrive(channel, self._worked(item)))
                    waiting[channel].clear()
        out += _tuples(merger.end())
        return time.perf_counter() - began, out, merger.most_held

    def _worked(self, item: Item) -> Item:
        if isinstance(item, Pulse):
            return item
        for _ in range(len(item) if self.steps else 0):
            spin(self.steps)
        if self.selectivity == 1:
            return item
        return item.where(item.position * 2_654_435_761 % 4_294_967_296 % self.selectivity == 0)


def _tuples(items: list[Item]) -> int:
    return sum(len(item) for item in items if isinstance(item, Frame))


def overhead(tuples: int, rounds: int) -> Iterator[tuple[str, Measured]]:
    """By frame size and work: tuples per second with each strategy."""
    for rows in FRAME_ROWS:
        for steps in STEPS:
            count = max(rows * CHANNELS * 4, min(tuples * min(rows, 10), tuples * 20 // (steps + 1)))
            given = frames(count - count % rows, rows)
            regions = {name: Region(name, rows, steps) for name in (ROUND_ROBIN, NUMBERS, PULSES)}
            rates: Measured = {name: [] for name in regions}
            for _, name in interleaved(list(regions), rounds):
                seconds, out, _ = regions[name].run(given)
                assert out == sum(map(len, given))
                rates[name].append(out / seconds)
            yield f"frames of {rows}, {steps} steps", rates


def sweep(tuples: int, rounds: int, rows: int) -> Iterator[tuple[str, Measured, int]]:
    """By pulse period and selectivity: tuples per second into the region, and the most that its merger held."""
    given = frames(tuples - tuples % rows, rows)
    regions = {
        f"period {period}, 1:{selectivity}": Region(PULSES, rows, period=period, selectivity=selectivity)
        for selectivity in SELECTIVITIES
        for period in PERIODS
    }
    rates: Measured = {name: [] for name in regions}
    held = dict.fromkeys(regions, 0)
    for _, name in interleaved(list(regions), rounds):
        seconds, _, most = regions[name].run(given)
        rates[name].append(sum(map(len, given)) / seconds)
        held[name] = max(held[name], most)
    for name, values in rates.items():
        yield name, {name: values}, held[name]
