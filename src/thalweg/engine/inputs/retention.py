"""Retention: delete spooled files that only old epochs took, if the user sets how many epochs to keep.

By default all files are kept, and the log can be replayed from its start.
"""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.engine.inputs.spool import Spool
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.ir.endpoints import Spooled
from thalweg.ir.operators import Source

_AT_ONCE = 16  # files: each deletion is recorded first, which forces a write to disk


class Retention:
    """Deletes spooled files; only for the process that owns the checkpoint."""

    def __init__(self, checkpoint: Checkpoint, sources: Sequence[Source], keep: int | None) -> None:
        spooled = [s.name for s in sources if isinstance(s.endpoint, Spooled)]
        self.log, self.keep = checkpoint.log, keep
        self.spools = {name: Spool.of(checkpoint.spools, name) for name in spooled} if keep else {}
        self.unneeded = dict.fromkeys(self.spools, 0)  # by source: files below this number can be deleted
        self.number = 0  # the first epoch that was not examined

    def committed(self, epoch: int) -> None:
        """Earlier epochs are committed, and this one is written: only the last `keep` epochs may run again."""
        if not self.spools:
            return
        assert self.keep is not None
        for old in range(self.number, epoch + 1 - self.keep):
            for chunk in self.log[old].chunks:
                if chunk.source in self.spools:
                    self.unneeded[chunk.source] = chunk.split + (chunk.stop == chunk.rows)
            self.number = old + 1
        for name, spool in self.spools.items():
            if self.unneeded[name] - spool.dropped().files >= _AT_ONCE:
                spool.drop(self.unneeded[name])
