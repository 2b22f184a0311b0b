"""Load an application's module, with the values of its parameters set before its first line runs."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from thalweg.engine.core.user_modules import send_by_value
from thalweg.errors import GraphError, ThalwegError
from thalweg.lang.app import App
from thalweg.lang.params import Scope, loading


def load_file(path: Path, params: Mapping[str, object]) -> ModuleType:
    """The module of a file; it imports modules from its folder, as with `python path.py`."""
    if not path.is_file():
        raise GraphError(f"no such file: {path}", hint="name a Python file, or module:attribute")
    sys.path.insert(0, str(path.parent.absolute()))
    module = _new_module(path.stem, path.absolute())
    with loading(params) as scope:
        sys.modules[path.stem] = module
        _execute(module, scope)
    return _ready(module, scope)


def load_name(name: str, params: Mapping[str, object]) -> ModuleType:
    """An importable module."""
    if not all(part.isidentifier() for part in name.split(".")):  # Python's error would be about a package
        raise GraphError(f"no such module: {name}", hint="name a Python file (path.py), or module:attribute")
    sys.path.insert(0, "")
    with loading(params) as scope:
        if name in sys.modules:
            return _ready(_again(sys.modules[name], scope), scope)
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name.partition(".")[0] and error.name != name:
                raise
            hint = "name a Python file (path.py), or module:attribute"
            raise GraphError(f"no such module: {name}", hint=hint) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            _prefer_missing(scope, name, error)
            raise
    return _ready(module, scope)


def with_params(app: App, params: Mapping[str, object]) -> App:
    """The application, rebuilt with these values. Its module is executed again, which by contract does not start a run;
    the module that the caller imported is unchanged."""
    module = sys.modules.get(app.module)
    if module is None or getattr(module, "__file__", None) is None or app not in vars(module).values():
        raise GraphError(
            "this application cannot be rebuilt with different parameters",
            where=app.where,
            expected="a tw.App that is an attribute of a module, in a file",
            hint="create it at module level, or set the values in the environment before it is created",
        )
    attribute = next(name for name, value in vars(module).items() if value is app)
    with loading(params) as scope:
        again = _again(module, scope)
    found = getattr(_ready(again, scope), attribute, None)
    if not isinstance(found, App):
        raise GraphError(f"{attribute} is not an application when {module.__name__} is reloaded", where=app.where)
    return found


def _again(module: ModuleType, scope: Scope) -> ModuleType:
    assert module.__file__ is not None
    name = _plain_name(module)
    again = _new_module(name, Path(module.__file__))
    before = sys.modules.get(name)
    sys.modules[name] = again  # annotations are looked up there
    try:
        _execute(again, scope)
    finally:
        if before is not None:
            sys.modules[name] = before
    return again


def _plain_name(module: ModuleType) -> str:
    """A script's module is reloaded under the name of its file, so that its `__main__` part does not run again."""
    return Path(module.__file__ or "").stem if module.__name__ == "__main__" else module.__name__


def _new_module(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    return importlib.util.module_from_spec(spec)


def _execute(module: ModuleType, scope: Scope) -> None:
    assert module.__spec__ is not None
    assert module.__spec__.loader is not None
    try:
        module.__spec__.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        _prefer_missing(scope, module.__name__, error)
        raise


def _prefer_missing(scope: Scope, module: str, error: BaseException) -> None:
    """Raise an error about missing values in place of a failure that they may have caused."""
    try:
        scope.check_values(module)
    except ThalwegError as missing:
        raise missing from error


def _ready(module: ModuleType, scope: Scope) -> ModuleType:
    scope.check(module.__name__)
    scope.check_given(module.__name__)
    send_by_value(module.__name__)
    return module


def by_value(app: App) -> App:
    """The application, with its module sent by value: workers that import it again might get different parameters."""
    send_by_value(app.module)
    return app
