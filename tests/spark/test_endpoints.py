"""Sources and sinks on Spark: one application with an iterable, a beacon and a connection, and all kinds of sinks.

The cutter runs in Spark's source process, the feeders in the driver: they meet in the spool's folder.
"""

from __future__ import annotations

import functools
import io
import json
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import thalweg as tw
from tests.changed_code import CHANGES_CODE
from tests.small import THALWEG, Small, Stop, undisturbed
from tests.spark import dying_driver
from tests.spark.processes import Run
from tests.tcp import Server, free_port, hear, numbers, say, say_and_stay
from tests.waiting import wait_for
from thalweg import agg, window
from thalweg.engine.core.run import RunOptions, RunResult
from thalweg.engine.inputs import feeders as feed
from thalweg.engine.inputs import retention as retain
from thalweg.engine.inputs.spool import Spool
from thalweg.engine.spark.run import run_spark
from thalweg.engine.storage.checkpoint import Checkpoint, EpochReport
from thalweg.errors import InputError, OutputError, TupleError
from thalweg.optimize.passes import make_plan
from thalweg.verify.reference import Reference

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), CHANGES_CODE]
cloudpickle.register_pickle_by_value(sys.modules[__name__])

HOST, ITEMS = "127.0.0.1", 60


class Item(tw.Tuple):
    i: int
    s: str


def item(index: int) -> dict[str, Any]:
    return {"i": index, "s": "abc"[index % 3]}


def items() -> Iterator[dict[str, Any]]:
    """A generator: it cannot be pickled, so it must not leave the driver."""
    yield from map(item, range(ITEMS))


def mixed(folder: Path, spoken: int, heard: int) -> tw.App:
    """Sums by key over all three sources; each sink gets all of them."""
    app = tw.App("mixed")
    made = app.source(tw.beacon(item, count=ITEMS, shards=2), Item)
    given = app.source(tw.iterable(items), Item)
    said = app.source(tw.tcp(HOST, spoken), Item)
    together = made.union(given, said)
    sums = together.aggregate(window.running(by="s"), s=agg.any("s"), n=agg.count(), total=agg.sum("i"))
    sums.sink(tw.collect(), name="kept")
    sums.sink(tw.files(folder / "arrow", format="arrow"), name="arrow")
    sums.sink(tw.tcp(HOST, heard), name="sent")
    sums.sink(tw.console(rows=2), name="shown")
    sums.sink(tw.none(), name="nothing")
    return app


def run(app: tw.App, checkpoint: Path, watch: Any = lambda report: None, **options: Any) -> RunResult:
    settings = RunOptions(checkpoint, max_tuples_per_epoch=45, interval_s=0.1, **options)
    return run_spark(make_plan(app.graph(), degree=2), settings, watch)


def test_all_kinds_with_a_stop_in_the_middle(tmp_path: Path) -> None:
    lines, console, checkpoint = list[str](), io.StringIO(), tmp_path / "checkpoint"
    spool = Spool.of(checkpoint / "spool", "said")

    def stop(report: EpochReport) -> None:
        if report.epoch == 1:
            wait_for(lambda: spool.contents()[1] == 30)
            raise Stop

    with Server(say_and_stay(*numbers(0, 30)), say(*numbers(30, 50))) as speaker, Server(hear(lines)) as listener:
        app = mixed(tmp_path, speaker.port, listener.port)
        with pytest.raises(Stop):
            run(app, checkpoint, stop, console=console)
        written = sum(1 for _ in Checkpoint(checkpoint).reports(0))  # perhaps more than were shown: Spark went on
        result = run(app, checkpoint, console=console)
        assert speaker.connections == 2

    log = list(Checkpoint(checkpoint).log)
    assert [epoch.final for epoch in log] == [False] * (len(log) - 1) + [True]
    taken = Counter[str]()
    for chunk in (c for epoch in log for c in epoch.chunks):
        taken[chunk.source] += chunk.stop - chunk.start
    assert taken == {"made": ITEMS, "given": ITEMS, "said": 50}, "every line that was spooled is there, once"

    wanted = Reference(app.graph()).run(log)["kept"]
    assert len(wanted) == 2 * ITEMS + 50
    assert result.tuples("kept") == wanted
    files = sorted((tmp_path / "arrow").glob("*.arrow"))
    arrow = [row for f in files for row in pa.ipc.open_file(f).read_all().to_pylist()]
    assert [tuple(row.values()) for row in arrow] == wanted
    # At least once: an epoch may come twice, with the same numbers.
    delivered = {(d["_epoch"], d["_row"]): (d["s"], d["n"], d["total"]) for d in map(json.loads, lines)}
    assert [row for _, row in sorted(delivered.items())] == wanted
    assert result.tuples_out["nothing"] == result.tuples_out["kept"]
    for epoch in log[:-1]:
        shown = console.getvalue().count(f"shown, epoch {epoch.number}: {epoch.tuples} tuples\n")
        assert shown == 1 or (shown == 0 and 1 < epoch.number < written)


AS_ITERABLE = (
    (
        'app = tw.App("small")',
        "def rows():\n"
        "    import pyarrow.parquet as pq\n\n"
        '    for file in sorted((HERE / "ticks").iterdir()):\n'
        "        yield from pq.read_table(file).to_pylist()\n\n\n"
        'app = tw.App("small")',
    ),
    ('tw.files(HERE / "ticks")', "tw.iterable(rows)"),
)


def test_an_iterable_killed_with_all_of_spark(tmp_path: Path) -> None:
    """The same rows come from files on the local engine, undisturbed: the sinks hold the same bytes."""
    small, said = Small.make(tmp_path / "small", files=3), tmp_path / "said"
    command = small.command(app=small.app(*AS_ITERABLE))
    for point, epoch in (("after_log", 1), ("after_sinks", 2)):
        died = Run([sys.executable, dying_driver.__file__, point, str(epoch), *command[len(THALWEG) :]], said).wait()
        assert died == -9, f"{point} of epoch {epoch} did not kill the run:\n{said.read_text()}"
    assert Run(command, said).wait() == 0, said.read_text()
    assert small.output() == undisturbed(tmp_path / "undisturbed", files=3)


def test_follow_ends_by_a_stop_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless beacon with a rate next to an endless generator, of which only the last epoch's input is kept; a last
    start with counts ends the run."""
    monkeypatch.setattr(feed, "SpoolWriter", functools.partial(feed.SpoolWriter, rows_per_file=20))
    monkeypatch.setattr(retain, "_AT_ONCE", 1)

    def app(last: int | None) -> tw.App:
        made = tw.App("endless")
        paced = made.source(tw.beacon(item, count=last, rate=500), Item, name="paced")
        endless = made.source(tw.iterable(lambda: map(item, count() if last is None else range(last))), Item, name="it")
        paced.union(endless).sink(tw.collect(), name="kept")
        return made

    def stop(report: EpochReport) -> None:
        if report.epoch == 3:
            raise Stop

    with pytest.raises(Stop):
        run(app(None), tmp_path, stop, follow=True, keep_epochs=1)
    spool = Spool.of(tmp_path / "spool", "it")
    dropped, spooled = spool.dropped(), spool.contents()[1]
    assert 0 < dropped.tuples < spooled
    last = spooled + 10
    result = run(app(last), tmp_path, keep_epochs=1)
    assert sorted(i for i, _ in result.tuples()) == sorted([*range(last), *range(last)])
    assert spool.dropped().tuples > dropped.tuples


@pytest.mark.filterwarnings("ignore::thalweg.errors.ThalwegWarning")  # the sink waits for its receiver
def test_failures_name_their_place(tmp_path: Path) -> None:
    def failing(index: int) -> dict[str, Any]:
        return item(index) if index < 50 else {"i": 1 // (index - index)}

    app = tw.App("failing")
    app.source(tw.beacon(failing, count=ITEMS), Item, name="made").sink(tw.collect())
    with pytest.raises(TupleError) as failure:
        run(app, tmp_path / "beacon")
    assert (failure.value.operator, failure.value.found) == ("made", "tuple number 50")

    app = tw.App("failing")
    app.source(tw.iterable([item(0), item(1), 7]), Item, name="given").sink(tw.collect(), name="kept")
    with pytest.raises(TupleError) as failure:
        run(app, tmp_path / "iterable")
    assert (failure.value.operator, failure.value.found) == ("given", "item 2: 7")
    assert sum(e.tuples for e in Checkpoint(tmp_path / "iterable").log) == 2

    app = tw.App("failing")
    app.source(tw.tcp(HOST, free_port(), retry_s=0.2), Item, name="said").sink(tw.collect())
    with pytest.raises(InputError, match="no connection to"):
        run(app, tmp_path / "tcp")

    lines: list[str] = []
    port = free_port()
    app = tw.App("failing")
    app.source(tw.beacon(item, count=3), Item, name="made").sink(tw.tcp(HOST, port, retry_s=0.2), name="sent")
    with pytest.raises(OutputError, match="epoch 0 cannot be delivered") as refusal:
        run(app, tmp_path / "sink")
    assert refusal.value.operator == "sent"
    with Server(hear(lines), port=port):
        run(app, tmp_path / "sink")
    assert [json.loads(line)["i"] for line in lines] == [0, 1, 2]
