"""A driver for a plan that another process made: python planned_driver.py FOLDER PER_EPOCH.

The folder holds the pickled plan, and gets the checkpoint.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

from pyspark import cloudpickle

from thalweg.engine.run import RunOptions
from thalweg.engine.spark import run as spark_run
from thalweg.engine.spark.source import SourceJob

if __name__ == "__main__":
    folder, per_epoch = Path(sys.argv[1]), int(sys.argv[2])
    plan = cloudpickle.loads((folder / "plan").read_bytes())
    # Let small epochs be read by several tasks, as large ones are.
    setattr(spark_run, "SourceJob", functools.partial(SourceJob, rows_per_task=4))  # noqa: B010
    options = RunOptions(folder / "checkpoint", max_tuples_per_epoch=per_epoch, interval_s=0.05, master="local[2]")
    spark_run.run_spark(plan, options, lambda report: None)
