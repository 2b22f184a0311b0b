"""Reject masters and settings that Spark would reject or silently ignore, and report the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from thalweg.errors import EngineError, UsageError, did_you_mean

PACKAGES = "spark.jars.packages"
_MASTERS = r"local|local\[(\*|\d+)(, *\d+)?\]|local-cluster\[\d+, *\d+, *\d+\]|spark://[^/]+|yarn|k8s://.+"
_AS_THEY_ARE = "--master and --conf are passed to Spark unchanged"
_SHOWN = ("local", "local[4]", "local[*]", "local-cluster[2,1,1024]", "spark://HOST:PORT", "yarn", "k8s://HOST:PORT")


def check_settings(master: str | None, conf: Mapping[str, str]) -> None:
    """Check the options before Java is started, which takes seconds."""
    if master is not None and not re.fullmatch(_MASTERS, master):
        raise UsageError(
            "--master: this is not a Spark master",
            expected=", ".join(_SHOWN),
            found=master,
            hint=did_you_mean(master, _SHOWN),
        )
    for key in conf:
        if not key.startswith("spark."):
            raise UsageError(f"--conf: Spark would ignore {key}", expected="a key that starts with `spark.`", found=key)


@contextmanager
def refusals(what: str, hint: str | None = None) -> Iterator[None]:
    """Report as a short error what Spark rejects in the block."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise EngineError(what, found=_reason(error), hint=hint or _AS_THEY_ARE) from error


def _reason(error: Exception) -> str:
    """The first line that is not empty. The text of a Java error would start with the call that failed."""
    java = getattr(error, "java_exception", None)
    text = str(java.toString()) if java is not None else str(error)
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
