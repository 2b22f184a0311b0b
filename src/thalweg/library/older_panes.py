"""Panes of windows in event time that an older version stored: without numbers in order of arrival, without zones."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from thalweg.library.fold_spec import Element, Monoid, WholeWindow, WindowBound
from thalweg.library.folds import FOLDS
from thalweg.library.window_aggregate import Pane


def upgraded(pane: Pane, config: Any, number: int) -> Pane:
    """The pane in today's form. All its tuples get the same number: older versions took tuples pane by pane."""
    if pane.elements is None:
        return pane
    shares = config.window.shares_panes
    elements, lists = iter(pane.elements), iter(pane.lists)
    new_elements, new_lists = list[Element](), list[list[Any]]()
    for fold in config.folds:
        spec = FOLDS[fold.kind]
        match spec.scalar, spec.by_arrival if shares else None:
            case WindowBound() as bound, by_arrival:
                next(lists)  # a None for each tuple
                chosen = by_arrival if isinstance(by_arrival, Monoid) else bound
                new_elements.append(chosen.start((number, None) if shares else None))
            case WholeWindow(), _:
                new_lists.append(next(lists))
            case Monoid(), Monoid() as by_arrival:
                new_elements.append(by_arrival.start((number, next(elements))))
            case Monoid(), None:
                new_elements.append(next(elements))
            case _:
                raise NotImplementedError(f"agg.{fold.kind} now needs all values of the window, which were not stored")
    new_lists += lists  # the tuples themselves, for functions of windows
    if shares and new_lists:
        new_lists.append(list(repeat(number, len(new_lists[0]))))
    made = Pane()
    made.elements, made.lists = tuple(new_elements), tuple(new_lists)
    return made
