"""The kit that every statistic must pass: all tiny data sets beside all their neighbours, against what it declares.

The global sensitivity is checked under both relations, for rows and for persons with two rows, in every norm and
pattern that is stated; the sensitivities at the data and within the data wherever a statistic states them.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from dalenius.audit import sensitivity as brute
from dalenius.audit.sensitivity import DataSet, RawRow, columns_of, covers, units
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import SizesQuery, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.curator.gate import fetched
from dalenius.engines.memory import MemorySource
from dalenius.errors import Unsupported
from dalenius.statistics import Example
from dalenius.testing.toy import kit_domain

MOST_ROWS = 4
ALL_NEIGHBOURS = tuple(
    Neighbours(relation=relation, unit=unit, max_rows=rows)
    for relation in Relation
    for unit, rows in (("row", 1), ("person", 2))
)
Shifts = tuple[int, ...]
Answers = dict[str, dict[DataSet, tuple[int, ...]]]


def check(statistic: Any) -> int:
    """Every example of a statistic; returns how many sensitivities were compared."""
    stated = tuple(statistic.examples()) if hasattr(statistic, "examples") else ()
    assert stated, f"{statistic.__name__} states no examples"
    compared = 0
    for example in stated:
        assert isinstance(example.statistic, statistic), "an example is of another statistic"
        answers: Answers = {}
        compared += sum(check_global(example, neighbours, answers) for neighbours in ALL_NEIGHBOURS)
        for relation in Relation:
            compared += check_local(example, Neighbours(relation=relation))
    assert compared, f"{statistic.__name__} refuses all of its examples"
    return compared


def check_global(example: Example, neighbours: Neighbours, answers: Answers) -> bool:
    """Whether a sensitivity is declared for these neighbours; if so, it is at least what brute force finds.

    `answers` keeps exact answers from one relation to the other.
    """
    try:
        declared = example.statistic.sensitivity(neighbours)
    except Unsupported:
        return False
    moves = set(_moves(example, neighbours, answers.setdefault(neighbours.unit, {})))
    measured = Sensitivity.of_patterns(tuple(moves))
    assert covers(declared, measured), (example.statistic, neighbours, declared, measured)
    if declared.patterns is not None:
        for move in moves:
            assert any(_dominates(pattern, move) for pattern in declared.patterns), (move, declared)
    if example.is_tight:
        assert declared.l1 == measured.l1, (example.statistic, neighbours, declared, measured)
    return True


def _dominates(pattern: Shifts, move: Shifts) -> bool:
    """Cell by cell after relabelling: both are sorted, the largest first."""
    return len(pattern) >= len(move) and all(p >= m for p, m in zip(pattern, move, strict=False))


def _moves(example: Example, neighbours: Neighbours, answers: dict[DataSet, tuple[int, ...]]) -> Iterator[Shifts]:
    """How the released integers move between all tiny neighbours: absolute shifts, the largest first."""
    answer = _answer(example, neighbours)
    for pair in small_pairs(example.rows, neighbours, example.size):
        for data in pair:
            if data not in answers:
                answers[data] = answer(data)
        here, there = (answers[data] for data in pair)
        yield tuple(sorted((abs(a - b) for a, b in zip(here, there, strict=True) if a != b), reverse=True))


def _answer(example: Example, neighbours: Neighbours) -> Callable[[DataSet], tuple[int, ...]]:
    """What is released of a data set; what a statistic combines of an engine's tables must be what its example says."""
    statistic: Any = example.statistic
    domain = kit_domain(example.variables, neighbours)
    names = list(domain.variables)

    def ask(data: DataSet) -> tuple[int, ...]:
        source = MemorySource(domain, columns_of(data, names, domain.unit_id), b"a secret of the kit")
        needs = getattr(statistic, "needs", (statistic.query,))
        exact = [fetched(source, need).open_below_the_gate() for need in needs]
        answer = statistic.combine(exact) if hasattr(statistic, "combine") else exact[0]
        return tuple(int(v) for v in answer)

    definition = example.released
    if definition is None:
        assert isinstance(statistic.query, TableQuery | SizesQuery), "a statistic of values must say what is released"
        return ask

    def released(data: DataSet) -> tuple[int, ...]:
        stated = tuple(int(v) for v in definition([row for unit in data for row in unit]))
        if hasattr(statistic, "combine") or not hasattr(statistic, "value"):
            assert ask(data) == stated, (statistic, data, ask(data), stated)
        return stated

    return released


def small_pairs(
    kinds: Sequence[RawRow], neighbours: Neighbours, size: int | None = None
) -> Iterator[tuple[DataSet, DataSet]]:
    """Every pair of neighbours of at most four rows; of the public number of rows where there is one."""
    everyone = units(kinds, neighbours.max_rows)

    def fits(data: DataSet) -> bool:
        rows = sum(map(len, data))
        return rows <= MOST_ROWS and size in (None, rows)

    every = (others for size in range(MOST_ROWS) for others in combinations_with_replacement(everyone, size))
    for others in (others for others in every if sum(map(len, others)) < MOST_ROWS):
        if not neighbours.is_replace:
            candidates = ((others, (*others, unit)) for unit in everyone)
        else:
            both = combinations_with_replacement(everyone, 2)
            candidates = (((*others, a), (*others, b)) for a, b in both if a != b)
        yield from (pair for pair in candidates if fits(pair[0]) and fits(pair[1]))


def check_local(example: Example, neighbours: Neighbours) -> int:
    """Raise where a stated local or bootstrap sensitivity is below that of a tiny data set."""
    statistic: Any = example.statistic
    stated = [name for name in ("local", "bootstrap") if hasattr(statistic, name)]
    if example.arguments is None:
        assert not stated or _refuses_all(statistic, stated), "say of what `local` is taken"
        return 0
    compared = 0
    places = {row: place for place, row in enumerate(example.rows)}
    sizes = range(MOST_ROWS) if example.size is None else (example.size,)
    for size in sizes:
        for data in brute.multisets(range(len(places)), size):
            compared += _compare(example, data, neighbours, stated)
    return compared


def _refuses_all(statistic: Any, stated: list[str]) -> bool:
    for name in stated:
        try:
            getattr(statistic, name)((), Neighbours())
        except Unsupported:
            continue
        return False
    return True


def _compare(example: Example, data: tuple[int, ...], neighbours: Neighbours, stated: list[str]) -> int:
    statistic: Any = example.statistic
    arguments = _arguments(example, data)
    if arguments is None:
        return 0
    compared = 0
    reach = {"local": range(len(example.rows)), "bootstrap": sorted(set(data))}
    for name in stated:
        try:
            declared = getattr(statistic, name)(*arguments, neighbours)
        except Unsupported:
            continue
        starts = [data] if name == "local" else list(brute.multisets(reach[name], len(data)))
        measured = max((_largest(example, start, reach[name], neighbours) for start in starts), default=Fraction(0))
        assert declared >= measured, (statistic, name, neighbours, data, declared, measured)
        compared += 1
    return compared


def _arguments(example: Example, data: tuple[int, ...]) -> tuple[Any, ...] | None:
    assert example.arguments is not None
    return example.arguments([example.rows[place] for place in data])


def _largest(example: Example, data: tuple[int, ...], reach: Any, neighbours: Neighbours) -> Fraction:
    """Largest l1 change of the value from one data set to its neighbours made of the given rows."""
    here = _value(example, data)
    others = (_value(example, other) for other in brute.neighbours_of(data, reach, neighbours.relation))
    return max(
        (brute.distance(here, there) for there in others if here is not None and there is not None), default=Fraction(0)
    )


def _value(example: Example, data: tuple[int, ...]) -> Any:
    arguments = _arguments(example, data)
    statistic: Any = example.statistic
    return None if arguments is None else statistic.value(*arguments)
