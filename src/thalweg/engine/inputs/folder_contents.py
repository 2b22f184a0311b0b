"""What a folder contains instead of the files that a source reads."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from thalweg.engine.inputs.file_splits import SUFFIXES, is_hidden

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip", ".snappy", ".br")
_SHOWN = 4  # kinds of files


def nothing_to_read(path: str, format: str) -> str | None:
    """Why a source of this folder finds nothing: what is there instead. None: there is a file of the format."""
    root = Path(path)
    if root.is_file():
        return None
    if not root.is_dir():
        return f"{path} does not exist"
    kinds: Counter[str] = Counter()
    for file in root.iterdir():
        if not file.is_dir() and file.name.endswith(SUFFIXES[format]) and not is_hidden(file):
            return None
        kinds[_kind(file)] += 1
    wanted = " or ".join(f"*{suffix}" for suffix in SUFFIXES[format])
    most = sorted(kinds.items(), key=lambda one: (-one[1], one[0]))
    found = [_counted(number, kind) for kind, number in most[:_SHOWN]]
    found += [f"{len(kinds) - _SHOWN} other kinds"] if len(kinds) > _SHOWN else []
    instead = f"has {', '.join(found)}" if found else "is empty"
    return f"no file {wanted} in {path}, which {instead}{_hint(kinds)}"


def without_rows(path: str, format: str) -> str:
    """What a source of this folder has read, if there was not a single row."""
    root = Path(path)
    header = " after the header, which is the first line" if format == "csv" else ""
    if root.is_file():
        return f"{path} has no row{header}"
    files = (file for file in root.iterdir() if file.name.endswith(SUFFIXES[format]) and not is_hidden(file))
    kinds = sorted(Counter(map(_kind, files)).items())
    return f"{path} has {', '.join(_counted(number, kind) for kind, number in kinds)}, and no row{header}"


_FOLDER, _HIDDEN, _BARE = "folder", "file whose name begins with . or _", "file without an extension"


def _kind(file: Path) -> str:
    if file.is_dir():
        return _FOLDER
    if is_hidden(file):
        return _HIDDEN
    return f"file *{''.join(file.suffixes[-2 if file.suffix in _COMPRESSED else -1 :])}" if file.suffix else _BARE


def _counted(number: int, kind: str) -> str:
    first, _, rest = kind.partition(" ")
    return f"{number:,} {first}{'' if number == 1 else 's'}{' ' if rest else ''}{rest}"


def _hint(kinds: Counter[str]) -> str:
    """What can be done about it."""
    suffixes = {kind.removeprefix("file *") for kind in kinds}
    formats = [format for format, known in SUFFIXES.items() if suffixes.intersection(known)]
    hints = [f'format="{format}"?' for format in formats]
    hints += ["compressed files are not read"] if any(suffix.endswith(_COMPRESSED) for suffix in suffixes) else []
    hints += ["folders in it are not read"] if _FOLDER in kinds and not hints else []
    return f" ({'; '.join(hints)})" if hints else ""
