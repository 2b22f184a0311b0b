"""Optional packages: `pip install 'thalweg[postgres]'` installs those for PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from thalweg.errors import PackageError, Where


@contextmanager
def extra(name: str, feature: str, where: Where | None = None) -> Iterator[None]:
    """Wrap the import of an extra's packages: if it fails, the error reports what to install."""
    try:
        yield
    except ImportError as error:
        raise PackageError(
            f"{feature} needs packages that are not installed",
            where=where,
            expected=f"the packages of thalweg[{name}]",
            found=str(error),
            hint=f"pip install 'thalweg[{name}]'",
        ) from error
