"""The concurrent splits of a row source: each partition of a topic has its own event time. Without a broker; with one:
tests/services/test_kafka.py."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import thalweg as tw
from tests.properties.check import run_local, run_reference
from tests.properties.strategies import cut_all
from tests.split_spools import Known, write_split_spool
from thalweg import agg, testing, window
from thalweg.endpoints.kafka import Kafka
from thalweg.engine.inputs import split_rows
from thalweg.engine.inputs.split_rows import SPLIT, KnownSplits
from thalweg.engine.inputs.spool import End, Spool
from thalweg.errors import InputError
from thalweg.explain import cut_invariance
from thalweg.ir.operators import Process
from thalweg.ir.origins import origin_parts, split_number
from thalweg.library.multi_port import LeastTime
from thalweg.verify.check import sample_plans
from thalweg.verify.compare import first_difference
from thalweg.verify.reference import Answer


class Reading(tw.Tuple):
    t: int
    k: str


def topic_app(**options: Any) -> tw.App:
    app = tw.App("topic")
    timed = app.source(tw.kafka("localhost:1", "readings"), Reading, name="r").event_time("t", **options)
    counted = timed.aggregate(window.tumbling(time=10, by="k"), k=agg.any("k"), end=agg.window_end(), n=agg.count())
    counted.sink(tw.collect(), name="out")
    counted.late.sink(tw.collect(), name="late")
    return app


def batch(*parts: tuple[int, list[int]], topic: str = "readings") -> pa.Table:
    """The records of a batch by partition, as Spark's connector returns them and the feeder sorts them."""
    rows = [(partition, t) for partition, times in parts for t in times]
    values = [json.dumps({"t": t, "k": f"p{partition}"}).encode() for partition, t in rows]
    partitions = pa.array([partition for partition, _ in rows], pa.int32())
    return pa.table({"value": pa.array(values, pa.binary()), "topic": [topic] * len(rows), "partition": partitions})


def answers(
    app: tw.App, spools: Path, batches: Sequence[tuple[pa.Table, Known]], max_tuples: int = 1_000_000, plans: int = 6
) -> tuple[Answer, list[list[tuple[Any, ...]]]]:
    """The answer, the same for the reference and several plans, and that of the sink `out` by epoch."""
    graph = app.graph()
    (source,) = graph.sources
    write_split_spool(source, spools, Kafka.split_by, batches)
    epochs = cut_all(graph, max_tuples, spools)
    wanted = run_reference(graph, epochs).answer
    for plan in sample_plans(graph, plans, seed=1):
        found = run_local(plan, epochs, through_bytes=True).answer
        for sink, rows in wanted.items():
            assert first_difference(rows, found[sink]) is None, sink
    upto = [run_reference(graph, epochs[: n + 1]).answer["out"] for n in range(len(epochs))]
    return wanted, [rows[len(before) :] for before, rows in zip([[], *upto], upto, strict=False)]


LATER, EARLIER = list(range(1000, 1100, 5)), list(range(0, 100, 5))


@pytest.mark.parametrize("max_tuples", [1_000_000, 30, 7, 1])
def test_partitions_with_very_different_event_times(tmp_path: Path, max_tuples: int) -> None:
    """The first one comes first, whole: without an event time for each, all tuples of the second would be late. Also if
    the second one begins epochs later."""
    found, _ = answers(topic_app(idle=None), tmp_path, [(batch((0, LATER), (1, EARLIER)), ())], max_tuples)
    assert found["late"] == []
    assert sorted(found["out"]) == sorted(
        [*(("p0", e, 2) for e in range(1010, 1101, 10))] + [("p1", e, 2) for e in range(10, 101, 10)]
    )


def test_windows_close_when_every_partition_has_passed_them(tmp_path: Path) -> None:
    batches = [batch((0, [5, 25]), (1, [3, 8])), batch((0, [35, 36]), (1, [12, 13])), batch((1, [31]))]
    found, by_epoch = answers(topic_app(), tmp_path, [(table, ()) for table in batches], 4)
    assert by_epoch[:3] == [[], [("p0", 10, 1), ("p1", 10, 2)], [("p1", 20, 2), ("p0", 30, 1)]]
    assert found["late"] == []


def test_a_partition_without_records_is_waited_for(tmp_path: Path) -> None:
    """The broker knows it. Its records come two batches later, and are not late."""
    known = [("readings", 0), ("readings", 1)]
    batches = [(batch((0, [10 * n])), known) for n in range(3)] + [(batch((1, [4])), known)]
    assert answers(topic_app(), tmp_path / "known", batches, 1)[0]["late"] == []
    unknown = [(table, ()) for table, _ in batches]
    assert answers(topic_app(), tmp_path / "unknown", unknown, 1)[0]["late"] == [(4, "p1")]


def test_an_idle_partition_holds_others_back_only_for_some_epochs(tmp_path: Path) -> None:
    batches = [batch((0, [0]), (1, [0])), *(batch((0, [10 * n, 10 * n + 1])) for n in range(1, 7))]
    _, by_epoch = answers(topic_app(idle=2), tmp_path, [(table, ()) for table in batches], 2)
    assert [len(rows) for rows in by_epoch[:5]] == [0, 0, 0, 4, 1]


def test_a_partition_that_appears_later(tmp_path: Path) -> None:
    """It counts from then on, and the others wait for it again, for `idle` epochs since it was found."""
    two, three = [("readings", 0), ("readings", 1)], [("readings", p) for p in range(3)]
    early = [(batch((0, [10 * n]), (1, [10 * n])), two) for n in range(8)]
    late = [(batch((0, [10 * n]), (1, [10 * n])), three) for n in range(8, 12)]
    new = [(batch((2, [5, 81, 85])), three), (batch((0, [120]), (1, [120]), (2, [120])), three)]
    found, by_epoch = answers(topic_app(idle=5), tmp_path, [*early, *late, *new], 4)
    assert found["late"] == [(5, "p2")]
    closed = [row[1] for rows in by_epoch[:-1] for row in rows]
    assert closed == sorted(closed)
    assert ("p2", 90, 2) in found["out"]


def test_numbers_and_names_stay(tmp_path: Path) -> None:
    """A start later, and if partitions come in a different order."""
    spool = Spool.of(tmp_path, "r")
    spool.open()
    first = KnownSplits(spool).numbered(batch((2, [1, 2])), Kafka.split_by)
    second = KnownSplits(spool).numbered(batch((0, [1]), (2, [2])), Kafka.split_by, [("readings", 1)])
    other = KnownSplits(spool).numbered(batch((2, [3]), topic="others"), Kafka.split_by)
    parts = [[origin_parts(7 + code) for code in table[SPLIT].to_pylist()] for table in (first, second, other)]
    assert parts == [[(7, 0, 0)] * 2, [(7, 2, 2), (7, 0, 2)], [(7, 3, 3)]]
    assert KnownSplits(spool).names == ["readings\x1f2", "readings\x1f1", "readings\x1f0", "others\x1f2"]


def test_parts_of_a_number() -> None:
    most = 2**21 - 1
    for entry, split, others in [(1, 0, 0), (1, 5, 9), (most, most, most)]:
        number = entry + split_number(split, others)
        assert number < 2**63
        assert origin_parts(number) == (entry, split, others)


def test_too_many_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_rows, "MOST_SPLITS", 3)
    spool = Spool.of(tmp_path, "r")
    spool.open()
    with pytest.raises(InputError, match="too many concurrent splits"):
        KnownSplits(spool).numbered(batch(*((p, [1]) for p in range(4))), Kafka.split_by)


def test_a_spool_from_before_splits_were_stored(tmp_path: Path) -> None:
    """Its tuples have one event time, as they had; later files may have splits."""
    graph = topic_app().graph()
    (source,) = graph.sources
    spool = Spool.of(tmp_path, source.name)
    spool.open()
    spool.write_table(0, batch((0, [50]), (1, [3])).select(["value"]))
    numbered = KnownSplits(spool).numbered(batch((0, [60]), (1, [55])), Kafka.split_by)
    spool.write_table(1, numbered.select(["value", SPLIT]))
    spool.mark_end(End())
    epochs = cut_all(graph, 2, tmp_path)
    wanted = run_reference(graph, epochs).answer
    assert wanted["late"] == [(3, "p1")]
    for plan in sample_plans(graph, 4, seed=1):
        assert run_local(plan, epochs).answer == wanted


def test_state_of_the_version_before() -> None:
    processes = [o for o in topic_app().graph().operators if isinstance(o, Process)]
    (least,) = (o.logic for o in processes if isinstance(o.logic, LeastTime))
    before = {"times": {"r.records": 5}, "heard": {"r.records": 3}, "since": 0, "told": 5, "told_in": 3}
    assert least.upgrade(before, 2) == before | {"splits": {}}


def test_where_splits_do_not_matter_nothing_is_read_of_them() -> None:
    app = tw.App("plain")
    app.source(tw.kafka("localhost:1", "readings"), Reading, name="r").sink(tw.collect(), name="out")
    graph = app.graph()
    assert [source.origin for source in graph.sources] == [0]
    assert cut_invariance(graph) == (True, "it has one totally ordered source")


def test_explain_and_idleness() -> None:
    assert cut_invariance(topic_app().graph()) == (
        False,
        "event time waits for each split of r.records for a number of epochs",
    )
    assert cut_invariance(topic_app(idle=None).graph())[0]


def test_in_a_users_test_there_is_one_partition() -> None:
    records = [{"value": json.dumps({"t": t, "k": "a"}).encode()} for t in (1, 12, 3, 25)]
    found = testing.run(topic_app(), {"r.records": records})
    assert (found["out"], found["late"]) == ([("a", 10, 1), ("a", 20, 1), ("a", 30, 1)], [(3, "a")])
    testing.assert_plan_invariant(topic_app(), {"r.records": records}, plans=4)


@pytest.mark.parametrize(("given", "names"), [("p", ("p",)), (["p", "q"], ("p", "q")), ((), ())])
def test_columns_of_splits_reach_the_workers(given: Any, names: tuple[str, ...]) -> None:
    endpoint = tw.spark("rate", split_by=given, rowsPerSecond=1)
    assert pickle.loads(pickle.dumps(endpoint)).split_by == names
    assert endpoint.concurrent_splits == (None if names else 1)
