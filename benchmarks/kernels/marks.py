"""What marks cost when there are many keys: python benchmarks/kernels/marks.py [--rounds N] [--quick] [--json]

Each tuple moves the event time, so each brings a mark. With 20 times as many keys a mark has no more to do: each tuple
adds one thing that will be due, whatever its key. The contender "every key" asks every key at every mark.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import Measured, interleaved, machine, rate_table, write_results

import thalweg as tw
from thalweg import agg, window
from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.storage.log import InputLog
from thalweg.optimize.passes import make_plan
from thalweg.runtime.due_keys import DueKeys

KEYS = (100, 2_000)


class Reading(tw.Tuple):
    time: int
    sensor: int


class Late(tw.Operator):
    """Reports a sensor that has been silent."""

    def __init__(self) -> None:
        self.sensor = 0

    def process(self, t: Any, port: int) -> None:
        self.sensor = t.sensor
        self.sleep_until(t.time + 500)

    def on_mark(self, time: int) -> None:
        self.forget()
        self.submit(Reading(time, self.sensor))


def join(s: tw.Stream) -> tw.Stream:
    other = s.map(lambda t: {"when": t.time, "sensor": t.sensor}).event_time("when", step=1)
    return s.join(other, window.within(500), mine=window.last(1), on="sensor")


FORMS: dict[str, Callable[[tw.Stream], tw.Stream]] = {
    "tumbling": lambda s: s.aggregate(window.tumbling(time=500, by="sensor"), n=agg.count()),
    "sliding": lambda s: s.aggregate(window.sliding(time=500, slide=250, by="sensor"), n=agg.count()),
    "apply": lambda s: s.apply(window.tumbling(time=500, by="sensor"), lambda rows: rows[:1], Reading),
    "dedup": lambda s: s.dedup("sensor", within=500),
    "join": join,
    "class": lambda s: s.custom(Late(), Reading, by="sensor"),
}


class Job:
    def __init__(self, log: Path, form: str, keys: int, tuples: int, every: bool) -> None:
        app = tw.App("marks")
        readings = app.source(tw.beacon(lambda i: {"time": i, "sensor": i * 7919 % keys}, count=tuples), Reading)
        FORMS[form](readings.event_time("time", step=1)).sink(tw.none())
        graph = app.graph()
        self.plan, self.every = make_plan(graph, degree=1), every
        cutter = EpochCutter(graph.sources, InputLog(log), tuples)
        while cutter.next_epoch(closing=True) is not None:
            pass
        self.epochs = list(InputLog(log))

    def seconds(self) -> float:
        engine = LocalEngine(self.plan)
        with every_key() if self.every else as_it_is():
            started = time.perf_counter()
            for epoch in self.epochs:
                engine.run_epoch(epoch)
            return time.perf_counter() - started


@contextmanager
def as_it_is() -> Iterator[None]:
    yield


@contextmanager
def every_key() -> Iterator[None]:
    """Ask every key at every mark, in order, as it was done before there was an index."""
    known: dict[DueKeys, dict[Any, None]] = {}
    note, take, remove = DueKeys.note, DueKeys.take, DueKeys.remove

    def noted(self: DueKeys, record: Any) -> None:
        known.setdefault(self, {})[record] = None
        note(self, record)

    def removed(self: DueKeys, record: Any) -> None:
        known.setdefault(self, {}).pop(record, None)
        remove(self, record)

    def taken(self: DueKeys, time: int) -> list[Any]:
        for record in sorted(known.get(self, {}), key=lambda record: record.rank):
            note(self, record)
        return take(self, time)

    DueKeys.note, DueKeys.take, DueKeys.remove = noted, taken, removed  # type: ignore[method-assign]
    try:
        yield
    finally:
        DueKeys.note, DueKeys.take, DueKeys.remove = note, take, remove  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tuples", type=int, default=4_000)
    parser.add_argument("--quick", action="store_true", help="2 rounds, no results written")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.rounds = 2
    document: dict[str, Any] = {
        "machine": machine("numpy", "pyarrow"),
        "options": {name: getattr(options, name) for name in ("rounds", "tuples")},
        "rates": {},
    }
    sections: list[str] = []
    few, many = KEYS
    scratch = Path(tempfile.mkdtemp(prefix="thalweg-bench-"))
    for form in FORMS:
        jobs = {
            f"{few:,} keys": Job(scratch / f"{form} 0", form, few, options.tuples, every=False),
            f"{many:,} keys": Job(scratch / f"{form} 1", form, many, options.tuples, every=False),
            f"{many:,} keys, every key": Job(scratch / f"{form} 2", form, many, options.tuples, every=True),
        }
        rates: Measured = {name: [] for name in jobs}
        for _, name in interleaved(list(jobs), options.rounds):
            rates[name].append(options.tuples / jobs[name].seconds())
        document["rates"][form] = rates
        peers = {name: rates[name] for name in (f"{few:,} keys", f"{many:,} keys, every key")}
        sections.append(f"## {form}\n\n{rate_table(rates, peers)}")
        if not options.json:
            print(f"\n{sections[-1]}", flush=True)
    shutil.rmtree(scratch)
    if options.json:
        print(json.dumps(document))
    if not options.quick:
        file = Path(__file__).with_name("marks-results")
        write_results(file, "Marks and many keys: last results", "\n\n".join(sections), document, "marks.py")


if __name__ == "__main__":
    main()
