"""Clusters on this machine whose workers have a Python with the dependencies and without Thalweg."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

import thalweg
from tests.spark.processes import FAST_JAVA, Run

SPARK = Path(pyspark.__file__).parent
SOURCES = Path(thalweg.__file__).parents[1]
# A driver that finds Thalweg by itself, and leaves no trace of that in the environment that others inherit.
DRIVER = f"import sys; sys.path.insert(0, {str(SOURCES)!r}); from thalweg.cli.main import main; main()"


@dataclass(frozen=True)
class Bare:
    """An environment in which nothing of Thalweg is to be found, and a home of Spark's that may be littered."""

    folder: Path
    python: Path

    @staticmethod
    def make(folder: Path) -> Bare:
        bare = Bare(folder, folder / "python" / "bin" / "python")
        venv.create(folder / "python", symlinks=True)
        (packages,) = (folder / "python").glob("lib/*/site-packages")
        # As a line of a .pth file: what is in that folder can be imported, its own .pth files are not read.
        (packages / "dependencies.pth").write_text(f"{SPARK.parent}\n")
        home = folder / "spark"
        home.mkdir()
        for part in ("bin", "jars", "sbin"):
            (home / part).symlink_to(SPARK / part)
        bare.check()
        return bare

    def check(self) -> None:
        """A worker that could import Thalweg would show nothing."""
        code = "import pyspark, pyarrow, pandas, importlib.util as u; assert u.find_spec('thalweg') is None"
        subprocess.run([self.python, "-c", code], env=self.environment, cwd="/", check=True)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        java = f"{FAST_JAVA} -Xmx512m"
        return {
            **kept,
            "SPARK_HOME": str(self.folder / "spark"),
            "PYSPARK_PYTHON": str(self.python),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "JAVA_TOOL_OPTIONS": java,
        }

    def run(self, master: str, *arguments: str, said: Path, env: Mapping[str, str] | None = None) -> Run:
        """`thalweg run …` with the cluster's environment, from a folder of no importance."""
        command = [sys.executable, "-c", DRIVER, "run", *arguments, "--master", master]
        settings = ("--conf", "spark.driver.memory=512m", "--conf", "spark.executor.memory=512m")
        return Run([*command, *settings], said, env={**self.environment, **(env or {})}, cwd=self.folder)

    @contextmanager
    def standalone(self, workers: int = 2) -> Iterator[str]:
        """A master and workers on the loopback device; gives the master's address."""
        started: list[Run] = []
        try:
            master = self._start("master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
            started.append(master)
            address = _wait_for(master, r"spark://127\.0\.0\.1:\d+")
            for number in range(workers):
                options = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0")
                folder = str(self.folder / f"worker{number}")
                started.append(self._start("worker.Worker", *options, "--work-dir", folder, address))
            for worker in started[1:]:
                _wait_for(worker, "Successfully registered with master")
            yield address
        finally:
            for process in started:
                process.kill()

    def _start(self, name: str, *arguments: str) -> Run:
        said = self.folder / f"{name}-{time.monotonic_ns()}.log"
        command = [str(self.folder / "spark" / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        return Run(command, said, env=self.environment, cwd=self.folder)


def _wait_for(run: Run, pattern: str) -> str:
    """The text that the process prints, once it has printed it."""
    found: list[str] = []

    def is_said() -> bool:
        match = re.search(pattern, run.said.read_text())
        found.extend([match.group()] if match else [])
        return bool(found)

    assert run.wait_until(is_said), run.said.read_text()
    return found[0]
