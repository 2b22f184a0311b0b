"""What a migration carries over in addition to the state: the input log, spools, results, feedback, reports.

Files that never change after they were renamed into place are linked if possible; everything else is copied.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from thalweg.engine.inputs.spool import Spool
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.engine.storage.log import Chunk, Epoch
from thalweg.engine.storage.small_files import is_leftover, private_folder

_LINKED = ("spool", "results")
# The engine's own part is in the seed; the rest is created again.
_LEFT = ("spark", "local", "seed", "log", "progress", "feedback", "lock", "manifest.json", "failure.json")


def carry_over(source: Checkpoint, target: Checkpoint, epochs: Sequence[Epoch], done: int) -> None:
    """Copy or link what the new checkpoint needs of the old one, which has committed `done` epochs."""
    for path in sorted(source.folder.iterdir()):
        if path.name not in _LEFT and not is_leftover(path):
            _carry(path, target.folder / path.name, linked=path.name in _LINKED)
    for file in sorted(source.feedback.glob("*/*")):
        if file.name.isdigit() and int(file.name) < done:
            _carry(file, target.feedback / file.relative_to(source.feedback), linked=True)
    target.log.files.write_all(_moved(epoch, source, target).as_json().encode() for epoch in epochs)
    target.progress.write_all(islice(source.progress.after(0), done))


def _moved(epoch: Epoch, source: Checkpoint, target: Checkpoint) -> Epoch:
    """The log entry, with the new paths of the spools' files."""
    return replace(epoch, chunks=tuple(_in_spool(chunk, source, target) for chunk in epoch.chunks))


def _in_spool(chunk: Chunk, source: Checkpoint, target: Checkpoint) -> Chunk:
    if not Spool.of(source.spools, chunk.source).folder.is_dir():
        return chunk
    return replace(chunk, path=str(Spool.of(target.spools, chunk.source).file(chunk.split)))


def _carry(path: Path, to: Path, *, linked: bool) -> None:
    if path.is_dir():
        private_folder(to)
        for inner in sorted(path.iterdir()):
            if not is_leftover(inner):
                _carry(inner, to / inner.name, linked=linked)
        return
    private_folder(to.parent)
    if linked:
        try:
            os.link(path, to)
        except OSError:  # a different file system, or one without links
            pass
        else:
            return
    shutil.copy2(path, to)  # with its modification time, which is in the log, and its mode
    to.chmod(0o600)
    with to.open("rb") as copied:
        os.fsync(copied.fileno())
