"""The checks of `thalweg doctor`: what is installed on this machine and what is missing."""

from __future__ import annotations

import importlib.metadata
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import thalweg as tw
from thalweg.engine.spark.java import JAVA_HINT, find_java
from thalweg.errors import ThalwegError
from thalweg.lang.toolkits import Toolkit, ToolkitError, installed

_EXTRAS = {"psycopg": "postgres", "prometheus-client": "prometheus", "polars": "polars"}


@dataclass(frozen=True)
class Finding:
    what: str
    ok: bool
    found: str
    hint: str | None = None


def examine(*, start: bool) -> list[Finding]:
    findings = [_python(), _java(), *(_package(name) for name in ("pyspark", "pyarrow", "numpy", "pandas", "protobuf"))]
    findings += [_optional(name, extra) for name, extra in _EXTRAS.items()]
    findings += [_toolkit(toolkit) for toolkit in installed()]
    if start and all(finding.ok for finding in findings):
        findings += _start()
    return findings


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= (3, 11)
    return Finding("Python", ok, f"{version} ({sys.executable})", None if ok else "Thalweg needs Python 3.11 or newer")


def _java() -> Finding:
    java = find_java()
    if java is None:
        return Finding("Java", False, "none", JAVA_HINT)
    return Finding("Java", java.usable, f"{java.version} ({java.command})", None if java.usable else JAVA_HINT)


def _package(name: str) -> Finding:
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, False, "not installed", f"pip install {name}")
    ok = name != "pandas" or int(found.split(".")[0]) < 3
    return Finding(name, ok, found, None if ok else "PySpark 4.3 needs pandas < 3")


def _optional(name: str, extra: str) -> Finding:
    try:
        return Finding(name, True, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, True, f"not installed; thalweg[{extra}] has it")


def _toolkit(toolkit: Toolkit) -> Finding:
    what, found = f"toolkit {toolkit.name}", f"{toolkit.module} of {toolkit.package} {toolkit.version}"
    try:
        toolkit.load()
    except ToolkitError as error:
        return Finding(what, False, found, error.message)
    return Finding(what, True, found)


class _Number(tw.Tuple):
    n: int


def _start() -> list[Finding]:
    from thalweg.engine.spark.archive import archive_file

    file = archive_file()
    return [_spark(file), _archive(file)]


def _spark(file: Path | None) -> Finding:
    """Start Spark and run what most applications need: a source, Python workers, state."""
    from thalweg.engine.spark.archive import archiving
    from thalweg.engine.spark.session import JAVA_OPTIONS, spark_session

    app = tw.App("doctor")
    numbers = app.source(tw.beacon(lambda i: {"n": i}, count=1000), _Number, name="numbers")
    numbers.aggregate(tw.window.running(), n=tw.agg.sum("n"), name="sums").sink(tw.collect())
    try:
        with (
            archiving(file) if file is not None else nullcontext("") as options,
            spark_session(None, {JAVA_OPTIONS: options}, channels=1, brief=True) as spark,
        ):
            version, made = spark.version, tw.run(app)
    except ThalwegError as error:
        return Finding("Spark", False, str(error))
    ((total,),) = made.tuples()[-1:]
    return Finding("Spark", total == sum(range(1000)), f"{version} added 1,000 numbers to {total:,}")


def _archive(file: Path | None) -> Finding:
    if file is None or not file.exists():
        return Finding("fast starts", True, "no: Java did not create an archive of Spark's classes")
    size = file.stat().st_size / 1e6
    return Finding("fast starts", True, f"yes, with an archive of Spark's classes ({file}, {size:,.0f} MB)")
