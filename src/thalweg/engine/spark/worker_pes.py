"""The PEs of a Python worker of Spark's, which serves task after task, of one query or of several."""

from __future__ import annotations

from collections import OrderedDict

from thalweg.engine.core.living_pes import LivingPEs

_MOST = 8  # runs whose PEs are kept

_runs: OrderedDict[str, LivingPEs] = OrderedDict()


def pes_of(run: str) -> LivingPEs:
    """The PEs of a run, known by the folder of its checkpoint. Spark does not tell a worker that a query has ended, so
    the run that was served the longest time ago is closed when there are too many."""
    if run not in _runs:
        _runs[run] = LivingPEs()
    _runs.move_to_end(run)
    while len(_runs) > _MOST:
        _, oldest = _runs.popitem(last=False)
        oldest.close()
    return _runs[run]
