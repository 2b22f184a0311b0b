"""Brackets around operators: a sampler sees where a thread is, and a frame's time is attributed without a rest."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import thalweg as tw
from tests.waiting import PATIENCE_S
from thalweg.codegen.pe_module import compile_plan
from thalweg.optimize.passes import make_plan
from thalweg.runtime.brackets import Stack, Timer
from thalweg.runtime.columns import to_list
from thalweg.runtime.frame import Frame
from thalweg.runtime.pe import PE
from thalweg.runtime.pe_program import Bracket, Output
from thalweg.runtime.resources import Resources
from thalweg.runtime.turn import Turn

SPIN_NS = 3_000_000
ENTERED, LEAVE = threading.Event(), threading.Event()


class Number(tw.Tuple):
    i: int


def waits(t: Any) -> Number:
    here = sys.modules[__name__]
    here.ENTERED.set()
    here.LEAVE.wait(PATIENCE_S)
    return Number(t.i)


@tw.declare(effects="none")
def spins(t: Any) -> Number:
    until = time.thread_time_ns() + SPIN_NS
    while time.thread_time_ns() < until:
        pass
    return Number(t.i)


def made(function: Any = lambda t: Number(hash(t.i))) -> PE:
    """A chain, which falls back where `i * 4` overflows, then an operator that runs row by row."""
    app = tw.App("brackets")
    numbers = app.source(tw.beacon(lambda i: {"i": i}, count=3), Number, name="numbers")
    doubled = numbers.map(lambda t: {"i": t.i * 4 % 1000}, name="scaled").filter(lambda t: t.i != 5, name="kept")
    doubled.map(function, Number, name="own").sink(tw.collect(), name="out")
    ((program,),) = compile_plan(make_plan(app.graph()))
    return PE(program, 0, Resources())


def turn(*values: int) -> Turn:
    return Turn({"numbers": Frame(np.arange(len(values)), (), {"i": np.array(values, np.int64)})})


def values(output: Output) -> list[Any]:
    return [value for _, _, frame in output.frames for value in to_list(frame.columns["i"])]


def innermost(pe: PE, stack: Stack) -> Bracket | None:
    inside = stack.inside()
    return pe.program.brackets[inside[-1]] if inside else None


def test_every_call_has_a_bracket() -> None:
    pe = made()
    wire = next(iter(pe.program.routes))
    assert pe.program.brackets == (("numbers",), ("scaled", "kept"), ("scaled",), ("kept",), ("own",), wire)


@pytest.mark.parametrize("numbers", [(1, 2, 3), (1, 2**62), ()])
def test_brackets_change_nothing(numbers: tuple[int, ...]) -> None:
    pe, stack = made(), Stack()
    plain, bracketed = pe.run(turn(*numbers)), pe.run(turn(*numbers), stack)
    assert values(plain) == values(bracketed)
    assert plain.counts.sent == bracketed.counts.sent
    assert stack.inside() == ()


def test_another_thread_sees_the_operator_that_runs() -> None:
    """The stack is read while the operator is running, and the thread is not stopped for it."""
    pe, stack = made(waits), Stack()
    ENTERED.clear()
    LEAVE.clear()
    thread = threading.Thread(target=pe.run, args=(turn(1), stack))
    thread.start()
    assert ENTERED.wait(PATIENCE_S)
    assert innermost(pe, stack) == ("own",)
    LEAVE.set()
    thread.join()
    assert innermost(pe, stack) is None


def test_operators_of_a_chain_that_falls_back_are_inside_its_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    pe, stack, seen = made(), Stack(), []
    count = PE.count

    def counted(self: PE, turn: Turn, name: str, frame: Any) -> None:
        seen.append(tuple(self.program.brackets[index] for index in stack.inside()))
        count(self, turn, name, frame)

    monkeypatch.setattr(PE, "count", counted)
    pe.run(turn(2**62), stack)
    chain = ("scaled", "kept")
    assert seen == [(("numbers",),), (chain, ("scaled",)), (chain, ("kept",)), (("own",),)]


def test_an_error_leaves_no_bracket_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(PE, "chain", broken)
    pe, stack = made(), Stack()
    with pytest.raises(RuntimeError):
        pe.run(turn(1), stack)
    assert stack.inside() == ()


def test_the_times_of_a_frame_add_up() -> None:
    """With a clock that counts its readings: each reading's time goes to exactly one bracket, or outside."""
    ticks = itertools.count()
    pe = made()
    timer = Timer(len(pe.program.brackets), clock=lambda: next(ticks))
    pe.run(turn(1, 2**62), timer)
    assert sum(timer.ns) + timer.outside_ns == next(ticks) - 1
    assert all(timer.ns), "every operator has been called, and the chain was tried first"
    pe.run(turn(1, 2), timer)
    assert sum(timer.ns) + timer.outside_ns == next(ticks) - 1, "a timer continues from frame to frame"


def test_the_time_of_an_operator_is_its_own() -> None:
    pe = made(spins)
    began = time.thread_time_ns()
    timer = Timer(len(pe.program.brackets))
    pe.run(turn(1), timer)
    elapsed = time.thread_time_ns() - began
    times = dict(zip(pe.program.brackets, timer.ns, strict=True))
    assert times["own",] >= SPIN_NS
    assert sum(timer.ns) + timer.outside_ns <= elapsed
