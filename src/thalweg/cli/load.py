"""Find the application that the user names: `path.py`, `path.py:attr` or `module:attr`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from pyspark import cloudpickle

from thalweg.errors import GraphError, did_you_mean
from thalweg.lang.app import App


def load_app(name: str) -> App:
    target, _, attribute = name.partition(":")
    module = _from_file(Path(target)) if target.endswith(".py") else _from_name(target)
    # The workers have no copy of the user's module: send its functions along.
    cloudpickle.register_pickle_by_value(module)
    apps = {n: value for n, value in vars(module).items() if isinstance(value, App)}
    if attribute:
        if attribute not in apps:
            raise GraphError(
                f"{target} has no application {attribute!r}",
                expected=", ".join(apps) or "a tw.App at module level",
                hint=did_you_mean(attribute, apps),
            )
        return apps[attribute]
    if len(apps) != 1:
        raise GraphError(
            f"{target} has {len(apps)} applications",
            expected="exactly one tw.App at module level",
            found=", ".join(apps) or "none",
            hint=f"thalweg … {target}:{next(iter(apps))}" if apps else "app = tw.App('name')",
        )
    return next(iter(apps.values()))


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise GraphError(f"no such file: {path}", hint="name a Python file, or module:attribute")
    # As `python path.py` would: modules beside the application can be imported.
    sys.path.insert(0, str(path.parent.absolute()))
    spec = importlib.util.spec_from_file_location(path.stem, path.absolute())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _from_name(name: str) -> ModuleType:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0] and error.name != name:
            raise
        raise GraphError(f"no such module: {name}", hint="name a Python file (path.py), or module:attribute") from None
