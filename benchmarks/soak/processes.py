"""Memory of a process and all that it started, by what they are."""

from __future__ import annotations

import os
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def memory_by_role(root: int) -> dict[str, int]:
    """Resident bytes: the driver's Python, the JVM, the Python processes below it."""
    parents = {pid: parent for pid in _pids() if (parent := _parent(pid)) is not None}
    sizes = {"driver": _resident(root), "jvm": 0, "python workers": 0}
    for pid in parents:
        if pid != root and _below(pid, root, parents):
            sizes["jvm" if _name(pid) == "java" else "python workers"] += _resident(pid)
    return sizes


def _pids() -> list[int]:
    return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()]


def _below(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != root:
        pid = parents[pid]
    return pid == root


def _parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _resident(pid: int) -> int:
    """Without pages that are shared with a parent process: workers are forked, and each would count them again."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE
