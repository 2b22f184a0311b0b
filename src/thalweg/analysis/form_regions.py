"""Form parallel regions, from left to right: as close to the sources as is safe, and as long as it stays safe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from thalweg.analysis.channel_safety import Rules, refusal, rules_of
from thalweg.analysis.derive_facts import facts_of
from thalweg.analysis.joints import joints
from thalweg.analysis.partitioning import copies_of, speaks_for_itself
from thalweg.errors import HintError
from thalweg.ir.facts import Reason
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.hints import Hint
from thalweg.ir.operators import Operator, Source, StreamRef
from thalweg.ir.regions import PARALLEL_SOURCE, SHUFFLE, SPLIT, ChannelVerdict, Region, Regions

View = Mapping[str, str]  # attribute at the start of the region -> name of an unchanged copy of it here


def form_regions(graph: LogicalGraph, rules: str = "thalweg") -> Regions:
    """All regions of a graph, and the reason for every operator that is in none."""
    return graph.analyses.once(_form, rules_of(rules))


def _form(graph: LogicalGraph, rules: Rules) -> Regions:
    refused: dict[str, Reason] = {}
    for operator in graph.operators:
        if (reason := refusal(graph, operator, rules)) is not None:
            refused[operator.name] = reason
    while True:
        forming = _Forming(graph, rules, dict(refused))
        for operator in graph.operators:
            forming.add(operator)
        torn = _torn(graph, forming)
        if not torn:
            return forming.regions()
        refused |= torn  # two operators of one PE must be in one region, or in none


def _torn(graph: LogicalGraph, forming: _Forming) -> dict[str, Reason]:
    """Operators that are in a region and must share a PE with one that is not in it."""
    found: dict[str, Reason] = {}
    for name, hint in graph.hints.items():
        for other in hint.fuse_with:
            one, two = forming.place.get(name), forming.place.get(other)
            if one is two:
                continue
            for torn, mate in ((name, other), (other, name)):
                if torn in forming.place:
                    why = forming.refused.get(mate)
                    text = f"shares a PE with {mate}, which is in a different region"
                    text = text if why is None else f"shares a PE with {mate}, which is in none: {why.text}"
                    found[torn] = Reason(text, hint.where)
                    _refuse_contradiction(graph, torn, found[torn])
    return found


def _refuse_contradiction(graph: LogicalGraph, name: str, why: Reason) -> None:
    """Reject two hints of which one would be silently ignored."""
    said = graph.hints.get(name)
    if said is not None and said.parallel:
        raise HintError(
            f"{name} cannot both run in several channels and be fused as requested",
            operator=name,
            where=said.where,
            found=f"it {why.text} ({why.where})",
            hint="remove .parallel() or .fuse_with()",
        )


@dataclass(slots=True)
class _Growing:
    """A region that is being formed."""

    kind: str
    key: tuple[str, ...] | None
    degree: int | None
    number: int
    operators: list[str] = field(default_factory=list)
    reach: int = 0  # everything downstream of its operators
    arriving: dict[str, list[View]] = field(default_factory=dict)  # by operator and port


class _Forming:
    def __init__(self, graph: LogicalGraph, rules: Rules, refused: dict[str, Reason]) -> None:
        self.graph, self.rules, self.refused = graph, rules, refused
        self.growing: list[_Growing] = []
        self.place: dict[str, _Growing] = {}
        self.views: dict[StreamRef, View] = {}

    def add(self, operator: Operator) -> None:
        if operator.name in self.refused:
            return
        hint = self.graph.hints.get(operator.name)
        if isinstance(operator, Source):
            key = None if self.rules.blocks else operator.partition_by
            region = self._begin(PARALLEL_SOURCE, key or None, hint)
            self._put(operator, region, [{n: n for n in operator.outputs[0].names}])
            return
        before = [self.place.get(stream.operator) for stream in _data(operator)]
        if (self._joined(operator, before, hint) or self._begun(operator, before, hint)) is None:
            self.refused[operator.name] = self._left_alone(operator)

    def _joined(self, operator: Operator, before: list[_Growing | None], hint: Hint | None) -> _Growing | None:
        """The region of the predecessors, if this operator may join it."""
        regions = {id(region): region for region in before if region is not None}
        if not regions or (hint is not None and hint.key is not None):
            return None
        if len(regions) > 1 or None in before:
            if operator.key is not None:
                return self._met(operator, before, hint)
            # It takes tuples where they are, from any region; how they are partitioned is then no longer known.
            latest = max(regions.values(), key=lambda region: region.number)
            return self._put(operator, latest, [{} for _ in _data(operator)])
        (region,) = regions.values()
        if hint is not None and hint.degree is not None and region.degree not in (None, hint.degree):
            return None
        views = [self.views.get(stream, {}) for stream in _data(operator)]
        if operator.key is not None:
            shared = _shared(operator, dict(enumerate(views)))
            key = tuple(n for n in region.key if n in shared) if region.key is not None else tuple(shared)
            if not key or (region.key is None and region.kind != SPLIT):
                return None
            region.key = key
        if hint is not None and hint.degree is not None:
            region.degree = hint.degree
        return self._put(operator, region, views)

    def _met(self, operator: Operator, before: list[_Growing | None], hint: Hint | None) -> _Growing | None:
        """Several streams meet in state: it joins the latest region that has its key, and the tuples of the other
        streams are routed there by the same key, unless they are derived from the output of this region."""
        streams = _data(operator)
        met = {region.number: region for region in before if region is not None}
        for _, region in sorted(met.items(), reverse=True):
            ports = [port for port, other in enumerate(before) if other is region]
            others = (s.operator for port, s in enumerate(streams) if port not in ports)
            late = any(region.reach >> self.graph.declared[name] & 1 for name in others)
            asked = hint is not None and hint.degree is not None and region.degree not in (None, hint.degree)
            if region.key is None or late or asked:
                continue
            inside = {port: self.views.get(streams[port], {}) for port in ports}
            shared = _shared(operator, inside)
            key = tuple(n for n in region.key if n in shared)
            if key:
                region.key = key
                outside = {shared[n]: n for n in key}
                views = [
                    inside.get(port) or {n: (operator.port_key(port) or ())[i] for i, n in outside.items()}
                    for port in range(len(streams))
                ]
                return self._put(operator, region, views)
        return None

    def _begun(self, operator: Operator, before: list[_Growing | None], hint: Hint | None) -> _Growing | None:
        """A new region that begins with this operator."""
        asked = hint is not None and (hint.parallel or hint.key is not None)
        if operator.key is None and not asked and not self.rules.again:
            return None
        kind = SHUFFLE if any(region is not None for region in before) else SPLIT
        key = hint.key if hint is not None and hint.key is not None else operator.key
        region = self._begin(kind, key, hint)
        kinds = [self.graph.type_of(stream) for stream in _data(operator)]
        views: list[View] = [{n: n for n in kind.names} for kind in kinds]
        if operator.key is not None:
            views = [_named(operator, port, views[0]) for port in range(len(views))]
        return self._put(operator, region, views)

    def _begin(self, kind: str, key: tuple[str, ...] | None, hint: Hint | None) -> _Growing:
        self.growing.append(_Growing(kind, key, hint.degree if hint is not None else None, len(self.growing)))
        return self.growing[-1]

    def _put(self, operator: Operator, region: _Growing, views: list[View]) -> _Growing:
        region.operators.append(operator.name)
        region.reach |= self.graph.reach[operator.name]
        region.arriving[operator.name] = views
        self.place[operator.name] = region
        facts = facts_of(self.graph)[operator.name]
        for port in range(len(operator.outputs)):
            stream = StreamRef(operator.name, port)
            if isinstance(operator, Source):
                self.views[stream] = views[0] if port == 0 else {}
            elif not speaks_for_itself(operator):
                self.views[stream] = _after(views, facts.forwards[port])
        return region

    def _left_alone(self, operator: Operator) -> Reason:
        before = ", ".join(dict.fromkeys(s.operator for s in _data(operator)))
        return Reason(f"takes its tuples where they are, after {before}, which runs in one channel", operator.where)

    def regions(self) -> Regions:
        verdicts: dict[str, ChannelVerdict] = {}
        for operator in self.graph.operators:
            reason = self.refused.get(operator.name)
            safe = reason or facts_of(self.graph)[operator.name].state.because
            verdicts[operator.name] = ChannelVerdict(operator.name, reason is None, safe)
        made = []
        for number, region in enumerate(self.growing):
            names = tuple(sorted(region.operators, key=self.graph.declared.__getitem__))
            keys = {name: self._key(region, name) for name in names if self._is_routed(region, name)}
            fresh = not self.rules.blocks
            first, last = joints(self.graph, names, region.kind, region.key, self.place.keys(), fresh=fresh)
            made.append(Region(number, names, region.key, keys, first, last, region.degree))
        return Regions(self.rules.name, tuple(made), verdicts)

    def _is_routed(self, region: _Growing, name: str) -> bool:
        """Whether tuples are sent to this operator by the region's key."""
        stateful = self.graph.by_name[name].key is not None
        return stateful or (region.kind != PARALLEL_SOURCE and name == region.operators[0])

    def _key(self, region: _Growing, name: str) -> tuple[str, ...]:
        (view, *_) = region.arriving[name]
        return tuple(view[attribute] for attribute in region.key or ())


def _data(operator: Operator) -> list[StreamRef]:
    """The streams of the ports that take tuples."""
    return [stream for port, stream in enumerate(operator.inputs) if port != operator.mark_port]


def _named(operator: Operator, port: int, first: View) -> View:
    """The key attributes of one port, by their names at the first port."""
    own, key = operator.port_key(port), operator.key
    assert own is not None
    assert key is not None
    return first if port == 0 else dict(zip(key, own, strict=True))


def _shared(operator: Operator, views: Mapping[int, View]) -> dict[str, int]:
    """The attributes at the start of the region whose copies are key attributes, the same one at each of these ports;
    with the index of that key attribute."""
    assert operator.key is not None
    found: dict[str, int] = {}
    for index in range(len(operator.key)):
        keys = {port: (operator.port_key(port) or ())[index] for port in views}
        origins = set.intersection(*({o for o, name in view.items() if name == keys[p]} for p, view in views.items()))
        fresh = sorted(origins - found.keys(), key=lambda origin: (origin not in keys.values(), origin))
        found |= dict.fromkeys(fresh[:1], index)
    return found


def _after(views: list[View], forwards: tuple[Mapping[str, str], ...]) -> View:
    """The attributes at the start of the region that are still available after an operator, with their names there."""
    found: dict[str, str] = {}
    for origin in views[0]:
        copies = [copies_of(forwards[port], view[origin]) if origin in view else [] for port, view in enumerate(views)]
        common = [name for name in copies[0] if all(name in other for other in copies)]
        if common:
            found[origin] = common[0]
    return found
