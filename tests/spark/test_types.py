"""All attribute types on Spark: the classes of a user's script exist in no worker, yet its tuples get there and back.

The aggregate and the join keep them in Spark's state store over several epochs.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thalweg.api import run_plan
from thalweg.cli.find_app import load_app
from thalweg.engine.core.run import RunOptions
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.errors import OutputError
from thalweg.optimize.passes import make_plan
from thalweg.verify.compare import first_difference
from thalweg.verify.reference import Reference

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

APP = """
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import thalweg as tw
from thalweg import agg, window

HERE = Path(__file__).parent


class Place(tw.Tuple):
    x: float
    tags: list[str]

    def near(self) -> bool:
        return abs(self.x) < 2


class Trip(tw.Tuple):
    n: int
    day: date | None
    cost: Decimal
    data: bytes
    stops: list[Place]


class Seen(Trip):
    when: datetime
    last: Place | None


def seen(t: Trip) -> Seen:
    zone = ZoneInfo("Europe/Berlin") if t.n % 2 else UTC
    when = datetime(2024, 10, 27, 0, 30, tzinfo=UTC).astimezone(zone) + timedelta(hours=t.n % 3)
    last = t.stops[-1] if t.stops and t.stops[-1].near() else None
    return Seen(t.n, t.day, t.cost, t.data, t.stops, when, last)


app = tw.App("trips")
trips = app.source(tw.files(HERE / "trips", format="jsonl"), Trip).map(seen, Seen, name="seen")
sums = trips.aggregate(
    window.sliding(count=4, by="last"),
    last=agg.any("last"), total=agg.sum("cost"), first=agg.first("when"), least=agg.min("data"), days=agg.last("day"),
)
both = trips.join(sums, window.last(1), on="last")
both.sink(tw.collect(), name="kept")
both.filter(lambda t: t.total < 100).sink(tw.files(HERE / "out"), name="files")
per_day = trips.aggregate(window.running(by=["day", "cost"]), day=agg.any("day"), stops=agg.first("stops"))
per_day.sink(tw.collect(), name="days")
"""


def make(folder: Path, cost: str = "1.50") -> Path:
    (folder / "trips").mkdir(parents=True)
    rows = [
        {
            "n": n,
            "day": None if n % 3 == 0 else f"2024-02-{1 + n % 4:02d}",
            "cost": (cost, "1.5", "2", "1E-3")[n % 4],
            "data": "AP8=" if n % 5 else "",
            "stops": [{"x": x, "tags": ["a"] * (n % 2)} for x in range(n % 4)],
        }
        for n in range(60)
    ]
    for part in range(2):
        lines = (json.dumps(row) + "\n" for row in rows[part::2])
        (folder / "trips" / f"{part}.jsonl").write_text("".join(lines))
    file = folder / "trips_app.py"
    file.write_text(APP)
    return file


def test_a_script_with_classes_of_its_own(tmp_path: Path) -> None:
    graph = load_app(str(make(tmp_path))).graph()
    plan = make_plan(graph, degree=2)
    options = RunOptions(tmp_path / "checkpoint", max_tuples_per_epoch=25, master="local[2]")
    result = run_plan(plan, "spark", options)
    assert result.epochs > 2
    for sink, rows in Reference(graph).run(Checkpoint(tmp_path / "checkpoint").log).items():
        if sink != "files":
            assert rows
            assert first_difference(rows, result.tuples(sink)) is None
    places = [row[6] for row in result.tuples("kept") if row[6] is not None]
    assert places
    assert all(place.near() for place in places)
    assert sum(1 for _ in (tmp_path / "out").glob("epoch-*.parquet")) == result.epochs - 1


def test_a_value_that_a_file_cannot_hold(tmp_path: Path) -> None:
    plan = make_plan(load_app(str(make(tmp_path, cost="1E-30"))).graph(), degree=2)
    with pytest.raises(OutputError, match="attribute cost does not fit into the files of") as caught:
        run_plan(plan, "spark", RunOptions(tmp_path / "checkpoint", master="local[2]"))
    assert "Decimal('1E-30') in row" in str(caught.value.found)
