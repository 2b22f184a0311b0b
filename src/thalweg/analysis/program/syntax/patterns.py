"""`match`: the patterns of a case, and the names that they bind."""

from __future__ import annotations

import ast

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import UNKNOWN, Anything, Item, Known, Value, classes_of, join, just, only
from thalweg.analysis.program.items.names import assign_name
from thalweg.analysis.program.items.operations import compare
from thalweg.analysis.program.machine import PATTERNS, STATEMENTS, Machine
from thalweg.analysis.program.python_types import is_built_in
from thalweg.analysis.program.store import Store, meet
from thalweg.analysis.program.truth import truth

_SEQUENCE, _MAPPING = 1 << 5, 1 << 6  # flags of types: Py_TPFLAGS_SEQUENCE, Py_TPFLAGS_MAPPING


@STATEMENTS.handles(ast.Match)
def match_cases(m: Machine, node: ast.Match) -> None:
    subject = m.evaluate(node.subject)
    ends: list[Store | None] = []
    for case in node.cases:
        before = m.store
        if before is None:
            break
        m.store = before.copy()
        m.match(case.pattern, subject, node)
        always = case.guard is None and _always(case.pattern)
        if case.guard is not None:
            truth(m, m.evaluate(case.guard), case.guard)
        missed = None if always else meet((before, m.store))
        m.run(case.body)
        ends.append(m.store)
        m.store = missed
    m.store = meet((*ends, m.store))


def _always(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _always(pattern.pattern))


@PATTERNS.handles(ast.MatchValue)
def match_value(m: Machine, pattern: ast.MatchValue, subject: Value, node: ast.AST) -> None:
    compare(m, ast.Eq(), subject, m.evaluate(pattern.value), node)


@PATTERNS.handles(ast.MatchSingleton)
def match_singleton(m: Machine, pattern: ast.MatchSingleton, subject: Value, node: ast.AST) -> None:
    return


@PATTERNS.handles(ast.MatchAs)
def match_as(m: Machine, pattern: ast.MatchAs, subject: Value, node: ast.AST) -> None:
    if pattern.pattern is not None:
        m.match(pattern.pattern, subject, node)
    if pattern.name is not None:
        assign_name(m, pattern.name, subject, node)


@PATTERNS.handles(ast.MatchOr)
def match_or(m: Machine, pattern: ast.MatchOr, subject: Value, node: ast.AST) -> None:
    """One alternative matches; those before it are tried first."""
    ends: list[Store | None] = []
    for inner in pattern.patterns:
        before = m.store
        if before is None:
            break
        m.store = before.copy()
        m.match(inner, subject, node)
        ends.append(m.store)
        m.store = meet((before, m.store))
    m.store = meet(ends)


@PATTERNS.handles(ast.MatchSequence)
def match_sequence(m: Machine, pattern: ast.MatchSequence, subject: Value, node: ast.AST) -> None:
    elements = m.elements(_unpacked(m, subject, _SEQUENCE, node), node)
    for inner in pattern.patterns:
        m.match(inner, elements, node)


@PATTERNS.handles(ast.MatchStar)
def match_star(m: Machine, pattern: ast.MatchStar, subject: Value, node: ast.AST) -> None:
    if pattern.name is not None:
        assign_name(m, pattern.name, m.made(list, node, subject, tag=f"star {pattern.name}"), node)


@PATTERNS.handles(ast.MatchMapping)
def match_mapping(m: Machine, pattern: ast.MatchMapping, subject: Value, node: ast.AST) -> None:
    subject = _unpacked(m, subject, _MAPPING, node)
    held = m.memory.contents_of(subject)
    for key in pattern.keys:
        m.evaluate(key)
    for inner in pattern.patterns:
        m.match(inner, held, node)
    if pattern.rest is not None:
        keys = join([m.memory.keys(item) for item in subject])
        assign_name(m, pattern.rest, m.made(dict, node, held, tag=pattern.rest, keys=keys), node)


def _unpacked(m: Machine, subject: Value, flag: int, node: ast.AST) -> Value:
    """Python reads the length and the items only of declared sequences or mappings. Return the subject without objects
    that define them in user code."""
    left: set[Item] = set()
    for item in subject:
        own = [cls for cls in classes_of(item) if cls.__flags__ & flag and not is_built_in(cls)]
        if isinstance(item, Anything) or (own and not all(map(live_objects.is_named_tuple, own))):
            shown = own[0].__name__ if own else "a value that cannot be analyzed"
            m.unknown(f"uses a pattern that reads the items of {shown}", node, just(item))
            continue
        m.look_at(item, node)
        left.add(item)
    return frozenset(left) if len(left) == len(subject) else frozenset(left) | UNKNOWN


@PATTERNS.handles(ast.MatchClass)
def match_class(m: Machine, pattern: ast.MatchClass, subject: Value, node: ast.AST) -> None:
    cls = only(m.evaluate(pattern.cls))
    names = getattr(cls.value, "__match_args__", ()) if isinstance(cls, Known) else ()
    for index, inner in enumerate(pattern.patterns):
        # Without such a name, the pattern matches the subject itself: `str(x)`.
        m.match(inner, m.attribute(subject, names[index], node) if index < len(names) else subject, node)
    for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        m.match(inner, m.attribute(subject, name, node), node)
