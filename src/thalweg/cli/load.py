"""Find the application that the user names: `path.py`, `path.py:attr` or `module:attr`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from thalweg.errors import GraphError, did_you_mean
from thalweg.lang.app import App
from thalweg.load import load_file, load_name


def load_app(name: str, params: Mapping[str, object] | None = None) -> App:
    target, _, attribute = name.partition(":")
    given = params or {}
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
