"""Find the application that the user names: `path.py`, `path.py:attr` or `module:attr`."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import thalweg.errors
from thalweg.errors import GraphError, Interrupted, ThalwegError, Where, did_you_mean, summary
from thalweg.lang.app import App
from thalweg.load import load_file, load_name


@contextmanager
def _loading_errors(target: str) -> Iterator[None]:
    """Report an exception of the user's module while it is loaded as an error with its location in the module."""
    try:
        yield
    except ThalwegError:
        raise
    except KeyboardInterrupt as error:
        raise Interrupted(f"Ctrl-C while {target} was loaded", where=_place(error)) from error
    except BaseException as error:  # also SystemExit: a module must not end the command
        known = [name for name in dir(getattr(error, "obj", None)) if not name.startswith("_")]
        meant = did_you_mean(error.name, known) if isinstance(error, AttributeError) and error.name else None
        raise GraphError(
            f"{target} cannot be loaded",
            where=_place(error),
            found=f"{type(error).__name__}: {error.msg}" if isinstance(error, SyntaxError) else summary(error),
            hint=meant or "--debug shows the whole traceback",
        ) from error


def _place(error: BaseException) -> Where | None:
    """The innermost line outside of Thalweg and Python's import system."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return Where(error.filename, error.lineno)
    own = str(Path(thalweg.errors.__file__).parent)
    places = [
        Where(frame.filename, frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.lineno is not None and not frame.filename.startswith((own, "<frozen"))
    ]
    return places[-1] if places else None


def load_app(name: str, params: Mapping[str, object] | None = None) -> App:
    target, _, attribute = name.partition(":")
    given = params or {}
    with _loading_errors(target):
        module = load_file(Path(target), given) if target.endswith(".py") else load_name(target, given)
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
