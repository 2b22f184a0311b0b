"""The PEs of a Spark Python worker, which runs many tasks, of one query or of several."""

from __future__ import annotations

from collections import OrderedDict

from thalweg.engine.core.pe_pool import PEPool
from thalweg.engine.spark.worker_notes import NoteFolder
from thalweg.errors import ResourceError
from thalweg.ir.pe_id import PeId

_MOST = 8  # runs whose PEs are kept

_runs: OrderedDict[str, PEPool] = OrderedDict()


def pes_of(run: str) -> PEPool:
    """The PEs of a run, identified by a folder of its checkpoint. Spark does not notify a worker of the end of a query,
    so the least recently used run is closed when there are too many."""
    if run not in _runs:
        _runs[run] = PEPool()
    _runs.move_to_end(run)
    while len(_runs) > _MOST:
        _, oldest = _runs.popitem(last=False)
        oldest.close()
    return _runs[run]


def close_pe(notes: NoteFolder, pe: PeId) -> None:
    """Close a PE in the final epoch. The results are complete then, so the driver reports an error after the run."""
    try:
        pes_of(notes.folder).close(pe)
    except ResourceError as error:
        notes.keep_error(error)
