"""Small files that are written atomically: complete or not at all. Only their owner can read them, unless they are the
output of a sink, which the user's umask decides."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from thalweg.errors import StorageError

_PART = ".part"
OWNER_FILE = "_thalweg.json"  # in a sink's folder: the run that writes there, and the tuple type
NO_SPACE = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT))


def cannot_write(folder: Path, reason: str) -> StorageError:
    """The error for a full or read-only disk. All files on it are complete, so the run can be resumed."""
    full = any(words in reason for words in NO_SPACE)
    what = "free some disk space" if full else "make the folder writable"
    return StorageError(
        f"cannot write to {folder}",
        found=reason,
        hint=f"{what}, then run the same command to resume: no data is lost",
    )


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn an OSError of the block, which writes into this folder, into a StorageError that names the folder."""
    try:
        yield
    except FileExistsError:
        raise  # the caller handles it: another process created the file first
    except OSError as error:
        raise cannot_write(folder, error.strerror or str(error)) from error


def private_folder(folder: Path) -> None:
    """Create a folder, with its parents, that only its owner can enter. Folders that exist are left as they are."""
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)


def private_temporary_folder() -> Path:
    """A folder for temporary files that only this user can enter. It is kept, because programs that use it may outlive
    this one. A folder of this name that others can enter, or that is theirs, is not used."""
    folder = Path(tempfile.gettempdir()) / f"thalweg-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return folder if ours else Path(tempfile.mkdtemp(prefix="thalweg-"))


def write_atomically(
    file: Path, data: bytes, *, durable: bool = True, named: bool = False, private: bool = True
) -> None:
    """Write a temporary file next to it and rename that. `durable`: fsync the data; False if the file may be lost in a
    power failure. `named`: fsync the folder, too, which doubles the cost; required if other files are written or
    deleted because this one exists. `private`: only the owner can read it."""
    part = _write_part(file, data, durable=durable, private=private)
    with writing(file.parent):
        part.replace(file)
        if named:
            _sync_names(file.parent)


def create_atomically(file: Path, data: bytes) -> None:
    """Write a file that must not exist, durably and with its name. FileExistsError if another process was first."""
    part = _write_part(file, data, durable=True)
    try:
        with writing(file.parent):
            os.link(part, file)
            _sync_names(file.parent)
    finally:
        part.unlink()


def _write_part(file: Path, data: bytes, *, durable: bool, private: bool = True) -> Path:
    part = file.with_name(f".{file.name}.{os.getpid()}{_PART}")
    with writing(file.parent):
        private_folder(file.parent) if private else file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(part, "wb", opener=_private if private else None) as out:
                out.write(data)
                if durable:
                    out.flush()
                    os.fsync(out.fileno())
        except OSError:
            part.unlink(missing_ok=True)  # an incomplete file would take up space on a full disk
            raise
    return part


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def open_private(file: Path) -> IO[str]:
    """Open a text file for writing that only its owner can read."""
    return open(file, "w", opener=_private)


def _sync_names(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems cannot sync a folder
            raise
    finally:
        os.close(descriptor)


def is_leftover(file: Path) -> bool:
    """Whether this is an incomplete file, left by a process that was killed while writing."""
    return file.name.startswith(".") and file.name.endswith(_PART)


def remove_leftovers(folder: Path) -> None:
    """The caller must own the folder: an incomplete file may also be one that another process is writing."""
    for file in [f for f in folder.iterdir() if is_leftover(f)]:
        file.unlink(missing_ok=True)


def remove_all(paths: Iterable[Path]) -> None:
    """Delete files, and folders with their contents."""
    for path in paths:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
