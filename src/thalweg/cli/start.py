"""The entry point of the command `thalweg`. It imports little, so that a signal is reported from the first moment:
loading the command itself takes a while."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Run the command. A run has its own handlers, which stop it after an epoch."""
    taken = []
    if threading.current_thread() is threading.main_thread():
        taken = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]  # not what `nohup` ignores
    for number in taken:
        signal.signal(number, _end)
    try:
        from thalweg.cli.main import main as command

        command()
    except KeyboardInterrupt:
        _interrupted()
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: Any) -> None:
    os.write(2, f"stopped by {signal.Signals(number).name}\n".encode())
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _interrupted() -> None:
    from thalweg.errors import Interrupted

    error = Interrupted("Ctrl-C before the command was loaded")
    if "--json" in sys.argv:
        import json

        print(json.dumps(error.as_json()), flush=True)
    else:
        print(f"{error.kind}: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
