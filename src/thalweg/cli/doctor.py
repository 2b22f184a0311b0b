"""`thalweg doctor`: what this machine has and lacks."""

from __future__ import annotations

import importlib.metadata
import sys
from dataclasses import dataclass

from thalweg.engine.spark.java import JAVA_HINT, find_java
from thalweg.errors import ThalwegError
from thalweg.lang.toolkits import Toolkit, ToolkitError, installed


@dataclass(frozen=True)
class Finding:
    what: str
    ok: bool
    found: str
    hint: str | None = None


def examine(*, start: bool) -> list[Finding]:
    findings = [_python(), _java(), *(_package(name) for name in ("pyspark", "pyarrow", "numpy", "pandas", "protobuf"))]
    findings += [_toolkit(toolkit) for toolkit in installed()]
    if start and all(finding.ok for finding in findings):
        findings.append(_spark())
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


def _toolkit(toolkit: Toolkit) -> Finding:
    what, found = f"toolkit {toolkit.name}", f"{toolkit.module} of {toolkit.package} {toolkit.version}"
    try:
        toolkit.load()
    except ToolkitError as error:
        return Finding(what, False, found, error.message)
    return Finding(what, True, found)


def _spark() -> Finding:
    from thalweg.engine.spark.session import spark_session

    try:
        with spark_session(None, {}, channels=1) as spark:
            count = spark.range(1000).count()
    except ThalwegError as error:
        return Finding("Spark", False, str(error))
    return Finding("Spark", count == 1000, f"{spark.version} counted to {count}")
