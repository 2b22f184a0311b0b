"""Jars from Maven Central, kept in `.services`. Ivy, which comes with PySpark, fetches them: nothing else is needed."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

from thalweg.endpoints.kafka import Kafka
from thalweg.engine.spark.connectors import package
from thalweg.engine.spark.java import find_java

KEPT = Path(__file__).parents[2] / ".services"
PACKAGES = "spark.jars.packages"
_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <caches defaultCacheDir="{cache}"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>"""
_MODULE = """<ivy-module version="2.0">
  <info organisation="thalweg" module="services"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>{dependencies}</dependencies>
</ivy-module>"""
_DEPENDENCY = '<dependency org="{0}" name="{1}" rev="{2}" transitive="{3}" conf="default-&gt;master{4}"/>'


class Unavailable(Exception):
    """The part of Ivy's output about artifacts that it could not download."""


@dataclass(frozen=True)
class Jars:
    """Artifacts (group:name:version), with or without what they depend on."""

    name: str
    artifacts: Sequence[str]
    transitive: bool

    def fetch(self) -> Path:
        """The folder with the jars. It has its name only when it is whole."""
        folder = KEPT / self.name
        if folder.exists():
            return folder
        KEPT.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT) as temporary:
            partial = Path(temporary) / "jars"
            self._retrieve(Path(temporary), partial)
            partial.rename(folder)
        return folder

    def _retrieve(self, work: Path, into: Path) -> None:
        (work / "settings.xml").write_text(_SETTINGS.format(cache=work / "cache"))
        with_all = ("true", ",runtime") if self.transitive else ("false", "")
        dependencies = "".join(_DEPENDENCY.format(*a.split(":"), *with_all) for a in self.artifacts)
        (work / "ivy.xml").write_text(_MODULE.format(dependencies=dependencies))
        (ivy,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
        pattern = f"{into}/[artifact]-[revision].[ext]"
        options = ["-settings", str(work / "settings.xml"), "-ivy", str(work / "ivy.xml"), "-retrieve", pattern]
        done = subprocess.run(java("-cp", str(ivy), "org.apache.ivy.Main", *options), capture_output=True, text=True)
        if done.returncode != 0 or not into.is_dir():
            shutil.rmtree(into, ignore_errors=True)
            raise Unavailable(f"{self.name} cannot be fetched:\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}")


def java(*arguments: str) -> list[str]:
    found = find_java()
    assert found is not None, "these tests need Java"
    return [found.command, *arguments]


KAFKA_PACKAGE = package(Kafka.connector)
OWN = Jars("own-kafka-connector", (KAFKA_PACKAGE,), transitive=False)
# Where the connector of this Spark's own version is not published, that of an earlier one, which fits: the newest of
# each of its two parts that was there when this was written.
EARLIER = Jars(
    "kafka-connector",
    (
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
        "org.apache.kafka:kafka-clients:3.9.2",
        "org.apache.commons:commons-pool2:2.13.1",
    ),
    transitive=False,
)


@functools.cache
def connector() -> dict[str, str]:
    """The settings of a session with Spark's Kafka connector, on a machine that may be busy."""
    patient = {"spark.python.authenticate.socketTimeout": "120s"}
    try:
        OWN.fetch()
    except Unavailable:
        return {**patient, "spark.jars": ",".join(sorted(map(str, EARLIER.fetch().iterdir())))}
    return {**patient, PACKAGES: KAFKA_PACKAGE}
