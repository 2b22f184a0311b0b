"""The effect of `--balance`, as text or as JSON."""

from __future__ import annotations

from typing import Any

from thalweg.optimize.balance import shares
from thalweg.planning.run_plan import RunPlan


def balance_text(planned: RunPlan) -> str:
    """A line for each operator with several channels; empty if no sample was taken."""
    if planned.loads is None:
        return ""
    lines = [
        f"  {s.operator}: heaviest channel {_percent(s.before)} -> {_percent(s.after)} of {s.tuples:,} sampled tuples"
        for s in shares(planned.plan, planned.loads)
    ]
    head = f"balance, by the first {planned.loads.tuples:,} tuples of the input"
    return "\n".join(["", head, *lines]) + "\n" if lines else ""


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def balance_json(planned: RunPlan) -> dict[str, Any]:
    """The same as JSON, to be added to the plan's document; empty if no sample was taken."""
    if planned.loads is None:
        return {}
    operators = [
        {"operator": s.operator, "tuples": s.tuples, "heaviest_before": s.before, "heaviest_after": s.after}
        for s in shares(planned.plan, planned.loads)
    ]
    return {"balance": {"tuples": planned.loads.tuples, "operators": operators}}
