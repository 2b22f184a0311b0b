"""The error for a worker process that died."""

from __future__ import annotations

from thalweg.engine.local.messages import Job
from thalweg.errors import EngineError


def died(code: int | None, job: Job | None, place: int) -> EngineError:
    """`place`: the number of the PE that was running, -1 if none was."""
    programs = [program for stage in job.programs for program in stage] if job is not None else []
    at_work = [programs[place]] if 0 <= place < len(programs) else programs
    operators = [operator for program in at_work for operator in program.operators.values()]
    ending = f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    where = f", in PE {at_work[0].id}" if len(at_work) == 1 else ""
    return EngineError(
        "a worker process died",
        operator=" or ".join(operator.name for operator in operators) or None,
        where=operators[0].where if len(operators) == 1 else None,
        found=ending + where,
        hint="a function of these operators exited, native code crashed, or the memory was exhausted; "
        "with --checkpoint no data is lost: run the same command to resume",
    )
