"""Small files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from thalweg.errors import StorageError

_PART = ".part"
OWNER_FILE = "_thalweg.json"  # in a sink's folder: which run writes there, and tuples of which type
NO_SPACE = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT))


def cannot_write(folder: Path, reason: str) -> StorageError:
    """What is on the disk is whole, so a start that finds room goes on."""
    full = any(words in reason for words in NO_SPACE)
    what = "free space there" if full else "make the folder writable"
    return StorageError(
        f"cannot write to {folder}",
        found=reason,
        hint=f"{what}, then run the same command to resume: no data is lost",
    )


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """What the block writes goes into this folder; if the disk refuses it, a StorageError names the folder."""
    try:
        yield
    except FileExistsError:
        raise  # for who must be the first to create it
    except OSError as error:
        raise cannot_write(folder, error.strerror or str(error)) from error


def write_atomically(file: Path, data: bytes, *, durable: bool = True, named: bool = False) -> None:
    """Write beside, force to disk (unless losing the file in a power cut does no harm), rename. `named`: the name is
    forced to disk, too, which costs as much again. For what others go by, or delete something for, once it is there."""
    beside = _write_beside(file, data, durable=durable)
    with writing(file.parent):
        beside.replace(file)
        if named:
            _force_names(file.parent)


def create_atomically(file: Path, data: bytes) -> None:
    """The same, with its name, for a file that must not be there yet: FileExistsError if another process was first."""
    beside = _write_beside(file, data, durable=True)
    try:
        with writing(file.parent):
            os.link(beside, file)
            _force_names(file.parent)
    finally:
        beside.unlink()


def _write_beside(file: Path, data: bytes, *, durable: bool) -> Path:
    beside = file.with_name(f".{file.name}.{os.getpid()}{_PART}")
    with writing(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with beside.open("wb") as out:
                out.write(data)
                if durable:
                    out.flush()
                    os.fsync(out.fileno())
        except OSError:
            beside.unlink(missing_ok=True)  # half a file on a full disk would be in the way
            raise
    return beside


def _force_names(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # there are file systems that cannot do it
            raise
    finally:
        os.close(descriptor)


def is_leftover(file: Path) -> bool:
    """Whether this is half a file, left by a process that was killed while it wrote."""
    return file.name.startswith(".") and file.name.endswith(_PART)


def remove_leftovers(folder: Path) -> None:
    """Only for whoever owns the folder: a half file may also be one that another process is writing."""
    for file in [f for f in folder.iterdir() if is_leftover(f)]:
        file.unlink(missing_ok=True)


def remove_all(paths: Iterable[Path]) -> None:
    """Files, and folders with all that is in them."""
    for path in paths:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
