"""Facts as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg.analysis.derive_facts import facts_of
from thalweg.ir.facts import Facts
from thalweg.ir.graph import LogicalGraph


def facts_text(graph: LogicalGraph) -> str:
    """The facts of every operator, each with its reason."""
    lines = ["facts"]
    for name, facts in facts_of(graph).items():
        lines.append(f"  {name} ({graph.by_name[name].kind})")
        lines.append(f"    state: {facts.state}, because: {facts.state.because}")
        lines += [f"    {line}" for line in _ports(facts)]
        lines += [f"    {effect}" for effect in facts.effects]
    return "\n".join(lines) + "\n"


def _ports(facts: Facts) -> list[str]:
    found = [f"reads: {_names(read)}" for read in facts.reads if read != frozenset()]
    for port, (selectivity, copies) in enumerate(zip(facts.selectivity, facts.forwards, strict=True)):
        at = f" at port {port}" if len(facts.selectivity) > 1 else ""
        found.append(f"selectivity{at}: {selectivity} ({selectivity.because.text})")
        shown = [_copies(one) for one in copies if one]
        found += [f"forwards{at}: {' | '.join(dict.fromkeys(shown))}"] if shown else []
    return found


def _names(names: frozenset[str] | None) -> str:
    return "all attributes" if names is None else ", ".join(sorted(names)) or "no attribute"


def _copies(copies: Mapping[str, str]) -> str:
    return ", ".join(name if name == origin else f"{name} = {origin}" for name, origin in copies.items())


def facts_json(graph: LogicalGraph) -> dict[str, Any]:
    return {name: _document(facts) for name, facts in facts_of(graph).items()}


def _document(facts: Facts) -> dict[str, Any]:
    state = facts.state
    return {
        "state": state.kind,
        "by": [list(key) for key in state.by],
        "because": str(state.because),
        "selectivity": [
            {"least": s.least, "most": s.most, "known": s.known, "because": str(s.because)} for s in facts.selectivity
        ],
        "reads": [None if read is None else sorted(read) for read in facts.reads],
        "forwards": [[dict(one) for one in port] for port in facts.forwards],
        "writes": [sorted(names) for names in facts.writes],
        "effects": [{"kind": e.kind, "because": str(e.reason)} for e in facts.effects],
        "declared": None if facts.declared is None else str(facts.declared.where),
    }
