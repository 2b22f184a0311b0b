"""Random small functions over captured objects, locals, aliases, branches, loops, closures and generators."""

from __future__ import annotations

import linecache
from random import Random
from typing import Any

OUTSIDE = """
import collections
import functools
import itertools

@functools.lru_cache
def counter():
    return itertools.count()

class Managed:
    def __init__(self, target):
        self.target = target
    def __enter__(self):
        return len(self.target)
    def __exit__(self, kind, error, where):
        self.target.append(1 if kind is None else 2)

def giving(target):
    yield {"k": "given", "a": 0}
    return target

class Held:
    shared = []
    def __init__(self):
        self.items = [1]
        self.n = 0
    def keep(self, value):
        self.items.append(value)
        return self.items
    def look(self):
        return self.items

def push(target, value):
    target.append(value)
    return target

def same(value):
    return value

def opts_of(t):
    found = {}
    if t.a > 1:
        found["k"] = [t.b]
    return found

def either(a, b):
    return a or b

def copied(value):
    return list(value)

def each(values):
    for value in values:
        yield value

def lazy_push(target, value):
    yield len(target)
    target.append(value)
    yield len(target)

def call(function, value):
    return function(value)

G_LIST = [1, 2]
G_DICT = {"a": [3], "n": 1}
G_HELD = Held()
G_TUPLE = (1, 2, 3)
G_NUMBER = 5
"""


class Writer:
    """Writes one function. Variables: i* are numbers, l* lists of numbers, b* lists of lists, d* dicts of lists."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.lines: list[str] = []
        self.depth = 0
        self.generator = self.chance.random() < 0.4
        self.inner = 0
        self.risky = self.chance.random()  # how often things from outside are touched

    def pick(self, *options: str) -> str:
        return self.chance.choice(options)

    def outside(self) -> bool:
        return self.chance.random() < self.risky * 0.5

    def number(self, deep: int = 0) -> str:
        options = [
            "t.a",
            "t.b",
            "i0",
            "i1",
            "1",
            "2",
            f"len({self.a_list()})",
            "G_NUMBER",
            "G_DICT['n']",
            "len(G_TUPLE)",
        ]
        if deep < 2:
            options += [f"({self.number(deep + 1)} + {self.number(deep + 1)})", f"sum({self.a_list()})"]
            options += [f"next(iter({self.a_list()}), 0)", f"max({self.a_list()}, default=0)"]
            options += [f"(i1 := {self.number(deep + 1)})", f"call(lambda v: v + {self.number(deep + 1)}, t.a)"]
            options += [f"sum(v for v in {self.a_list()} if v > {self.number(deep + 1)})"]
            options += [f"len(list(filter(lambda v: {self.a_list(2)}.append(v), {self.a_list(2)}[:3])))"]
            options += [f"functools.reduce(lambda a, v: {self.a_list(2)}.append(v) or a, {self.a_list(2)}[:3], 0)"]
        if self.outside():
            options += ["G_HELD.n", "next(lazy_push(l0, t.a))", "len(list(lazy_push(l1, 1)))", "next(counter())"]
        return self.chance.choice(options)

    def a_list(self, deep: int = 0) -> str:
        options = ["l0", "l1", "l2", "b0[0]", "d0['k']", "d0.get('k', l1)"]
        if deep < 2:
            options += [f"same({self.a_list(deep + 1)})", f"copied({self.a_list(deep + 1)})"]
            options += [f"either({self.a_list(deep + 1)}, {self.a_list(deep + 1)})"]
            options += [f"({self.a_list(deep + 1)} if t.a > 1 else {self.a_list(deep + 1)})"]
            options += [f"[v for v in {self.a_list(deep + 1)}]", f"{self.a_list(deep + 1)}[:2]", "[t.a, t.b]", "[]"]
            options += [
                f"list(each({self.a_list(deep + 1)}))",
                f"({self.a_list(deep + 1)} + [1])",
                "h.look()",
                "h.items",
            ]
            options += [f"sorted({self.a_list(deep + 1)})", f"list(map(abs, {self.a_list(deep + 1)}))"]
            inner = self.a_list(deep + 1)
            options += [
                f"dict.fromkeys((1,), {inner})[1]",
                f"[{inner}][slice(0, 1)][0]",
                f"(lambda: {inner}).__call__()",
            ]
            options += [
                f"collections.defaultdict(lambda: {inner}).copy()['x']",
                f"max([{inner}], key=len)",
                "list(late)",
            ]
        if self.outside():
            options += ["G_LIST", "G_DICT['a']", "G_HELD.items", "G_HELD.look()", "given", "captured", "h.shared"]
        return self.chance.choice(options)

    def statement(self) -> None:
        self.depth += 1
        kinds = [self.assign, self.assign, self.mutate, self.mutate, self.emit]
        if self.depth < 3:
            kinds += [self.branch, self.loop, self.attempt, self.closure, self.bounded_while, self.managed]
        self.chance.choice(kinds)()
        self.depth -= 1

    def write(self, line: str) -> None:
        self.lines.append("    " * (self.indent + 1) + line)

    indent = 0

    def block(self) -> None:
        self.indent += 1
        for _ in range(self.chance.randint(1, 2)):
            self.statement()
        self.indent -= 1

    def assign(self) -> None:
        target = self.pick("i0", "i1", "l0", "l1", "l2", "b0", "d0['k']", "l0, l1", "h")
        value = {
            "i": self.number(),
            "l": self.a_list(),
            "b": f"[{self.a_list()}, []]",
            "d": self.a_list(),
            "h": self.pick("Held()", "h", "G_HELD") if self.outside() else "Held()",
        }[target[0]]
        if "," in target:
            value = f"{self.a_list()}, {self.a_list()}"
        self.write(f"{target} = {value}")

    def mutate(self) -> None:
        target = self.a_list()
        self.write(
            self.pick(
                f"{target}.append({self.number()})",
                f"push({target}, {self.number()})",
                f"{target}.extend({self.a_list()})",
                f"{target}.sort()",
                f"{target}.clear()",
                f"l0 += {self.a_list()}",
                f"b0.append({self.a_list()})",
                f"h.keep({self.number()})",
                f"h.items = {self.a_list()}",
                f"d0.setdefault('z', {self.a_list()}).append(1)",
                f"d0.update(k={self.a_list()})",
                f"i0 += {self.number()}",
                f"[push({target}, v) for v in (1, 2)]",
                f"any(map(lambda v: {target}.append(v), {self.a_list()}[:3]))",
                f"sorted({self.a_list()}[:3], key=lambda v: {target}.append(v) or v)",
                f"late = (v for v in {target})",
                f"late = each({target})",
                f"late = map(lambda v: {target}.append(v) or v, {self.a_list()}[:3])",
                self.pick("opts['k'] = 'x'", "opts['k'] = t.k", "opts['a'] = t.b", "opts.update((('k', 'y'),))"),
                f"d0 = {{'k': {target}, **opts_of(t)}}",
                f"list(lazy_push({target}, 1))" if self.outside() else "pass",
                f"G_HELD.n = {self.number()}" if self.outside() else "pass",
                "(lambda *a: a[1].append(1))(l0, l1)",
            )
        )

    def emit(self) -> None:
        value = self.pick(
            f"{{'k': t.k, 'a': {self.number()}}}",
            "{'k': t.k, 'a': t.a}",
            "made",
            "t",
            "dict(k=t.k, a=i0)",
            "{**made, 'a': t.b}",
            "{**made, **opts}",
        )
        if value == "made" and self.chance.random() < 0.5:
            self.write(
                self.pick("made['a'] = t.a", "made['k'] = 'x'", "made = {'k': t.k, 'a': t.b}", "made.update(a=i1)")
            )
        if self.generator:
            if self.chance.random() < 0.2:
                self.write(
                    self.pick(
                        f"yield from [{value}] * 1",
                        f"yield from each([{value}, made])",
                        f"l1 = yield from giving({self.a_list()})",
                    )
                )
            else:
                self.write(f"yield {value}")
        else:
            self.write(
                self.pick(
                    f"out.append({value})",
                    f"out += [{value}]",
                    "out.pop() if out else None",
                    f"out.insert(0, {value})",
                    f"list(map(out.append, [{value}] * len({self.a_list()}[:2])))",
                    "sorted((1, 2), key=lambda v: out.append(made) or v)",
                )
            )
        if self.chance.random() < 0.1:
            self.write("return" if self.generator else "return out")

    def branch(self) -> None:
        middle = self.pick("", f"t.a < {self.number()} > ", f"0 < t.b < len(push({self.a_list()}, 1)) > ")
        self.write(f"if {middle or self.number() + ' > '}{self.number()}:")
        self.block()
        if self.chance.random() < 0.6:
            self.write("else:")
            self.block()

    def loop(self) -> None:
        self.write(f"for i1 in {self.pick('(1, 2)', 'copied(' + self.a_list() + ')[:3]', 'range(2)')}:")
        self.block()
        if self.chance.random() < 0.4:
            self.indent += 1
            self.write(f"if i1 > {self.number()}:")
            self.indent += 1
            self.write(self.pick("break", "continue"))
            self.indent -= 2
        if self.chance.random() < 0.2:
            self.write("else:")
            self.block()

    def bounded_while(self) -> None:
        self.write("n = 3")
        self.write("while n > 0:")
        self.indent += 1
        self.write("n -= 1")
        self.indent -= 1
        self.block()

    def managed(self) -> None:
        self.write(f"with Managed({self.a_list()}) as i0:")
        self.block()

    def attempt(self) -> None:
        self.write("try:")
        self.block()
        if self.chance.random() < 0.5:
            self.indent += 1
            self.write(f"{self.number()} // (t.b - 1)")
            self.indent -= 1
        if self.chance.random() < 0.7:
            self.write("except (ZeroDivisionError, IndexError, KeyError, TypeError):")
            self.block()
        else:
            self.write("finally:")
            self.block()
            return
        if self.chance.random() < 0.4:
            self.write("finally:")
            self.block()

    def closure(self) -> None:
        self.inner += 1
        name = f"f{self.inner}"
        target = self.pick("l0", "l1", self.a_list())
        self.write(f"def {name}(value, kept={self.a_list()}):")
        self.indent += 1
        if self.chance.random() < 0.5:
            self.write("nonlocal i0")
            self.write("i0 = value")
        self.write(self.pick(f"{target}.append(value)", "kept.append(value)", "pass"))
        self.write(f"return {self.a_list()}")
        self.indent -= 1
        if self.chance.random() < 0.5:
            self.write(f"l1 = {self.a_list()}")
        self.write(f"l2 = {name}({self.number()})")

    def source(self) -> str:
        for _ in range(self.chance.randint(2, 6)):
            self.statement()
        start = [
            "i0, i1, opts, late = 0, 1, {}, iter(())",
            "l0, l1, l2 = [], [t.a], [1, 2]",
            "b0 = [[1], l0]",
            "d0 = {'k': [t.b], 'z': l1}",
        ]
        start += ["h = Held()", "made = {'k': t.k, 'a': t.a}", "out = []"]
        if not self.generator:
            self.lines.append("    return out")
        elif not any("yield" in line for line in self.lines):
            self.lines.append("    yield made")
        body = "\n".join([f"    {line}" for line in start] + self.lines)
        inside = "\n".join(f"    {line}" for line in f"def function(t, given=[4]):\n{body}".splitlines())
        return f"{OUTSIDE}\ndef make():\n    captured = [7]\n{inside}\n    return function, captured\n"


def compiled(source: str, seed: int) -> dict[str, Any]:
    """The module of a source text that can be found again by its lines."""
    name = f"<random code {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    module: dict[str, Any] = {"__name__": "random_code"}
    exec(compile(source, name, "exec"), module)
    return module
