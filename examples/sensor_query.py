"""Sensor query: which sensors near a place said what in the last ten seconds?

The first application of Tang and Gedik, Autopipelining for data stream processing (TPDS 2013), appendix A: sensors are
remembered for ten seconds, queries are not remembered, and a query meets the sensors within its radius.

    thalweg run examples/sensor_query.py
    python examples/check_sensor_query.py             (run it on the local engine, compare with two nested loops)

At the first start, make_sensors.py makes seeded input in examples/data/sensors and examples/data/queries.

The paper's time is that of arrival; here it is the event time, an attribute. A query meets the sensors that were taken
before it, and within an epoch all sensors are taken first: so smaller epochs may find less. The paper's results go to a
TCPSink; `tw.tcp("192.168.0.10", 40000)` in the place of `tw.collect()` would do that here.
"""

import math
from datetime import datetime, timedelta
from pathlib import Path

from make_sensors import make_sensors

import thalweg as tw
from thalweg import window


class Location(tw.Tuple):
    x: float
    y: float


class Sensor(tw.Tuple):
    sid: int
    value: float
    sloc: Location
    stime: datetime


class Query(tw.Tuple):
    qid: int
    qloc: Location
    radius: float
    qtime: datetime


class Result(Query, Sensor):
    distance: float


def distance(a: Location, b: Location) -> float:
    return math.hypot(a.x - b.x, a.y - b.y)


def matches(query: Query, sensor: Sensor) -> bool:
    return sensor.stime <= query.qtime and distance(sensor.sloc, query.qloc) <= query.radius


DATA = Path(__file__).parent / "data"
if not (DATA / "queries").exists():
    make_sensors(DATA)

app = tw.App("sensor_query")

sensors = app.source(tw.files(DATA / "sensors", format="jsonl"), Sensor).event_time("stime")
queries = app.source(tw.files(DATA / "queries", format="jsonl"), Query).event_time("qtime")
met = queries.join(sensors, window.within(timedelta(seconds=10)), mine=window.last(0), where=matches)
results = met.map(
    lambda m: Result(
        m.qid, m.qloc, m.radius, m.qtime, m.sid, m.value, m.sloc, m.stime, distance=distance(m.sloc, m.qloc)
    ),
    Result,
)
results.sink(tw.collect(), name="found")
