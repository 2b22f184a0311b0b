"""`match`: the patterns of a case, and what their names stand for."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from thalweg.analysis.program import outside
from thalweg.analysis.program.expressions import Expressions
from thalweg.analysis.program.store import Store, meet
from thalweg.analysis.program.tables import is_built_in
from thalweg.analysis.program.values import UNKNOWN, Anything, Item, Known, Value, join, only

_SEQUENCE, _MAPPING = 1 << 5, 1 << 6  # flags of types: Py_TPFLAGS_SEQUENCE, Py_TPFLAGS_MAPPING


class Patterns(Expressions):
    """Follows `match` statements."""

    def match(self, node: ast.Match) -> None:
        subject = self.expr(node.subject)
        ends: list[Store | None] = []
        for case in node.cases:
            before = self.store
            if before is None:
                break
            self.store = before.copy()
            self._pattern(case.pattern, subject, node)
            always = case.guard is None and _always(case.pattern)
            if case.guard is not None:
                self.truth(self.expr(case.guard), case.guard)
            missed = None if always else meet((before, self.store))
            self.run_body(case.body)
            ends.append(self.store)
            self.store = missed
        self.store = meet((*ends, self.store))

    def _pattern(self, pattern: ast.pattern, subject: Value, node: ast.AST) -> None:
        match pattern:
            case ast.MatchValue(value=value):
                self.compare(ast.Eq(), subject, self.expr(value), node)
            case ast.MatchSingleton():
                return
            case ast.MatchAs(pattern=inner, name=name):
                if inner is not None:
                    self._pattern(inner, subject, node)
                if name is not None:
                    self.assign_name(name, subject, node)
            case ast.MatchOr(patterns=patterns):
                self._either(patterns, subject, node)
            case ast.MatchSequence(patterns=patterns):
                subject = self._taken_apart(subject, _SEQUENCE, node)
                self._each(patterns, self.elements(subject, node), node)
            case ast.MatchStar(name=name):
                if name is not None:
                    self.assign_name(name, self.made(list, node, subject, tag=f"star {name}"), node)
            case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
                subject = self._taken_apart(subject, _MAPPING, node)
                held = join(self.contents(item) for item in subject)
                for key in keys:
                    self.expr(key)
                self._each(patterns, held, node)
                if rest is not None:
                    keys_of = join(self.keys(item) for item in subject)
                    self.assign_name(rest, self.made(dict, node, held, tag=rest, keys=keys_of), node)
            case ast.MatchClass():
                self._class(pattern, subject, node)

    def _taken_apart(self, subject: Value, flag: int, node: ast.AST) -> Value:
        """Python asks what says that it is a sequence, or a mapping, for its length and its items; what does not say so
        is not touched. Gives what is not objects with code of their own."""
        left: set[Item] = set()
        for item in subject:
            own = [cls for cls in self.classes_of(item) if cls.__flags__ & flag and not is_built_in(cls)]
            if isinstance(item, Anything) or (own and not all(map(outside.is_named_tuple, own))):
                shown = own[0].__name__ if own else "something that cannot be read"
                self.unknown(f"a pattern asks {shown} for its items", node, frozenset((item,)))
                continue
            if isinstance(item, Known):
                self.place(item, node)
            left.add(item)
        return frozenset(left) if len(left) == len(subject) else frozenset(left) | UNKNOWN

    def _each(self, patterns: Sequence[ast.pattern], subject: Value, node: ast.AST) -> None:
        for pattern in patterns:
            self._pattern(pattern, subject, node)

    def _either(self, patterns: Sequence[ast.pattern], subject: Value, node: ast.AST) -> None:
        """One of them matched; those before it were tried."""
        ends: list[Store | None] = []
        for pattern in patterns:
            before = self.store
            if before is None:
                break
            self.store = before.copy()
            self._pattern(pattern, subject, node)
            ends.append(self.store)
            self.store = meet((before, self.store))
        self.store = meet(ends)

    def _class(self, pattern: ast.MatchClass, subject: Value, node: ast.AST) -> None:
        cls = only(self.expr(pattern.cls))
        names = getattr(cls.value, "__match_args__", ()) if isinstance(cls, Known) else ()
        for index, inner in enumerate(pattern.patterns):
            if index < len(names):
                self._pattern(inner, self.get_attribute(subject, names[index], node), node)
            else:
                self._pattern(inner, subject, node)  # `str(x)`: the whole
        for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
            self._pattern(inner, self.get_attribute(subject, name, node), node)


def _always(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _always(pattern.pattern))
