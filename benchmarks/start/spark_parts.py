"""One start on Spark, measured from inside: at each mark the clock, and the CPU time of all processes of this session.

It is run by spark.py, with a folder and Spark settings, and prints one JSON document.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def process_began() -> float:
    """When this process was started, which was before its first line."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    up = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - up + ticks / TICKS_PER_S


class Processes(threading.Thread):
    """The CPU time of all processes of a session. Looks often, because a worker's is gone with the worker."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self.session, self.alive, self.seen = session, True, dict[str, tuple[float, bool]]()

    def run(self) -> None:
        while self.alive:
            self.look()
            time.sleep(0.1)

    def look(self) -> None:
        self.alive = False
        for process in Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            try:
                name, _, rest = (process / "stat").read_text().rpartition(")")
            except OSError:  # it has just ended
                continue
            fields = rest.split()
            if int(fields[3]) == self.session:
                self.alive = True
                self.seen[process.name] = sum(map(int, fields[11:13])) / TICKS_PER_S, "java" in name

    def cpu_s(self) -> tuple[float, float]:
        """Of all, with those that have ended; of the JVM."""
        self.look()
        spent = list(self.seen.values())
        return sum(s for s, _ in spent), sum(s for s, is_jvm in spent if is_jvm)


class Marks:
    def __init__(self) -> None:
        self.processes = Processes(os.getsid(0))
        self.processes.start()
        self.marks: list[tuple[str, float, float, float]] = [("", process_began(), 0.0, 0.0)]

    def mark(self, part: str) -> None:
        """The part that ends here."""
        if all(part != known for known, *_ in self.marks):
            self.marks.append((part, time.time(), *self.processes.cpu_s()))

    def after(self, owner: Any, name: str, part: str) -> None:
        """A mark whenever this function has returned."""
        inner: Callable[..., Any] = getattr(owner, name)

        def marked(*arguments: Any, **named: Any) -> Any:
            try:
                return inner(*arguments, **named)
            finally:
                self.mark(part)

        setattr(owner, name, marked)

    def document(self) -> dict[str, Any]:
        parts = {
            part: {"wall_s": at - was, "cpu_s": cpu - was_cpu, "jvm_s": jvm - was_jvm}
            for (_, was, was_cpu, was_jvm), (part, at, cpu, jvm) in zip(self.marks, self.marks[1:], strict=False)
        }
        return {"parts": parts, "wall_s": self.marks[-1][1] - self.marks[0][1], "cpu_s": self.marks[-1][2]}


def main() -> None:
    marks = Marks()
    folder, *settings = sys.argv[1:]
    os.chdir(folder)
    from thalweg.api import run_plan
    from thalweg.cli.plan_arguments import graph_of
    from thalweg.engine.core.run import RunOptions
    from thalweg.optimize.passes import make_plan

    plan = make_plan(graph_of("hot.py", None), degree=2)
    marks.mark("driver: imports, graph, plan")
    import pyspark.core.context as contexts
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

    import thalweg.engine.spark.run as on_spark
    import thalweg.engine.spark.session as sessions
    from thalweg.engine.spark.epoch_writer import EpochWriter

    marks.mark("driver: imports of PySpark and pandas")
    marks.after(contexts, "launch_gateway", "launcher and JVM until it answers")
    marks.after(contexts.SparkContext, "_initialize_context", "SparkContext")
    marks.after(sessions, "_start", "SparkSession")
    marks.after(sessions, "query_session", "settings of the query's session")
    marks.after(DataStreamReader, "load", "source: register, load")
    marks.after(on_spark, "connect", "stages")
    marks.after(DataStreamWriter, "start", "query: start")
    marks.after(EpochWriter, "write", "epoch 0: source process, planning, workers, sink")
    marks.after(StreamingQuery, "stop", "final epoch, end of the query")
    marks.after(SparkSession, "stop", "session: stop")
    run_plan(plan, "spark", RunOptions(conf=dict(setting.split("=", 1) for setting in settings)))
    gateway: Any = contexts.SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    marks.mark("end of the JVM")
    print(json.dumps(marks.document()))


if __name__ == "__main__":
    main()
