"""The application whose starts are measured: three rows in, one alert out."""

from __future__ import annotations

from pathlib import Path

APPLICATION = """
import thalweg as tw
from thalweg import agg, window


class Reading(tw.Tuple):
    sensor: str
    celsius: float


app = tw.App("hot")
readings = app.source(tw.files("readings/", format="csv"), Reading)
recent = readings.aggregate(
    window.sliding(count=3, by="sensor"), sensor=agg.any("sensor"), mean=agg.mean("celsius")
)
hot = (
    readings.join(recent, window.last(1, by="sensor"), on="sensor")
    .filter(lambda r: r.celsius > r.mean + 5)
    .map(lambda r: {"sensor": r.sensor, "celsius": r.celsius, "above": r.celsius - r.mean})
)
hot.sink(tw.collect(), name="alerts")
"""


def write_application(folder: Path) -> Path:
    """`hot.py` with its input."""
    (folder / "readings").mkdir()
    (folder / "readings" / "monday.csv").write_text("sensor,celsius\nroof,20.5\nroof,21.5\nroof,36.0\n")
    (folder / "hot.py").write_text(APPLICATION)
    return folder
