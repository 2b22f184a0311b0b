"""`thalweg doctor`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

import typer

from thalweg.cli.machine_checks import examine
from thalweg.cli.options import Debug, Json, Quiet
from thalweg.cli.print_errors import print_json
from thalweg.cli.terminal import err, obeys_quiet, out, status


@obeys_quiet
def doctor(
    start: Annotated[
        bool, typer.Option("--start", help="also start Spark, run a tiny application, and make later starts faster")
    ] = False,
    quiet: Quiet = False,
    json_output: Json = False,
    debug: Debug = False,
) -> None:
    """Check this machine: Python, Java, packages, toolkits. With --start also Spark; this creates an archive of Spark's
    classes in the user's cache folder, which makes later starts of Spark faster.

    Examples:

        thalweg doctor

        thalweg doctor --start
    """
    with status("running a tiny application on Spark (half a minute)") if start else nullcontext():
        findings = examine(start=start)
    if json_output:
        print_json([finding.__dict__ for finding in findings])
    else:
        for finding in findings:
            shown = err if quiet and not finding.ok else out
            shown.print(f"[{'green]ok ' if finding.ok else 'bold red]bad'}[/] {finding.what}: {finding.found}")
            if finding.hint:
                shown.print(f"      {finding.hint}", markup=False)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)
