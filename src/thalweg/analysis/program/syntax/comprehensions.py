"""Comprehensions and generator expressions."""

from __future__ import annotations

import ast

from thalweg.analysis.program.abstract_values import NOTHING, New, Value, just
from thalweg.analysis.program.callbacks import run_later, suspend, watch
from thalweg.analysis.program.contents import check_keys, steady_length
from thalweg.analysis.program.emissions import copied_of
from thalweg.analysis.program.machine import EXPRESSIONS, Machine
from thalweg.analysis.program.memory import ELEMENTS, KEYS
from thalweg.analysis.program.python_types import ITERATOR
from thalweg.analysis.program.store import ANY_NUMBER, Count, meet, widened
from thalweg.analysis.program.truth import truth

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_KINDS: dict[type[ast.AST], type] = {
    ast.ListComp: list,
    ast.SetComp: set,
    ast.GeneratorExp: ITERATOR,
    ast.DictComp: dict,
}


@EXPRESSIONS.handles(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
def comprehension(m: Machine, node: Comprehension) -> Value:
    """A loop in its own scope. A generator expression runs when elements are taken from it."""
    kind = _KINDS[type(node)]
    item = New((m.frame.key, id(node), ""), kind)
    scopes = m.frame.scopes
    m.frame.scopes = [*scopes, {}]
    source = _source(m, node, 0)  # of the first `for`: always evaluated immediately
    if m.store is None:
        length: Count = (0, 0)
    elif isinstance(node, ast.GeneratorExp):
        length = run_later(m, lambda: _generate(m, node, 0, item, source))
    else:
        length = _generate(m, node, 0, item, source)
    m.frame.scopes = scopes
    if m.store is None:
        return NOTHING
    m.store.make(item, length if kind in (list, ITERATOR) else ANY_NUMBER)
    return just(item)


def _source(m: Machine, node: Comprehension, index: int) -> tuple[Count, Value]:
    """The source of one `for`: the number of its elements, and the value of each."""
    generator = node.generators[index]
    if generator.is_async:
        m.unknown("uses an asynchronous comprehension", node)
    source = m.evaluate(generator.iter)
    taken = steady_length(m, source)
    each = m.elements(source, generator.iter, ordered=not isinstance(node, ast.SetComp))
    watch(m, source)  # its contents may change while the comprehension runs
    return taken, each


def _generate(m: Machine, node: Comprehension, index: int, item: New, source: tuple[Count, Value]) -> Count:
    """Follow one `for` of a comprehension, and those inside it; return the number of elements."""
    generator = node.generators[index]
    taken, each = source
    names = {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    m.frame.scopes[-1].update({name: (m.frame.key, id(node)) for name in names})
    head = m.store
    inner: Count = ANY_NUMBER
    for turn in range(m.limits.turns):
        if head is None:
            break
        m.store = head.copy()
        m.assign(generator.target, each, generator.iter)
        for test in generator.ifs:
            truth(m, m.evaluate(test), test)
        inner = _inner(m, node, index + 1, item)
        after = meet((head, m.store))
        if after is None or after.same(head):
            break
        head = widened(head, after) if turn else after
    else:
        m.unknown("has a loop that is too complex to analyze", node)
    m.store = head
    if generator.ifs:
        inner = (0, inner[1])
    return taken[0] * inner[0], None if taken[1] is None or inner[1] is None else taken[1] * inner[1]


def _inner(m: Machine, node: Comprehension, index: int, item: New) -> Count:
    if index < len(node.generators):
        return _generate(m, node, index, item, _source(m, node, index))
    _element(m, node, item)
    return 1, 1


def _element(m: Machine, node: Comprehension, item: New) -> None:
    if isinstance(node, ast.DictComp):
        key = m.evaluate(node.key)
        check_keys(m, key, node)
        m.put(item, KEYS, key)
        m.put(item, ELEMENTS, m.evaluate(node.value))
        return
    found = m.evaluate(node.elt)
    m.put(item, ELEMENTS, found)
    copied = copied_of(m, found)
    if isinstance(node, ast.GeneratorExp):
        m.memory.yields(item, copied)
        m.touch()
        suspend(m)
    elif isinstance(node, ast.SetComp):
        check_keys(m, found, node)
