"""A sample of the real input as an input log, for a check or a measurement before a run."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.storage.log import Epoch, InputLog
from thalweg.errors import PlanError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Source


def sample_log(graph: LogicalGraph, tuples: int, max_tuples: int, spools: Path) -> list[Epoch]:
    """Epochs over at most this many tuples of the real input, cut at `max_tuples`, with the final epoch."""
    sources = [_at_once(source) for source in graph.sources]
    with tempfile.TemporaryDirectory(prefix="thalweg-sample-") as folder:
        log = InputLog(Path(folder))
        cutter = EpochCutter(sources, log, max_tuples, spools)
        epochs: list[Epoch] = []
        while tuples > 0:
            cutter.max_tuples = min(max_tuples, tuples)
            epoch = cutter.next_epoch(closing=True)
            if epoch is None or epoch.final:
                break
            epochs.append(epoch)
            tuples -= epoch.tuples
        return [*epochs, Epoch(len(epochs), (), final=True, base=cutter.base)]


def _at_once(source: Source) -> Source:
    """The source without waiting, for a sample."""
    if source.endpoint.no_sample:
        raise PlanError(
            f"no sample can be taken of {source.name}: {source.endpoint.no_sample}",
            operator=source.name,
            where=source.where,
            hint="write part of its input to files, and replace the source by tw.files(…)",
        )
    return replace(source, endpoint=source.endpoint.at_once())
