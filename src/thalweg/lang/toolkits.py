"""`tw.toolkits.<name>`: third-party operators, found through the entry points of installed packages.

A package declares `[project.entry-points."thalweg.toolkits"]` with `name = "package.module"`. The module is loaded
on first use; it provides functions, usually composites, from streams to streams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thalweg.errors import GraphError, did_you_mean, summary
from thalweg.ir.user_calls import call_place, user_frame

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "thalweg.toolkits"

_loaded: dict[tuple[str, str], Any] = {}


class ToolkitError(GraphError, AttributeError):
    """A toolkit is not installed, is installed twice, or cannot be loaded. Also an AttributeError, for `hasattr`."""

    kind = "toolkit error"


@dataclass(frozen=True, slots=True)
class Toolkit:
    """An installed toolkit, not yet loaded."""

    name: str
    module: str
    package: str
    version: str
    entry: EntryPoint

    def load(self) -> Any:
        place = self.name, self.entry.value
        if place not in _loaded:
            try:
                _loaded[place] = self.entry.load()
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # anything that the module raises when it is imported
                raise ToolkitError(
                    f"the toolkit {self.name} cannot be loaded: {summary(error)}",
                    where=call_place(user_frame()),
                    found=f"{self.module} of {self.package} {self.version}",
                    hint=f"thalweg doctor shows all toolkits; pip install --upgrade {self.package}",
                ) from error
        return _loaded[place]


def installed() -> list[Toolkit]:
    """All toolkits, sorted by name; two packages may use the same name."""
    from importlib.metadata import entry_points  # imported here: it loads Python's email parser

    found: dict[tuple[str, str, str], Toolkit] = {}
    for entry in entry_points(group=GROUP):
        package = entry.dist.name if entry.dist else "an unknown package"
        version = entry.dist.version if entry.dist else "?"
        # A folder may be on the path twice.
        found.setdefault((entry.name, entry.value, package), Toolkit(entry.name, entry.value, package, version, entry))
    return sorted(found.values(), key=lambda t: (t.name, t.package))


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    known = installed()
    named = [toolkit for toolkit in known if toolkit.name == name]
    if not named:
        names = [toolkit.name for toolkit in known]
        raise ToolkitError(
            f"no toolkit is called {name}",
            where=call_place(user_frame()),
            expected=", ".join(names) or "an installed toolkit, but none is installed",
            hint=did_you_mean(name, names) or "pip install the package that provides it; thalweg doctor lists toolkits",
        )
    if len(named) > 1:
        raise ToolkitError(
            f"two packages provide a toolkit {name}",
            where=call_place(user_frame()),
            found=", ".join(f"{t.package} {t.version}" for t in named),
            hint="uninstall one of them",
        )
    return named[0].load()


def __dir__() -> list[str]:
    return sorted({toolkit.name for toolkit in installed()})
