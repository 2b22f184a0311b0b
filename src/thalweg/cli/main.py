"""The command `thalweg`."""

from __future__ import annotations

import sys

from thalweg.cli.lazy_commands import LazyCommands, list_commands, new_typer
from thalweg.cli.print_errors import WrongCommandLine, show_error, shown_warnings, usage_error
from thalweg.cli.terminal import err, notes
from thalweg.errors import ThalwegError, internal_error, not_enough_memory

cli = new_typer(
    cls=LazyCommands,
    no_args_is_help=True,
    help="Compile and run streaming applications written in Python, on Apache Spark.",
    epilog="Exit codes: 0 success; 1 an error, or `check` found a difference, or `doctor` found a problem; "
    "2 incorrect usage; 130, 143 or 129 stopped by Ctrl-C, SIGTERM or SIGHUP.",
)
list_commands(cli)


def main() -> None:
    """Run the command. An error is printed as one paragraph, with --debug as a traceback."""
    with shown_warnings(notes):
        try:
            sys.exit(cli(prog_name="thalweg", standalone_mode=False))
        except WrongCommandLine as error:
            if not error.format_message():  # no command was given, and the help was shown
                sys.exit(error.exit_code)
            show_error(err, usage_error(error))
        except ThalwegError as error:
            if "--debug" in sys.argv:
                raise
            show_error(err, error)
        except MemoryError as error:  # outside of a PE, which would have reported its operators
            if "--debug" in sys.argv:
                raise
            show_error(err, not_enough_memory(error))
        except Exception as error:
            if "--debug" in sys.argv:
                raise
            show_error(err, internal_error(error))


if __name__ == "__main__":
    main()
