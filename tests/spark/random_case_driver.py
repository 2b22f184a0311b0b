"""A driver for random cases that another process generated: python -m tests.spark.random_case_driver FOLDER PER_EPOCH.

The folder holds the pickled cases and their files, and gets the checkpoint. The plan is made here, as by any start:
what an iterable gives stays in its driver.
"""

from __future__ import annotations

import functools
import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.properties.strategies import Case
from tests.spark.test_plan_invariance import plan_together, renamed
from thalweg.engine.core.run import RunOptions
from thalweg.engine.spark import run as spark_run
from thalweg.engine.spark.source import SourceJob
from thalweg.ir.plan import Plan


@dataclass(frozen=True)
class Drawn:
    """The cases of one query."""

    several: list[Case]
    channels: int

    def save(self, folder: Path) -> None:
        for number, case in enumerate(self.several):
            case.write(folder / str(number))
        (folder / "cases").write_bytes(pickle.dumps(self))

    def plan(self, folder: Path) -> Plan:
        numbered = enumerate(self.several)
        graphs = [renamed(case.app(folder / str(number)).graph(), f"g{number}.") for number, case in numbered]
        return plan_together(self.several, graphs, self.channels)

    @property
    def longest(self) -> int:
        return max(sum(map(len, files)) for case in self.several for files in case.inputs)


def main(folder: Path, per_epoch: int) -> None:
    from tests.spark.random_case_driver import Drawn  # under this name it was pickled

    drawn = pickle.loads((folder / "cases").read_bytes())
    assert isinstance(drawn, Drawn)
    # Let small epochs be read by several tasks, as large ones are.
    setattr(spark_run, "SourceJob", functools.partial(SourceJob, rows_per_task=4))  # noqa: B010
    options = RunOptions(folder / "checkpoint", max_tuples_per_epoch=per_epoch, interval_s=0.05, master="local[2]")
    spark_run.run_spark(drawn.plan(folder), options, lambda report: None)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
