"""Context: the inputs of a pass in addition to the plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from thalweg.ir.analyses import Analyses
from thalweg.ir.hosts import Host
from thalweg.ir.profile import Profile
from thalweg.optimize.request import Held, PlanRequest


@dataclass(frozen=True, slots=True)
class Context:
    analyses: Analyses  # of the plan's graph
    request: PlanRequest = field(default_factory=PlanRequest)
    held: Held = field(default_factory=Held)
    profile: Profile | None = None
    hosts: tuple[Host, ...] = ()  # empty: only the machine that runs the plan
