"""The local engine with a process for each channel: what goes wrong, what waits, what is given back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.changed_code import CHANGES_CODE
from tests.properties.interleaved import Interleaved
from tests.properties.strategies import cut_all
from tests.small import PER_EPOCH, Small, undisturbed
from tests.waiting import PATIENCE_S, wait_for
from thalweg import agg, window
from thalweg.api import run_plan
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.parallel import ParallelEngine, ParallelOptions
from thalweg.engine.local.pool import Pool
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.local.sink_strategies import joints_of
from thalweg.errors import EngineError, InputError, ResourceError, TupleError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import Plan
from thalweg.optimize.passes import make_plan
from thalweg.runtime.columns import to_list
from thalweg.runtime.frame import Frame

pytestmark = pytest.mark.slow

FUNCTION = 'gains = bargains.map(lambda q: {"symbol": q.symbol, "gain": (q.vwap - q.price) * q.volume})'
POISONED = """
import os


class Gain(tw.Tuple):
    symbol: str
    gain: float


def gain(q):
    if q.volume == 35:
        POISON
    return Gain(q.symbol, (q.vwap - q.price) * q.volume)


gains = bargains.map(gain, Gain)
"""


class Number(tw.Tuple):
    k: int
    n: int


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    made = Pool(2)
    yield made
    made.close()


def numbers(count: int, function: Any = lambda i: {"k": i % 5, "n": i}) -> tuple[tw.App, tw.Stream]:
    app = tw.App("numbers")
    return app, app.source(tw.beacon(function, count=count), Number, name="numbers")


def summed(count: int, keep: Any = lambda t: True) -> LogicalGraph:
    app, made = numbers(count)
    kept = made.filter(keep, name="kept")
    sums = kept.aggregate(window.running(by="k"), name="sums", k=agg.any("k"), n=agg.sum("n"))
    sums.sink(tw.collect(), name="out")
    return app.graph()


def rows(found: list[Frame | None]) -> list[tuple[Any, ...]]:
    return [row for f in found if f is not None for row in zip(*map(to_list, f.columns.values()), strict=True)]


def answer(engine: LocalEngine, per_epoch: int = 1000) -> list[tuple[Any, ...]]:
    return rows([found["out"] for found in engine.run_log(cut_all(engine.plan.graph, per_epoch))])


# What goes wrong


@CHANGES_CODE
def test_a_tuple_that_kills_its_worker(tmp_path: Path) -> None:
    """By exiting and by a signal, one after the other on the same checkpoint. Then the run resumes."""
    small = Small.make(tmp_path / "small")
    for poison, found in (
        ("os._exit(3)", "exit code 3, in PE "),
        ("os.kill(os.getpid(), 9)", "killed by signal 9, in PE "),
    ):
        change = (FUNCTION, POISONED.replace("POISON", poison))
        options = RunOptions(small.checkpoint, max_tuples_per_epoch=PER_EPOCH)
        with pytest.raises(EngineError, match="a worker process died") as error:
            run_plan(make_plan(small.graph(change), degree=2, fuse="none"), "local", options)
        assert error.value.operator == "gains"
        assert str(error.value.where).startswith(str(small.app(change)))
        assert str(error.value.found).startswith(found)
    harmless = (FUNCTION, POISONED.replace("POISON", "os._exit(3)").replace("35", "-35"))
    small.run("local", harmless, degree=2, fuse="none", in_process=False)
    assert small.output() == undisturbed(tmp_path / "undisturbed")


SCRIPT = """
import multiprocessing, time
import thalweg as tw
from thalweg import agg, window

class Number(tw.Tuple):
    k: int
    n: int

app = tw.App("unguarded")
made = app.source(tw.beacon(lambda i: {"k": i % 5, "n": i}, count=100), Number)
made.aggregate(window.running(by="k"), k=agg.any("k"), n=agg.sum("n")).filter(lambda t: wait(t.n)).sink(tw.collect())

def wait(n):
    if n >= 950:
        print(multiprocessing.parent_process() is not None and __import__("os").getpid(), flush=True)
        time.sleep(3600)
    return n % 2 == 0

tw.run(app, engine="local", degree=2)  # and no `if __name__ == "__main__"`
"""


def test_workers_end_with_their_driver(tmp_path: Path) -> None:
    """However it ends. They never run the script that started them, although it has no `__main__` guard."""
    (tmp_path / "script.py").write_text(SCRIPT)
    driver = subprocess.Popen([sys.executable, str(tmp_path / "script.py")], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    worker = int(driver.stdout.readline())
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    driver.stdout.close()
    wait_for(lambda: not _is_alive(worker))


def test_a_signal_at_a_bad_moment_is_handled(tmp_path: Path) -> None:
    """Just before the driver waits for its workers. So is an interrupt without a signal, which ends no wait."""
    interrupting = f"""
import _thread, pathlib, threading

def interrupt():
    while not pathlib.Path({str(tmp_path)!r}, "stuck").exists():
        time.sleep(0.01)
    time.sleep(0.5)
    _thread.interrupt_main()

threading.Thread(target=interrupt).start()
tw.run("""
    stuck = f"open({str(tmp_path / 'stuck')!r}, 'w').close(); time.sleep(3600)"
    assert said_of(tmp_path, SCRIPT.replace("time.sleep(3600)", stuck).replace("\ntw.run(", interrupting))[-1:] == [
        "KeyboardInterrupt"
    ]


def test_a_signal_while_workers_start_waits_for_them(tmp_path: Path) -> None:
    """A worker whose driver gave up meanwhile would find its semaphores gone, and say so in a traceback."""
    interrupted = """
import _thread, multiprocessing.forkserver
read = multiprocessing.forkserver.read_signed

def read_signed(fd):
    multiprocessing.forkserver.read_signed = read
    _thread.interrupt_main()
    return read(fd)

multiprocessing.forkserver.read_signed = read_signed
tw.run("""
    said = said_of(tmp_path, SCRIPT.replace("\ntw.run(", interrupted))
    assert said[-1].startswith("KeyboardInterrupt")
    assert len([line for line in said if line.startswith("Traceback")]) == 1


def said_of(folder: Path, script: str) -> list[str]:
    """The lines of a script's standard error."""
    (folder / "script.py").write_text(script)
    ended = subprocess.run(
        [sys.executable, str(folder / "script.py")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        # A shell's background job ignores Ctrl-C, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    return ended.stderr.splitlines()


ENDED_AT_A_BAD_MOMENT = """
import multiprocessing.queues, multiprocessing.synchronize, threading, time

feed, cleanup = multiprocessing.queues.Queue._feed, multiprocessing.synchronize.SemLock._cleanup
MAIN = threading.main_thread()


def slow_feed(*given):
    feed(*given)
    time.sleep(0.06)


def slow_cleanup(name):
    multiprocessing.synchronize.sem_unlink(name)
    time.sleep(0 if threading.current_thread() is MAIN else 0.3)
    multiprocessing.resource_tracker.unregister(name, "semaphore")


multiprocessing.queues.Queue._feed = staticmethod(slow_feed)
multiprocessing.synchronize.SemLock._cleanup = staticmethod(slow_cleanup)

from thalweg.engine.local.messages import Load
from thalweg.engine.local.pool import Pool

pool = Pool(2)
pool.load([Load(None, {})] * 2)
pool.END()
time.sleep(0.1)
"""


@pytest.mark.parametrize("end", ["close", "kill"])
def test_a_pool_leaves_no_semaphores_to_its_threads(end: str) -> None:
    """The end of the program stops them half-way, and Python warns of what leaked."""
    ended = subprocess.run(
        [sys.executable, "-c", ENDED_AT_A_BAD_MOMENT.replace("END", end)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def _is_alive(pid: int) -> bool:
    """A process that has ended but was not waited for is a zombie: it counts as ended."""
    try:
        os.kill(pid, 0)
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_failed_epoch_changes_nothing(pool: Pool) -> None:
    """The failure is the reference's, and the epoch can be run again, here with other input."""
    app, made = numbers(40, lambda i: {"k": i % 5, "n": i})
    inverse = made.map(lambda t: Number(t.k, 100 // (t.n - 33)), Number, name="inverse")
    inverse.custom(Total(), Number, by="k", name="total").sink(tw.collect(), name="out")
    plan = make_plan(app.graph(), degree=2)
    first, second, *_ = cut_all(plan.graph, 30)
    engines = LocalEngine(plan), ParallelEngine(plan, workers=pool, options=ParallelOptions(block_rows=3))
    outcomes = []
    for engine in engines:
        found = [engine.run_epoch(first)["out"]]
        with pytest.raises(TupleError) as error:
            engine.run_epoch(second)
        found.append(engine.run_epoch(first)["out"])  # on the state of the first
        outcomes.append((rows(found), engine.state, error.value.as_json()))
    assert outcomes[0] == outcomes[1]
    engines[1].close()


class Total(tw.Operator):
    def __init__(self) -> None:
        self.total = 0

    def process(self, t: Any, port: int) -> None:
        self.total += t.n
        self.submit(Number(t.k, self.total))


class Unable(Total):
    def setup(self) -> None:
        raise ConnectionRefusedError("connection refused")


def test_errors_that_no_tuple_caused(pool: Pool, tmp_path: Path) -> None:
    """A resource that cannot be made is raised as what it is; a file that is gone names itself."""
    app, made = numbers(10)
    made.custom(Unable(), Number, by="k", name="total").sink(tw.collect(), name="out")
    with pytest.raises(ResourceError, match="`setup` of total failed: ConnectionRefusedError") as error:
        answer(ParallelEngine(make_plan(app.graph(), degree=2), workers=pool))
    assert "in setup" in str(error.value), "where it was raised"
    small = Small.make(tmp_path / "small", files=2)
    plan = make_plan(small.graph(), degree=2)
    epochs = cut_all(plan.graph, 1000)
    (small.folder / "ticks" / "000.parquet").unlink()
    (small.folder / "ticks" / "001.parquet").unlink()
    with pytest.raises(InputError, match=r"000\.parquet disappeared"):
        list(ParallelEngine(plan, workers=pool, options=ParallelOptions(block_rows=5)).run_log(epochs))


def test_a_pool_takes_one_plan_after_the_other(pool: Pool) -> None:
    """With as many channels as workers, with fewer, and with state to begin with."""
    expected = answer(LocalEngine(make_plan(summed(200))))
    for degree in (2, 1, 2):
        engine = ParallelEngine(make_plan(summed(200), degree=degree), workers=pool)
        assert answer(engine, 70) == expected
        engine.close()
    plan = make_plan(summed(200), degree=2)
    epochs = cut_all(plan.graph, 70)
    before = LocalEngine(plan)
    found = [before.run_epoch(epochs[0])["out"]]
    after = ParallelEngine(plan, before.state, workers=pool)
    found += [after.run_epoch(epoch)["out"] for epoch in epochs[1:]]
    assert rows(found) == expected
    assert set(after.state) == {(1, 0), (1, 1)}
    after.close()


# What waits


@pytest.mark.parametrize("keep", [lambda t: False, lambda t: t.n % 97 == 0, lambda t: t.k == 1, lambda t: t.n < 3])
@pytest.mark.parametrize("window", [1, 3])
def test_channels_that_drop_all_delay_no_other(keep: Any, window: int) -> None:
    expected = answer(LocalEngine(make_plan(summed(300, keep))))
    for seed in range(5):
        workers = Interleaved(seed)
        engine = ParallelEngine(
            make_plan(summed(300, keep), degree=4), workers=workers, options=ParallelOptions(10, window)
        )
        assert answer(engine) == expected


def two_shuffles(count: int) -> LogicalGraph:
    app, made = numbers(count)
    sums = made.aggregate(window.running(by="k"), name="sums", k=agg.any("k"), n=agg.sum("n"))
    again = sums.aggregate(window.running(by="n"), name="again", k=agg.any("k"), n=agg.count())
    again.sink(tw.collect(), name="out")
    return app.graph()


@pytest.mark.parametrize("seed", range(3))
def test_what_waits_is_bounded(seed: int) -> None:
    """By the blocks that may be on their way, however slow one of the workers is, and however long the epoch."""
    plan, options = make_plan(two_shuffles(600), degree=4), ParallelOptions(block_rows=10, window=2)
    workers = Interleaved(seed)
    engine = ParallelEngine(plan, workers=workers, options=options)
    assert answer(engine, 600) == answer(LocalEngine(plan), 600)
    (epoch, *_) = cut_all(plan.graph, 600)
    engine.run_epoch(epoch)
    on_the_way = 2 * 4 * 10  # window × channels × rows of a block
    assert workers.most_waiting <= on_the_way
    assert max(engine.most_held.values()) <= on_the_way
    assert {"stage 1", "stage 2"} < set(engine.most_held)


# With which strategy sinks are merged


def strategies(plan: Plan) -> set[str]:
    return {joint.strategy for joint in joints_of(plan).values()}


def test_the_cheapest_strategy_that_is_proven_to_do() -> None:
    app, made = numbers(10)
    made.map(lambda t: {"k": t.n}).sink(tw.collect())
    assert strategies(make_plan(app.graph())) == {"round-robin"}
    assert strategies(make_plan(two_shuffles(10), degree=2)) == {"numbers"}
    assert strategies(make_plan(summed(10), degree=2)) == {"numbers and pulses"}
    app, made = numbers(10)
    made.filter(lambda t: t.n > 3).sink(tw.none())
    assert strategies(make_plan(app.graph())) == {"none"}


def test_strategies_with_several_sources_and_many_tuples_out() -> None:
    app, made = numbers(10)
    other = app.source(tw.beacon(lambda i: {"k": i, "n": i}, count=4), Number, name="other")
    made.union(other).map(lambda t: {"k": t.n}).sink(tw.collect())
    assert strategies(make_plan(app.graph())) == {"round-robin"}, "every position comes back, whichever source had it"
    app, made = numbers(10)
    other = app.source(tw.beacon(lambda i: {"k": i, "n": i}, count=4), Number, name="other")
    made.map(lambda t: {"k": t.n}).sink(tw.collect())
    other.sink(tw.none())
    assert strategies(make_plan(app.graph())) == {"numbers and pulses", "none"}, (
        "the other source's positions are missing"
    )
    app, made = numbers(10)
    made.flat_map(lambda t: [t, t], Number).sink(tw.collect())
    (joint,) = joints_of(make_plan(app.graph())).values()
    assert (joint.strategy, joint.shared) == ("numbers and pulses", True)


def test_stateless_graphs_in_two_workers(pool: Pool) -> None:
    """Blocks in turn, and back in turn."""
    app, made = numbers(5000)
    made.map(lambda t: {"k": t.n, "n": t.n * t.k}).sink(tw.collect(), name="out")
    plan = make_plan(app.graph(), degree=2)
    assert (plan.channels, strategies(plan)) == (2, {"round-robin"})
    engine = ParallelEngine(plan, workers=pool, options=ParallelOptions(block_rows=100))
    assert answer(engine, 600) == answer(LocalEngine(plan), 600)
    engine.close()
