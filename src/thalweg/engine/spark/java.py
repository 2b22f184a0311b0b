"""Find a Java installation that Spark can use, or explain how to get one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from thalweg.errors import EngineError

MINIMUM = 17
JAVA_HINT = (
    f"Spark 4.3 needs Java {MINIMUM} or newer. Install one (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; "
    "macOS: brew install openjdk@17) or set JAVA_HOME to one. The `local` engine does not need Java."
)


@dataclass(frozen=True, slots=True)
class Java:
    command: str
    version: str

    @property
    def usable(self) -> bool:
        major = re.match(r"\d+", self.version)
        return major is not None and int(major.group()) >= MINIMUM


def find_java() -> Java | None:
    """Look in JAVA_HOME first, as Spark does, then on the PATH."""
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if command is None or shutil.which(command) is None:
        return None
    return Java(command, _version(command))


@cache
def _version(command: str) -> str:
    output = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "([^"]+)"', output)
    return version.group(1) if version else "of unknown version"


def require_java() -> None:
    java = find_java()
    if java is None or not java.usable:
        raise EngineError("no usable Java was found", found=java.version if java else "none", hint=JAVA_HINT)
