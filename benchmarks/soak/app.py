"""The application of the soak test: bargains, from a folder that fills to one that is emptied."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from benchmarks.bargains import make_app

import thalweg as tw

ticks = tw.param("ticks", type=Path, help="the folder that fills")
found = tw.param("found", type=Path, help="where bargains go")
app = make_app(ticks, 50, tw.files(found, format="parquet"), tw.App("bargains"))
