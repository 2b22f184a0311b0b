"""Metrics for Prometheus. They count what this process ran; an epoch that runs again after a restart counts again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from thalweg.engine.storage.report import PARTS, EpochReport, Ports
from thalweg.errors import EngineError

_BUCKETS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0)


class Exporter:
    """The metrics of one run."""

    def __init__(self, app: str) -> None:
        self.app = app
        self.registry = CollectorRegistry()
        self.epochs = self._counter("thalweg_epochs", "Completed epochs")
        self.tuples = self._counter("thalweg_tuples", "Tuples, by port", "operator", "port", "direction")
        self.skipped = self._counter("thalweg_skipped_tuples", "Tuples that failed and were skipped", "operator")
        self.dead = self._counter("thalweg_dead_letters", "Tuples that failed and became dead letters", "operator")
        self.late = self._counter("thalweg_late_tuples", "Tuples that arrived too late for their windows", "operator")
        self.cpu = self._counter("thalweg_pe_cpu_seconds", "Thread CPU time of a PE, summed over its channels", "pe")
        self.waits = self._counter("thalweg_pe_wait_seconds", "Time that a PE waited", "pe", "on")
        self.sinks = self._counter("thalweg_sink_seconds", "Time to merge and write a sink's tuples", "sink")
        self.seconds = Histogram(
            "thalweg_epoch_seconds", "Time of an epoch", ["app"], buckets=_BUCKETS, registry=self.registry
        )
        self.parts = self._gauge("thalweg_epoch_part_seconds", "Time of each part of the last epoch", "part")
        self.last = self._gauge("thalweg_last_epoch", "Number of the last completed epoch")
        self.last_at = self._gauge("thalweg_last_epoch_timestamp_seconds", "Completion time of the last epoch")
        self.backlog = self._gauge("thalweg_backlog_tuples", "Number of tuples known to be waiting")
        self.state = self._gauge("thalweg_state_bytes", "Size of the operators' state")

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, ["app", *labels], registry=self.registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(name, meaning, ["app", *labels], registry=self.registry)

    def watch(self, report: EpochReport) -> None:
        app = self.app
        self.epochs.labels(app).inc()
        self.seconds.labels(app).observe(report.seconds)
        for part in PARTS:
            self.parts.labels(app, part).set(report.parts.get(part, 0.0))
        self.last.labels(app).set(report.epoch)
        self.last_at.labels(app).set(time.time())
        if report.backlog is not None:
            self.backlog.labels(app).set(report.backlog)
        if report.state_bytes is not None:
            self.state.labels(app).set(report.state_bytes)
        for name, counts in report.operators.items():
            self._ports(name, "in", counts.tuples_in)
            self._ports(name, "out", counts.tuples_out)
            self.skipped.labels(app, name).inc(counts.skipped)
            self.dead.labels(app, name).inc(counts.dead_letters)
            self.late.labels(app, name).inc(counts.late)
        for pe, spent in report.pes.items():
            place = str(pe)
            self.cpu.labels(app, place).inc(spent.cpu_s)
            self.waits.labels(app, place, "input").inc(spent.input_wait_s)
            self.waits.labels(app, place, "output").inc(spent.output_wait_s)
            self.waits.labels(app, place, "state").inc(spent.state_wait_s)
        for sink, seconds in report.sinks.items():
            self.sinks.labels(app, sink).inc(seconds)

    def _ports(self, operator: str, direction: str, ports: Ports) -> None:
        for port, tuples in enumerate(ports):
            if tuples is not None:
                self.tuples.labels(self.app, operator, str(port), direction).inc(tuples)


@contextmanager
def serving(exporter: Exporter, address: tuple[str, int]) -> Iterator[str]:
    """Serve the metrics while the block runs. Yields the URL: with port 0, the system chooses the port."""
    host, port = address
    try:
        server, thread = start_http_server(port, host, registry=exporter.registry)
    except OSError as error:
        raise EngineError(
            f"cannot listen on {host}:{port} for Prometheus",
            found=error.strerror or str(error),
            hint="another process may be using the port: choose a different one",
        ) from None
    try:
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
