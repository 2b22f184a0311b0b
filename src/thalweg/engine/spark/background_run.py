"""A background run in a user's Spark program."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from pyspark.sql import SparkSession

from thalweg.engine.core.run import RunOptions, RunResult, warn_at_end
from thalweg.engine.spark.run import run_spark
from thalweg.engine.storage.checkpoint import EpochReport
from thalweg.errors import InternalError, kept_warnings
from thalweg.ir.plan import Plan

KEPT_REPORTS = 1_000  # a run of several months produces millions


class SparkRunning:
    """A thread of the driver that does the same as `thalweg run`. The user's session is not changed."""

    def __init__(self, plan: Plan, options: RunOptions, spark: SparkSession, warned: tuple[str, ...] = ()) -> None:
        self._plan, self._options, self._spark, self._warned = plan, options, spark, warned
        self._reports: deque[EpochReport] = deque(maxlen=KEPT_REPORTS)
        self._result: RunResult | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"thalweg {plan.graph.name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with kept_warnings() as warned:
                done = run_spark(self._plan, self._options, self._reports.append, self._spark)
                warn_at_end(done)
            self._result = replace(done, warnings=(*self._warned, *warned))
        except BaseException as error:  # raised again in the user's thread, in `wait`
            self._failure = error

    @property
    def active(self) -> bool:
        return self._thread.is_alive()

    @property
    def failure(self) -> BaseException | None:
        return self._failure

    @property
    def reports(self) -> Sequence[EpochReport]:
        return tuple(self._reports)

    def wait(self, timeout: float | None = None) -> bool:
        self._thread.join(timeout)
        if self.active:
            return False
        if self._failure is not None:
            raise self._failure
        return True

    def result(self) -> RunResult:
        self.wait()
        if self._result is None:
            raise InternalError("the run has no result")
        return self._result

    def stop(self) -> RunResult:
        self._options.stop.request()
        return self.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._options.stop.request()
        self._thread.join()
        if error is None:  # otherwise the user must see that error
            self.wait()
