"""Beacons and iterables on the local engine: what they give, at a restart, after a crash, and when they fail."""

from __future__ import annotations

import functools
import itertools
import pickle
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.engine.test_crash import die_at_write, finished, in_child
from tests.small import Stop, contents, stop_after
from tests.waiting import wait_for
from thalweg import agg, window
from thalweg.endpoints.iterable import Items
from thalweg.engine.core.run import RunOptions, RunResult
from thalweg.engine.inputs import feeders as feed
from thalweg.engine.inputs import retention as retain
from thalweg.engine.inputs.spool import Spool
from thalweg.engine.local.run import run_local
from thalweg.engine.storage.checkpoint import Checkpoint, EpochReport
from thalweg.errors import CheckpointError, EngineError, InputError, PlanError, TupleError
from thalweg.explain import cut_invariance
from thalweg.ir.endpoints import SourceEndpoint
from thalweg.optimize.passes import make_plan
from thalweg.verify.check import check
from thalweg.verify.reference import Reference

ITEMS, PER_EPOCH = 100, 30


class Item(tw.Tuple):
    i: int
    k: str


def item(index: int) -> dict[str, Any]:
    return {"i": index, "k": "abc"[index % 3]}


def items() -> Iterator[dict[str, Any]]:
    return map(item, range(ITEMS))


def app_of(endpoint: SourceEndpoint, folder: Path | None = None) -> tw.App:
    """Running sums by key: a duplicate, a missing tuple or a different order changes them."""
    app = tw.App("sums")
    source = app.source(endpoint, Item, name="items")
    sums = source.aggregate(window.running(by="k"), k=agg.any("k"), last=agg.last("i"), total=agg.sum("i"))
    sums.sink(tw.collect() if folder is None else tw.files(folder), name="out")
    return app


def run(
    app: tw.App,
    checkpoint: Path | None = None,
    watch: Callable[[EpochReport], None] = lambda report: None,
    *,
    follow: bool = False,
    per_epoch: int = PER_EPOCH,
    keep: int | None = None,
) -> RunResult:
    # In this process: some tests run it in a fork of theirs, which cannot use the server that forks workers.
    options = RunOptions(checkpoint, follow, per_epoch, interval_s=0.05, in_process=True, keep_epochs=keep)
    return run_local(make_plan(app.graph(), degree=2), options, watch)


def expected(indexes: range | list[int] = range(ITEMS)) -> list[tuple[str, int, int]]:
    totals: dict[str, int] = {}
    rows = []
    for index in indexes:
        key = item(index)["k"]
        totals[key] = totals.get(key, 0) + index
        rows.append((key, index, totals[key]))
    return rows


BOUNDED: dict[str, Callable[[], SourceEndpoint]] = {
    "beacon": lambda: tw.beacon(item, count=ITEMS),
    "paced beacon": lambda: tw.beacon(item, count=ITEMS, rate=2000),
    "generator function": lambda: tw.iterable(items),
    "list of dicts": lambda: tw.iterable(list(items())),
    "tuples": lambda: tw.iterable([Item(**row) for row in items()]),
    "endless generator": lambda: tw.iterable(lambda: itertools.islice(map(item, count()), ITEMS)),
}


@pytest.fixture
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "SpoolWriter", functools.partial(feed.SpoolWriter, rows_per_file=7))


@pytest.mark.usefixtures("_small_files")
@pytest.mark.parametrize("kind", BOUNDED)
def test_all_tuples_in_order(kind: str) -> None:
    result = run(app_of(BOUNDED[kind]()))
    assert result.tuples() == expected()
    if kind != "paced beacon":
        assert result.epochs == 5, "the cuts are made by number alone"


@pytest.mark.usefixtures("_small_files")
@pytest.mark.parametrize("stop", range(4))
@pytest.mark.parametrize("kind", BOUNDED)
def test_stopped_and_started_again(tmp_path: Path, kind: str, stop: int) -> None:
    with pytest.raises(Stop):
        run(app_of(BOUNDED[kind]()), tmp_path, stop_after(stop))
    assert run(app_of(BOUNDED[kind]()), tmp_path).tuples() == expected()
    log = list(Checkpoint(tmp_path).log)
    assert Reference(app_of(BOUNDED[kind]()).graph()).run(log)["out"] == expected(), "the log can be replayed"


@pytest.mark.slow
@pytest.mark.usefixtures("_small_files")
@pytest.mark.parametrize("keep", [None, 1])
def test_an_iterable_killed_at_every_write(tmp_path: Path, keep: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the middle of a file of the spool. Cuts are made by number, so the sink's files are the same."""
    monkeypatch.setattr(retain, "_AT_ONCE", 1)
    app = app_of(tw.iterable(items), tmp_path / "undisturbed")
    run(app)
    wanted = [data for name, data in contents(tmp_path / "undisturbed").items() if "epoch" in name]
    assert len(wanted) == 4
    kills = 0
    for number in count(1, 2):
        folder = tmp_path / str(number)
        work = functools.partial(run, app_of(tw.iterable(items), folder / "out"), folder / "checkpoint", keep=keep)

        def dying() -> None:
            die_at_write(number, half=number % 4 == 1)
            work()

        if finished(in_child(dying)):
            break
        kills += 1
        if not (folder / "checkpoint" / "ended").exists():
            assert finished(in_child(work))
        found = [data for name, data in contents(folder / "out").items() if "epoch" in name]
        assert found == wanted, f"killed at write {number}"
        left = len(list((folder / "checkpoint" / "spool" / "items.spool").glob("*.arrow")))
        assert left <= 3 if keep else left > 10, "three files and a half are an epoch; the last one takes ten tuples"
    assert kills > 15, "the spool, log, state, sink, commit and progress should be among them"


@pytest.mark.usefixtures("_small_files")
@pytest.mark.parametrize("keep", [1, 2])
def test_what_old_epochs_took_is_deleted(tmp_path: Path, keep: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run keeps what it may need again: it resumes as if nothing had been deleted."""
    monkeypatch.setattr(retain, "_AT_ONCE", 1)
    with pytest.raises(Stop):
        run(app_of(tw.iterable(items)), tmp_path, stop_after(3), keep=keep)
    spool = Spool.of(tmp_path / "spool", "items")
    assert spool.contents() == (15, 100), "7 tuples to a file, whether it is there or not"
    kept = Checkpoint(tmp_path).log[3 - keep].chunks[0].split  # the run stopped before the cleanup after epoch 3
    assert [spool.file(number).exists() for number in range(15)] == [False] * kept + [True] * (15 - kept)
    spool.file(0).write_bytes(b"a kill left it")
    assert run(app_of(tw.iterable(items)), tmp_path, keep=keep).tuples() == expected()
    assert not spool.file(0).exists()


def test_what_was_spooled_is_skipped(tmp_path: Path) -> None:
    """The second start iterates again, and takes only the items that the first had not spooled."""
    spool = Spool.of(tmp_path / "spool", "items")

    def stop(report: EpochReport) -> None:
        wait_for(lambda: spool.end() is not None)
        raise Stop

    with pytest.raises(Stop):
        run(app_of(tw.iterable(items)), tmp_path, stop)
    assert spool.contents()[1] == ITEMS
    asked = []
    app = app_of(tw.iterable(lambda: asked.append(1) or items()))  # type: ignore[func-returns-value]
    assert run(app, tmp_path).tuples() == expected()
    assert asked == [], "the iterable had ended"


def test_a_shorter_iterable_is_refused(tmp_path: Path) -> None:
    def failing() -> Iterator[dict[str, Any]]:
        yield from map(item, range(50))
        raise OSError("the line went dead")

    with pytest.raises(TupleError, match="OSError: the line went dead") as failure:
        run(app_of(tw.iterable(failing)), tmp_path)
    assert (failure.value.operator, failure.value.found) == ("items", "item 50")
    with pytest.raises(InputError, match="shorter than it was") as refusal:
        run(app_of(tw.iterable(lambda: map(item, range(49)))), tmp_path)
    assert (refusal.value.expected, refusal.value.found) == (
        "at least the 50 items that were read before",
        "49 items",
    )
    assert run(app_of(tw.iterable(items)), tmp_path).tuples() == expected()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"i": "1", "k": "a"}, "TypeError: i: expected int, found str ('1')"),
        ({"i": 1}, "TypeError: expected the attributes i, k, found i"),
        (7, "TypeError: expected a dict or a tuple with i, k, found 7"),
        ({"i": 2**63, "k": "a"}, "OverflowError: i: 9223372036854775808 does not fit into a 64-bit int"),
    ],
)
def test_an_item_that_does_not_fit(tmp_path: Path, bad: Any, message: str) -> None:
    """The sinks hold everything before it; after a fix, the run resumes."""
    with pytest.raises(TupleError) as failure:
        run(app_of(tw.iterable([*map(item, range(40)), bad])), tmp_path)
    assert (failure.value.message, failure.value.found) == (message, f"item 40: {bad!r}")
    assert sum(epoch.tuples for epoch in Checkpoint(tmp_path).log) == 40
    assert run(app_of(tw.iterable(items)), tmp_path).tuples() == expected()


class Abort(BaseException):
    """As those of asyncio: not an Exception."""


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(SystemExit("no more"), "SystemExit: no more"), (Abort("at once"), "Abort: at once")],
    ids=["exit", "abort"],
)
def test_an_iterable_that_ends_its_thread_ends_the_run(tmp_path: Path, raised: BaseException, expected: str) -> None:
    """The thread would end without a word, and the run would wait for it forever."""

    def ending() -> Iterator[dict[str, Any]]:
        yield item(0)
        raise raised

    with pytest.raises(TupleError, match=expected) as failure:
        run(app_of(tw.iterable(ending)), tmp_path)
    assert (failure.value.operator, failure.value.found) == ("items", "item 1")
    assert sum(epoch.tuples for epoch in Checkpoint(tmp_path).log) == 1


def test_something_that_is_not_iterable_after_all() -> None:
    with pytest.raises(TupleError, match="'int' object is not iterable"):
        run(app_of(tw.iterable(lambda: 7)))  # type: ignore[arg-type, return-value]


def test_an_endless_iterable_runs_ahead_by_a_bounded_number(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(app_of(tw.iterable(lambda: map(item, count()))), tmp_path, stop_after(3), follow=True, per_epoch=5)
    taken = sum(epoch.tuples for epoch in Checkpoint(tmp_path).log)
    assert Spool.of(tmp_path / "spool", "items").contents()[1] <= taken + 2 * 5 + feed.ROWS_PER_FILE


@pytest.mark.parametrize("endless", [False, True])
@pytest.mark.parametrize("end_too", [False, True])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endless: bool, end_too: bool) -> None:
    """Found by the feeder or, while that waits for its next item, by the flusher; nothing is lost."""

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    def hanging() -> Iterator[dict[str, Any]]:
        yield from items()
        hanging_here.wait(30)

    hanging_here = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(Spool, "write", full)
        if end_too:
            patch.setattr(Spool, "mark_end", full)
        with pytest.raises(EngineError, match="the spool cannot be written") as failure:
            run(app_of(tw.iterable(hanging if endless else items)), tmp_path)
        hanging_here.set()
    assert failure.value.found == "No space left on device"
    assert run(app_of(tw.iterable(items)), tmp_path).tuples() == expected()


def test_items_stay_in_the_driver() -> None:
    endpoint = Items(open(__file__))  # noqa: SIM115
    with endpoint.items:
        assert pickle.loads(pickle.dumps(endpoint)).items is None


# Beacons


def test_shards_advance_side_by_side(tmp_path: Path) -> None:
    app = tw.App("shards")
    app.source(tw.beacon(item, count=10, shards=3), Item, name="items").sink(tw.collect())
    graph = app.graph()
    assert cut_invariance(graph) == (False, "the shards of items are interleaved epoch by epoch")
    result = run(app, tmp_path, per_epoch=6)
    assert [i for i, _ in result.tuples()] == [0, 3, 1, 4, 2, 5, 6, 9, 7, 8]
    log = list(Checkpoint(tmp_path).log)
    assert [[(c.split, c.start, c.stop) for c in e.chunks] for e in log] == [
        [(0, 0, 2), (1, 0, 2), (2, 0, 2)],
        [(0, 2, 4), (1, 2, 3), (2, 2, 3)],
        [],
    ]


def test_an_endless_beacon_needs_follow(tmp_path: Path) -> None:
    app = app_of(tw.beacon(item))
    with pytest.raises(PlanError, match="the run would never end: items is endless") as refusal:
        run(app, tmp_path)
    assert "--follow" in str(refusal.value.expected)
    assert not list(tmp_path.iterdir())
    with pytest.raises(Stop):
        run(app, tmp_path, stop_after(2), follow=True)
    with pytest.warns(tw.ThalwegWarning, match="count was None and is 100"):
        assert run(app_of(tw.beacon(item, count=100)), tmp_path).tuples() == expected(), "a count may be set later"


def test_an_empty_beacon() -> None:
    assert run(app_of(tw.beacon(item, count=0))).epochs == 1


@pytest.mark.parametrize("per_epoch", [1, 7, 30, 1000])
def test_the_first_tuple_that_fails_is_reported(tmp_path: Path, per_epoch: int) -> None:
    """Several channels call the function: the least number counts, and a later operator's earlier failure."""

    def failing(index: int) -> dict[str, Any]:
        return item(index) if index < 60 else {"i": 1 // (index - index)}

    with pytest.raises(TupleError) as failure:
        run(app_of(tw.beacon(failing, count=ITEMS)), tmp_path, per_epoch=per_epoch)
    error = failure.value
    assert (error.operator, error.found) == ("items", "tuple number 60")
    assert error.message.startswith("ZeroDivisionError")
    app = tw.App("early")
    source = app.source(tw.beacon(failing, count=ITEMS), Item, name="items")
    source.map(lambda t: {"x": 1 // (t.i - 55)}, name="early").sink(tw.collect())
    with pytest.raises(TupleError) as failure:
        run(app, per_epoch=per_epoch)
    assert failure.value.operator == "early"


def test_seeded_is_the_same_everywhere() -> None:
    assert tw.seeded(7, 3).random() == tw.seeded(7, 3).random() == 0.04321881789228821
    assert tw.seeded(7, 4).random() != tw.seeded(7, 3).random() != tw.seeded(8, 3).random()


# Restart and check


def test_a_different_kind_of_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        run(app_of(tw.beacon(item, count=ITEMS)), tmp_path, stop_after(0))
    for other in (tw.iterable(items), tw.beacon(item, count=ITEMS, shards=2)):
        with pytest.raises(CheckpointError, match="the source items now has a different kind of endpoint"):
            run(app_of(other), tmp_path)
    assert run(app_of(tw.beacon(item, count=ITEMS)), tmp_path).tuples() == expected()


@pytest.mark.parametrize(
    "endpoint", [tw.beacon(item, rate=1.0), tw.beacon(item, shards=3), tw.iterable(lambda: map(item, count()))]
)
def test_check_takes_a_sample(endpoint: SourceEndpoint) -> None:
    graph = app_of(endpoint).graph()
    invariant = cut_invariance(graph)[0]
    result = check(graph, tuples=48, plans=6, seed=0, cut_invariant=invariant, progress=lambda done: None)
    assert (result.plans, result.tuples, result.difference) == (6, 48, None)


def test_check_finds_a_beacon_that_is_not_deterministic() -> None:
    calls = count()
    numbered = tw.declare(state="stateless")(lambda i: {"i": next(calls), "k": "a"})  # it is not
    graph = app_of(tw.beacon(numbered, count=20)).graph()
    result = check(graph, tuples=20, plans=6, seed=0, cut_invariant=True, progress=lambda done: None)
    assert result.difference is not None


def test_check_takes_no_sample_of_a_connection() -> None:
    graph = app_of(tw.tcp("localhost", 1)).graph()
    with pytest.raises(PlanError, match="no sample can be taken of items"):
        check(graph, tuples=20, plans=6, seed=0, cut_invariant=True, progress=lambda done: None)
