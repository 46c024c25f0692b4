"""Bootstrap sensitivity of any Python function of a data set: proved where it can be enumerated, bracketed otherwise.

For the custodian's own functions, in the custodian's own process: the function sees confidential rows, so nothing it
prints, raises or takes in time may reach anybody else. What was found by search is for the report; noise may be
scaled to `proved` only, and `noise_bound` refuses where nothing was proved.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from operator import itemgetter
from random import Random
from typing import Any

from dalenius.audit.sensitivity import Data, distance, local, multisets
from dalenius.core.neighbours import Relation
from dalenius.errors import ParameterError, Unsupported

ENUMERATE_UP_TO = 1_000_000

Function = Callable[[Data], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """The sensitivity lies in [found, proved]; `proved` is None if no upper bound is known."""

    found: Fraction
    proved: Fraction | None
    is_exact: bool
    evaluations: int

    @property
    def noise_bound(self) -> Fraction:
        if self.proved is None:
            raise Unsupported("Only a lower bound was found by search; noise needs a proved upper bound.")
        return self.proved


def work(rows: int, distinct: int) -> int:
    """Number of evaluations of a full enumeration: multisets of n of d rows, times their neighbours."""
    return comb(rows + distinct - 1, rows) * max(rows * distinct, 1)


def bootstrap_sensitivity(
    function: Function, data: Sequence[Any], *, upper: Fraction | int | None = None, restarts: int = 50
) -> Bracket:
    """Largest l1 change of the function when one row is replaced by another of the rows at hand.

    `upper`: a bound proved elsewhere, for example the global sensitivity on the hull of the data. It is trusted for
    `proved`, and a search that exceeds it refutes it with an error.
    """
    rows = tuple(sorted(data))
    distinct = tuple(sorted(set(rows)))
    if not rows:
        raise ParameterError("The bootstrap sensitivity of an empty data set is not defined.")
    total = work(len(rows), len(distinct))
    if total <= ENUMERATE_UP_TO:
        best = max(local(function, one, distinct, Relation.REPLACE) for one in multisets(distinct, len(rows)))
        return Bracket(found=best, proved=best, is_exact=True, evaluations=total)
    found, used = _search(function, rows, distinct, restarts)
    bound = None if upper is None else Fraction(upper)
    if bound is not None and found > bound:
        raise ParameterError("The stated upper bound is wrong: the search found a larger change.", name="upper")
    return Bracket(found=found, proved=bound, is_exact=bound is not None and found == bound, evaluations=used)


def _starts(rows: Data, distinct: Data, random: Random, count: int) -> Iterator[Data]:
    """The data themselves, constant data sets, two-point mixtures with all mixing counts, then random ones."""
    n = len(rows)
    yield rows
    ends = (distinct[0], distinct[-1])
    for m in range(n + 1):
        yield tuple(sorted((*[ends[0]] * m, *[ends[1]] * (n - m))))
    for _ in range(count):
        a, b = random.choice(distinct), random.choice(distinct)
        m = random.randint(0, n)
        yield tuple(sorted((*[a] * m, *[b] * (n - m))))


def _search(function: Function, rows: Data, distinct: Data, restarts: int) -> tuple[Fraction, int]:
    """Local search over pairs: from each start, single replacements while the best pair improves."""
    random, best, used = Random(1), Fraction(0), 0
    for start in _starts(rows, distinct, random, restarts):
        current, reached = start, Fraction(-1)
        for _ in range(20):
            here = function(current)
            near = _moves(current, distinct, random, 400)
            scored = [(distance(function(d), here), d) for d in near]
            used += len(scored) + 1
            if not scored:
                break
            top, other = max(scored, key=itemgetter(0))
            best = max(best, top)
            if top <= reached:
                break
            reached, current = top, other
    return best, used


def _moves(current: Data, distinct: Data, random: Random, most: int) -> list[Data]:
    """Neighbours by value rather than by position; a random choice of them where there are many."""
    pairs = [(out, new) for out in sorted(set(current)) for new in distinct if out != new]
    chosen = pairs if len(pairs) <= most else random.sample(pairs, most)
    places = ((current.index(out), new) for out, new in chosen)
    return [tuple(sorted((*current[:place], new, *current[place + 1 :]))) for place, new in places]
