"""A private PostgreSQL server: its own folder, a free port on loopback, no data of anybody else."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.tcp import free_port

PASSWORD = "correct-horse-battery"
USER = "writer"


def _binaries() -> Path:
    """The path of initdb. Debian keeps it off PATH; if it is missing and we have the permission, it is installed."""
    for _ in range(2):
        found = shutil.which("initdb")
        if found is not None:
            return Path(found).resolve().parent
        versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if versions:
            return versions[-1].parent
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            break
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(
            ["apt-get", "install", "-y", "-q", "postgresql"], check=True, env=quiet, stdout=subprocess.DEVNULL
        )
    raise RuntimeError("no PostgreSQL: install the package `postgresql` (its initdb is needed, not a running server)")


class Postgres:
    """A server that can be stopped and started again. As root it runs as `postgres` or `nobody`: it refuses root."""

    def __init__(self, folder: Path) -> None:
        self.binaries, self.data, self.port = _binaries(), folder / "data", free_port()
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            names = {entry.pw_name: entry for entry in pwd.getpwall()}
            account = names.get("postgres") or names["nobody"]
            os.chown(folder, account.pw_uid, account.pw_gid)
            self._user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        word = folder / "word"
        word.write_text(PASSWORD)
        word.chmod(0o644)
        options = ["--auth=scram-sha-256", f"--username={USER}", f"--pwfile={word}", "--no-sync", "--locale=C.UTF-8"]
        self._run("initdb", f"--pgdata={self.data}", *options)

    def _run(self, command: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.binaries / command), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.data.parent,
            check=False,
            **self._user,
        )
        assert done.returncode == 0, done.stdout.decode()

    def start(self) -> None:
        # No fsync: power cuts are not tested. No socket file, so that nothing is outside of the folder.
        options = f"-c listen_addresses=127.0.0.1 -p {self.port} -c unix_socket_directories= -c fsync=off"
        log = self.data.parent / "log"
        self._run("pg_ctl", f"--pgdata={self.data}", "--wait", f"--log={log}", f"--options={options}", "start")

    def stop(self) -> None:
        """Immediately, as in a crash: clients are disconnected."""
        self._run("pg_ctl", f"--pgdata={self.data}", "--wait", "--mode=immediate", "stop")

    @property
    def dsn(self) -> str:
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def query(self, text: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            cursor = connection.execute(text.encode(), values)
            return cursor.fetchall() if cursor.description else []


@contextmanager
def server() -> Iterator[Postgres]:
    with tempfile.TemporaryDirectory(prefix="thalweg-postgres-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # not ours alone: the server's account must reach its data
        made = Postgres(folder)
        made.start()
        try:
            yield made
        finally:
            if (made.data / "postmaster.pid").exists():
                made.stop()
