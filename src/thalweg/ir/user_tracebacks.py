"""The location of an exception in user code, and generated code whose lines tracebacks show."""

from __future__ import annotations

import linecache
import sys
import sysconfig
import traceback
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

_GENERATED = "<thalweg "


@dataclass(frozen=True, slots=True)
class Raised:
    """The innermost line of user code in the traceback of an exception."""

    module: str
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self._file()}:{self.line}, in {self.function}"

    def _file(self) -> str:
        """A worker imports user modules from an archive; the process that reports the error has them as files."""
        if Path(self.file).exists():
            return self.file
        return getattr(sys.modules.get(self.module), "__file__", None) or self.file


def raised_in(error: BaseException) -> Raised | None:
    """None: no line of user code raised it, e.g. a result of the wrong type is found after the function returned."""
    found: Raised | None = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        code, module = frame.f_code, frame.f_globals
        if not is_foreign(code.co_filename) and not is_foreign(module.get("__file__", "")):  # native code has odd names
            found = Raised(module.get("__name__", ""), code.co_filename, line, code.co_name)
    if found is None and error.__cause__ is not None:  # an error inside an immediate loop
        return raised_in(error.__cause__)
    return found


@lru_cache(maxsize=1_000)
def is_foreign(file: str) -> bool:
    """Whether a source file belongs to Python, to an installed package or to Thalweg, not to the user."""
    paths = sysconfig.get_paths()
    folders = [Path(paths[name]) for name in ("stdlib", "purelib", "platlib")]
    folders.append(Path(__file__).parents[1])
    return file.startswith((_GENERATED, "<frozen ")) or any(Path(file).is_relative_to(folder) for folder in folders)


def run_generated(source: str, name: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run generated code and return the names that it defines. Tracebacks show its lines."""
    file = f"{_GENERATED}{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    return names
