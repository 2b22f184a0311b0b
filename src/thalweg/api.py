"""The public API in addition to the language: `tw.run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Unpack

from thalweg.engine.core.run import DEFAULT_MAX_TUPLES, RunOptions, RunResult, Watch, warn_at_end
from thalweg.engine.local.run import run_local
from thalweg.errors import GraphError, PlanError, described, did_you_mean, kept_warnings
from thalweg.ir.arguments import Count, checked, choice
from thalweg.ir.plan import Plan
from thalweg.ir.plan_options import PlanOptions
from thalweg.ir.user_calls import call_place, user_frame
from thalweg.lang.app import App
from thalweg.lang.params import is_loading
from thalweg.load import by_value, with_params
from thalweg.optimize.request import PlanRequest
from thalweg.planning.run_plan import closed, plan_run

ENGINES = ("spark", "local")


@checked
def run(
    app: App,
    *,
    engine: Annotated[str, choice(*ENGINES)] = "spark",
    checkpoint: str | Path | None = None,
    follow: bool = False,
    max_tuples_per_epoch: Count = DEFAULT_MAX_TUPLES,
    overwrite: bool = False,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    keep_epochs: Count | None = None,
    params: Mapping[str, object] | None = None,
    **options: Unpack[PlanOptions],
) -> RunResult:
    """Run an application from a Python program; `thalweg run` does the same from the shell.

    With `params` the application's module is executed again, with these values. The other options are those of
    `PlanRequest`: degree, fuse, buckets, balance, rules, frame_rows and plan.
    """
    if not isinstance(app, App):
        raise GraphError(
            "run: not an application", where=call_place(user_frame()), expected="a tw.App", found=described(app)
        )
    request = PlanRequest.of(**options)
    if is_loading():
        raise GraphError(
            "the application is run while its module is being loaded",
            where=app.where,
            hint='put the call of tw.run under `if __name__ == "__main__":`',
        )
    run_options = RunOptions(
        checkpoint=Path(checkpoint) if checkpoint is not None else None,
        follow=follow,
        max_tuples_per_epoch=max_tuples_per_epoch,
        overwrite=overwrite,
        master=master,
        conf=conf or {},
        keep_epochs=keep_epochs,
    )
    with kept_warnings() as warned:
        app = with_params(app, params) if params else by_value(app)
        planned = plan_run(app.graph(), request, run_options.checkpoint)
        done = run_plan(planned.plan, engine, run_options)
        warn_at_end(done)
    return replace(done, warnings=tuple(warned))


def check_engine(engine: str) -> None:
    if engine not in ENGINES:
        hint = did_you_mean(engine, ENGINES)
        raise PlanError("unknown engine", expected=" or ".join(ENGINES), found=engine, hint=hint)


def run_plan(plan: Plan, engine: str, options: RunOptions, watch: Watch = lambda report: None) -> RunResult:
    check_engine(engine)
    closed(plan)
    if engine == "local":
        return run_local(plan, options, watch)
    from thalweg.engine.spark.run import run_spark  # does not start a JVM, but importing pyspark takes a second

    return run_spark(plan, options, watch)
