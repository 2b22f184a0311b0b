"""The modules that an application needs in addition to installed packages: its own modules and packages, and their
imports.

They are found by reading the import statements, including those in functions, of the files in which operators are
created. So only code that the application imports is sent: a folder may also contain other programs and data.
"""

from __future__ import annotations

import ast
import importlib.util
import site
import sys
import sysconfig
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from pathlib import Path
from types import ModuleType

from thalweg.errors import Where, warn
from thalweg.ir.graph import LogicalGraph

_OWN = "thalweg"
_SMALL = 1_000_000  # bytes: the limit for files of a package that are not Python


@dataclass(frozen=True, slots=True, order=True)
class CodeFile:
    """A file, and its path relative to the folder from which it is imported."""

    place: str
    file: Path


def code_of(graph: LogicalGraph, known: Collection[str] = ()) -> tuple[CodeFile, ...]:
    """The files of all modules that the application needs and that are neither installed nor in a known folder."""
    found: dict[str, tuple[CodeFile, ...]] = {}
    waiting = list(_first_names(graph))
    while waiting:
        name = waiting.pop()
        if name not in found and name != _OWN:
            found[name] = tuple(_files_of_module(name, known))
            waiting += [n for code in found[name] if code.file.suffix == ".py" for n in _imported_names(code.file)]
    return tuple(sorted(code for files in found.values() for code in files))


def own_code() -> tuple[CodeFile, ...]:
    """The files of Thalweg: workers run the same version as the driver."""
    (folder,) = sys.modules[_OWN].__path__
    return tuple(sorted(_tree(_OWN, Path(folder))))


def _first_names(graph: LogicalGraph) -> Iterator[str]:
    """The modules that the user's files import. In a notebook, without files, those that define the names in it."""
    for place in dict.fromkeys(_places(graph)):
        file = Path(place)
        if not file.is_file():
            yield from _names_of_main()
        elif not _is_installed(file):
            yield from _imported_names(file)


def _places(graph: LogicalGraph) -> Iterator[str]:
    for operator in graph.operators:
        where: Where | None = operator.where
        while where is not None:  # in a composite, also the place that called it
            yield where.file
            where = where.via


def _names_of_main() -> Iterator[str]:
    for value in list(vars(sys.modules["__main__"]).values()):
        module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(module, str) and module != "__main__":
            yield module.partition(".")[0]


def _imported_names(file: Path) -> Iterator[str]:
    """The top-level names of the imported modules."""
    for node in ast.walk(ast.parse(file.read_bytes(), str(file))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def _files_of_module(name: str, known: Collection[str]) -> Iterator[CodeFile]:
    spec = _spec(name)
    if spec is None:
        return
    if spec.submodule_search_locations is not None:
        for folder in map(Path, spec.submodule_search_locations):
            if not (_is_installed(folder) or str(folder.parent) in known):
                yield from _tree(name, folder)
    elif (
        spec.origin is not None
        and (file := Path(spec.origin)).is_file()
        and not (_is_installed(file) or str(file.parent) in known)
    ):
        yield from _python_or_warning(f"{name}{file.suffix}", file)


def _spec(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):  # it may be optional, or a module that was created without a file
        return None


def _tree(place: str, folder: Path) -> Iterator[CodeFile]:
    """The files of a package: Python files, and other small files next to them. A folder without Python is data."""
    entries = sorted(folder.iterdir())
    if not any(entry.suffix == ".py" for entry in entries):
        return
    for entry in entries:
        inside = f"{place}/{entry.name}"
        if entry.name.startswith(".") or entry.name == "__pycache__":
            continue
        if entry.is_dir():
            yield from _tree(inside, entry)
        elif entry.suffix == ".py" or entry.stat().st_size <= _SMALL:
            yield from _python_or_warning(inside, entry)


def _python_or_warning(place: str, file: Path) -> Iterator[CodeFile]:
    if not file.name.endswith(tuple(EXTENSION_SUFFIXES)):
        yield CodeFile(place, file)
        return
    warn(f"{file} is native code, which is not sent to the executors: install it there")


@cache
def _installed_folders() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [*(sysconfig.get_path(name) for name in names), *site.getsitepackages(), site.getusersitepackages()]
    return tuple(Path(folder).resolve() for folder in folders)


def _is_installed(file: Path) -> bool:
    """Whether an executor with the same installed packages also has this file."""
    resolved = file.resolve()
    return any(resolved.is_relative_to(folder) for folder in _installed_folders())
