"""A real Kafka broker: one node without ZooKeeper, on loopback, its data in a temporary folder."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.services.jars import Jars, java
from tests.tcp import free_port
from tests.waiting import PATIENCE_S

SERVER = Jars("kafka", ("org.apache.kafka:kafka_2.13:4.3.1",), transitive=True)
PARTITIONS = 3
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
_JVM = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
num.partitions={partitions}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


@dataclass(frozen=True)
class Broker:
    servers: str


@contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """A broker that lives as long as the block."""
    classes = f"{SERVER.fetch()}/*"
    port, controller = free_port(), free_port()
    properties = folder / "server.properties"
    properties.write_text(
        _PROPERTIES.format(port=port, controller=controller, data=folder / "data", partitions=PARTITIONS)
    )
    formatting = java(*_JVM, "-cp", classes, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(properties))
    subprocess.run(formatting, check=True, capture_output=True)
    said = folder / "said.log"
    with said.open("wb") as out:
        process = subprocess.Popen(
            java(*_JVM, "-cp", classes, "kafka.Kafka", str(properties)),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        _wait(process, port, said)
        yield Broker(f"127.0.0.1:{port}")
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, said: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the broker did not start:\n{said.read_text()}") from None
        time.sleep(0.1)
