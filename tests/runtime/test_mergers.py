"""Mergers: the paper's examples, and whatever order channels are heard in."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.runtime.frame import Frame
from thalweg.runtime.ordering.mergers import Item, Merger, Numbers, NumbersAndPulses, Pulse, RoundRobin, Unordered
from thalweg.runtime.ordering.queues import Queues
from thalweg.runtime.ordering.splitters import Dealer, Router, in_turn


def frame(*positions: int) -> Frame:
    return Frame(np.array(positions, np.int64), (), {"n": np.array(positions, np.int64)})


def numbers(items: list[Item]) -> list[int]:
    return [n for item in items if isinstance(item, Frame) for n in item.position.tolist()]


# Figure 4


def test_round_robin_of_figure_4() -> None:
    """Waiting on channel 1, which receives a tuple: submit from 1, 2, 0 and wait on 1 again."""
    merger = RoundRobin(3)
    assert numbers(merger.arrive(0, frame(0))) == [0]
    assert merger.arrive(2, frame(2)) == []
    assert merger.arrive(0, frame(3)) == []
    assert numbers(merger.arrive(1, frame(1))) == [1, 2, 3]
    assert merger.next == 1


def test_numbers_of_figure_4() -> None:
    """Last submitted 4; 5 arrives: 5, 6, 7 go, wait for 8."""
    merger = Numbers(3, last=4)
    for channel, position in ((0, 6), (0, 9), (2, 7), (2, 10)):
        assert merger.arrive(channel, frame(position)) == []
    assert numbers(merger.arrive(1, frame(5))) == [5, 6, 7]
    assert (merger.last, merger.held) == (7, 2)


def test_numbers_and_pulses_of_figure_4() -> None:
    """Last 4, waiting for 5; 8 arrives and is the least of the newest: 6 and 8 go; 10 must wait for news of 9."""
    merger = NumbersAndPulses(3, last=4)
    for channel, position in ((0, 6), (0, 10), (2, 11)):
        assert merger.arrive(channel, frame(position)) == []
    assert numbers(merger.arrive(1, frame(8))) == [6, 8]
    assert merger.held == 2
    assert numbers(merger.arrive(1, Pulse(10))) == [10, 11], "9 is proven dropped, and 11 follows 10"
    assert merger.held == 0


# Any order of arrival


Streams = list[list[Item]]  # by channel


def heard(streams: Streams, seed: int) -> Iterator[tuple[int, Item]]:
    """Channel by channel in order, the channels in any order: slow ones, idle ones, bursts."""
    chance = random.Random(seed)
    left = [list(items) for items in streams]
    while any(left):
        channel = chance.choice([c for c, items in enumerate(left) if items])
        for _ in range(chance.choice((1, 1, 2, 8))):
            if left[channel]:
                yield channel, left[channel].pop(0)


def run(merger: Merger, streams: Streams, seed: int) -> list[Item]:
    out: list[Item] = []
    for channel, item in heard(streams, seed):
        out += merger.arrive(channel, item)
    return [*out, *merger.end()]


def by_key(channels: int, seed: int) -> Callable[[Frame], np.ndarray]:
    return lambda f: np.array([hash((seed, int(p) % 17)) % channels for p in f.position], np.int64)


def dropped(items: list[Item], keep: Callable[[int], bool]) -> list[Item]:
    return [i if isinstance(i, Pulse) else i.where(np.array([keep(int(p)) for p in i.position], bool)) for i in items]


sizes = st.lists(st.integers(1, 7), min_size=1, max_size=12)


def frames(lengths: list[int]) -> Iterator[Frame]:
    at = 0
    for length in lengths:
        yield frame(*range(at, at + length))
        at += length


@settings(max_examples=150, deadline=None)
@given(sizes, st.integers(1, 5), st.integers(0, 1000))
def test_round_robin(lengths: list[int], channels: int, seed: int) -> None:
    dealer, streams = Dealer(channels), Streams([[] for _ in range(channels)])
    for made in frames(lengths):
        for channel, item in dealer.split(made):
            streams[channel].append(item)
    assert numbers(run(RoundRobin(channels), streams, seed)) == list(range(sum(lengths)))


@settings(max_examples=150, deadline=None)
@given(sizes, st.integers(1, 5), st.integers(0, 1000))
def test_numbers(lengths: list[int], channels: int, seed: int) -> None:
    streams = routed(lengths, channels, by_key(channels, seed), None)
    assert numbers(run(Numbers(channels), streams, seed)) == list(range(sum(lengths)))


def routed(lengths: list[int], channels: int, route: Callable[[Frame], np.ndarray], period: int | None) -> Streams:
    router, streams = Router(channels, route, period), Streams([[] for _ in range(channels)])
    for made in frames(lengths):
        for channel, item in router.split(made):
            streams[channel].append(item)
    return streams


@settings(max_examples=300, deadline=None)
@given(sizes, st.integers(1, 5), st.integers(1, 4), st.integers(0, 1000), st.sampled_from((0, 1, 3, 10)))
def test_numbers_and_pulses(lengths: list[int], channels: int, period: int, seed: int, share: int) -> None:
    """Whatever is dropped, also all of it, and also by whole channels."""

    def keep(position: int) -> bool:
        return share > 0 and hash((seed, position)) % share == 0

    streams = [dropped(items, keep) for items in routed(lengths, channels, by_key(channels, seed), period)]
    merger = NumbersAndPulses(channels)
    assert numbers(run(merger, streams, seed)) == [p for p in range(sum(lengths)) if keep(p)]


@settings(max_examples=150, deadline=None)
@given(sizes, st.integers(1, 5), st.integers(1, 4), st.integers(0, 1000))
def test_nothing_waits_longer_than_a_pulse(lengths: list[int], channels: int, period: int, seed: int) -> None:
    """Once a pulse has arrived on all channels, everything up to it is emitted: idle channels delay nothing."""
    streams = [
        dropped(items, lambda p: p % 3 > 0) for items in routed(lengths, channels, by_key(channels, seed), period)
    ]
    merger, newest, sent, gone = NumbersAndPulses(channels), [-1] * channels, set[int](), set[int]()
    for channel, item in heard(streams, seed):
        gone.update(numbers(merger.arrive(channel, item)))
        if isinstance(item, Pulse):
            newest[channel] = item.position
        else:
            sent.update(item.position.tolist())
        assert {p for p in sent if p <= min(newest)} <= gone


@settings(max_examples=150, deadline=None)
@given(sizes, st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(0, 1000))
def test_a_shuffle_passes_each_pulse_on_once(lengths: list[int], left: int, right: int, period: int, seed: int) -> None:
    """Left channels, each with a router that only copies pulses; right channels, each with a merger; then a merge."""
    streams = [dropped(items, lambda p: p % 4 > 0) for items in routed(lengths, left, by_key(left, seed), period)]
    pulses = [item.position for item in streams[0] if isinstance(item, Pulse)]
    into: list[Streams] = [[[] for _ in range(left)] for _ in range(right)]
    for channel, items in enumerate(streams):
        router = Router(right, by_key(right, seed + 1), None)
        for item in items:
            for target, sent in router.pulse(item) if isinstance(item, Pulse) else router.split(item):
                into[target][channel].append(sent)
    merged = [run(NumbersAndPulses(left, forwards=True), received, seed) for received in into]
    for items in merged:
        assert [i.position for i in items if isinstance(i, Pulse)] == pulses
        assert numbers(items) == sorted(numbers(items))
    expected = [p for p in range(sum(lengths)) if p % 4 > 0]
    assert numbers(run(NumbersAndPulses(right), merged, seed)) == expected


@pytest.mark.parametrize("seed", range(20))
def test_many_tuples_of_one_number(seed: int) -> None:
    """More than one tuple out for a tuple in: a number is finished when a greater one, or a pulse, was seen."""
    streams: Streams = [[], []]
    for position in range(40):
        streams[position % 2] += [frame(position)] * (position % 3)
        if position % 8 == 7:
            for items in streams:
                items.append(Pulse(position))
    merger = NumbersAndPulses(2, shared=True)
    assert numbers(run(merger, streams, seed)) == [p for p in range(40) for _ in range(p % 3)]


def test_unordered_lets_everything_through() -> None:
    merger = Unordered()
    assert numbers(merger.arrive(1, frame(5, 9))) == [5, 9]
    assert numbers(merger.arrive(0, frame(1))) == [1]
    assert merger.arrive(0, Pulse(9)) == []


def test_stateless_regions_that_drop_are_dealt_in_turn() -> None:
    router = Router(3, in_turn(3), period=2)
    sent = list(router.split(frame(0, 1, 2, 3, 4, 5)))
    assert [(c, numbers([i])) for c, i in sent if isinstance(i, Frame)] == [(0, [0, 3]), (1, [1, 4]), (2, [2, 5])]
    assert [(c, i.position) for c, i in sent if isinstance(i, Pulse)] == [(0, 5), (1, 5), (2, 5)]


def test_numbers_that_are_shared_do_not_hide_a_gap() -> None:
    """Three tuples from 5 to 7, and no 6."""
    merger = Numbers(2, last=4)
    assert numbers(merger.arrive(0, frame(5, 5, 7))) == [5, 5]
    assert numbers(merger.arrive(1, frame(6))) == [6, 7]


@pytest.mark.parametrize("kind", [Numbers, NumbersAndPulses])
def test_what_is_held_back_is_not_looked_at_again(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of three channels is slow: each of its frames releases a few of thousands of waiting tuples."""
    looked: list[int] = []
    numbers_of = Queues._numbers

    def counted(self: Queues, low: int, high: int) -> np.ndarray:
        found = numbers_of(self, low, high)
        looked.append(len(found))
        return found

    monkeypatch.setattr(Queues, "_numbers", counted)
    count, channels = 9_000, 3
    streams = routed([30] * (count // 30), channels, lambda f: (f.position * 7 // 5) % channels, None)
    merger = kind(channels)
    out: list[Item] = []
    for channel in (1, 2, 0):
        for item in streams[channel]:
            out += merger.arrive(channel, item)
    assert numbers([*out, *merger.end()]) == list(range(count))
    assert looked
    assert sum(looked) < 10 * count
