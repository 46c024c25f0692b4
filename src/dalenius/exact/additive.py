"""Privacy of independent additive noise: what every mechanism's profile shares.

A request moves some cells, each by an integer; the loss of the step is the sum of the cells' losses. Where the extreme
moves are listed (`Sensitivity.patterns`) the curve delta(epsilon) is exact; where only norms are known it is bounded by
the pure and the zero-concentrated statements.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product as cartesian
from math import comb, inf, lcm, log1p, prod
from operator import add

import numpy as np

from dalenius import limits
from dalenius.core import conversions
from dalenius.core.evidence import Evidence
from dalenius.core.law import FloatArray, IntegerLaw, WeightTable
from dalenius.core.neighbours import Relation
from dalenius.core.profile import Moves, PrivacyProfile, Shift
from dalenius.core.rationals import exp_upper
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import TooLarge
from dalenius.exact import loss, loss_estimate
from dalenius.exact.wide_sampling import falling

_MOST_MOVES = 64
# An atom of a convolution takes about so many times the work of one that is looked at.
_PER_CONVOLVED = 8
_MOST_SUMS = 1 << 15
# So many combinations of moves of several steps are composed.
_MOST_WORK = 256
# Sums of floats of one sign are nearer to the exact ones than this.
_FLOAT_ERROR = 1e-9
_SURELY = 1 + Fraction(1, 10**8)


def geometric_weights(rate: Fraction, bits: int, limit: int | None = None) -> WeightTable:
    """Weights exp(-rate |x|), on all integers or on |x| <= limit."""
    lower, upper, rest = falling(rate, None if limit is None else limit + 1, bits)
    outside = 0 if limit is not None else rest
    return WeightTable(bits, 1 - len(lower), lower[:0:-1] + lower, upper[:0:-1] + upper, outside, outside)


def moves(sensitivity: Sensitivity) -> tuple[tuple[int, ...], ...]:
    """The listed moves, or the most concentrated one that the norms allow.

    The second attains the largest sum of a cost that is convex in the shift of a cell and zero at zero, and of no
    other: of two cells that could take from each other, the larger gains at least what the smaller loses. For costs of
    another shape there is `worst_sum`.
    """
    if sensitivity.patterns is not None:
        return sensitivity.patterns
    largest = -(-sensitivity.linf // 1)
    if not largest:
        return ((),)
    whole, rest = divmod(-(-sensitivity.l1 // 1), largest)
    return ((largest,) * min(whole, sensitivity.l0) + ((rest,) if rest and whole < sensitivity.l0 else ()),)


def worst_sum(sensitivity: Sensitivity, cost: Callable[[int], Fraction], *, is_concave: bool = False) -> Fraction:
    """The largest sum of cost(s) over the cells that one unit moves, or more; a cost never falls with s and is 0 at 0.

    Where the moves are listed this is the largest sum over the list: every move is dominated by one of it, cell by
    cell.
    Where only norms are known, a move is any s_1, …, s_j with j <= l0, s_i <= linf and s_1 + … + s_j <= l1, all whole.
    - Concave costs: no sum exceeds that of the evenest move. Let k = min(l0, l1). If s_i > s_j + 1, taking one from s_i
      and giving it to s_j does not lower the sum; adding to a cell does not lower it either. So the largest sum is
      reached where all k cells hold floor(l1 / k) or one more, each cut at linf.
    - Any other cost: the largest sum over all moves, by adding one cell at a time; where that is too much work, k times
      the cost at linf, which no sum exceeds.
    """
    if sensitivity.patterns is not None:
        return largest_sum(sensitivity.patterns, cost)
    cells, total, largest = _room(sensitivity)
    if not largest or not cells:
        return Fraction(0)
    if is_concave:
        share, more = divmod(total, cells)
        return (cells - more) * cost(min(share, largest)) + more * cost(min(share + 1, largest))
    if not is_searched(sensitivity):
        return cells * cost(largest)
    return _largest_sum([cost(s) for s in range(largest + 1)], cells, total)


Tallied = tuple[tuple[int, int], ...]


@lru_cache(maxsize=64)
def tallied_moves(moves: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], tuple[Tallied, ...], FloatArray]:
    """Sizes that occur in some moves; each move as sizes with numbers of cells; and the same as a matrix."""
    sizes = tuple(sorted({size for move in moves for size in move}))
    tallied = tuple(tuple(sorted(Counter(move).items())) for move in moves)
    place, counts = {size: i for i, size in enumerate(sizes)}, np.zeros((len(moves), len(sizes)))
    for row, move in enumerate(tallied):
        for size, times in move:
            counts[row, place[size]] = times
    return sizes, tallied, counts


def _costliest(moves: tuple[tuple[int, ...], ...], costs: Mapping[int, float]) -> Sequence[Tallied]:
    """The moves with the largest sum of costs, and those that floats cannot tell from them; costs are not negative."""
    sizes, tallied, counts = tallied_moves(moves)
    with np.errstate(invalid="ignore"):
        sums = counts @ np.array([costs[size] for size in sizes])
    if not np.isfinite(sums).all():
        return tallied
    return [tallied[i] for i in np.flatnonzero(sums >= sums.max(initial=0.0) * (1 - _FLOAT_ERROR))]


def largest_sum(moves: tuple[tuple[int, ...], ...], cost: Callable[[int], Fraction]) -> Fraction:
    """The largest sum of cost(s) over some moves, exactly; costs are not negative."""
    sizes = tallied_moves(moves)[0]
    costs = dict(zip(sizes, map(cost, sizes), strict=True))
    candidates = _costliest(moves, {size: _as_float(one) for size, one in costs.items()})
    sums = (sum((times * costs[size] for size, times in move), Fraction(0)) for move in candidates)
    return max(sums, default=Fraction(0))


def least_product(moves: tuple[tuple[int, ...], ...], part: Callable[[int], Fraction]) -> Fraction:
    """The least product of part(s) over some moves, exactly; parts lie between 0 and 1."""
    parts = {size: part(size) for size in tallied_moves(moves)[0]}
    # What is missing to one keeps its digits however little it is.
    logs = {size: -log1p(-float(1 - one)) if one > _FLOAT_ERROR else inf for size, one in parts.items()}
    candidates = _costliest(moves, logs)
    products = (prod((parts[size] ** times for size, times in move), start=Fraction(1)) for move in candidates)
    return min(products, default=Fraction(1))


def _as_float(cost: Fraction) -> float:
    try:
        return float(cost)
    except OverflowError:
        return inf


def _room(sensitivity: Sensitivity) -> tuple[int, int, int]:
    """How many cells a whole move can touch, by how much together, and each."""
    total = -(-sensitivity.l1 // 1)
    return min(sensitivity.l0, total), total, -(-sensitivity.linf // 1)


def is_searched(sensitivity: Sensitivity) -> bool:
    """Whether `worst_sum` looks at every move; then a cost may also fall with the shift."""
    return sensitivity.patterns is not None or prod(_room(sensitivity)) <= _MOST_SUMS


def _largest_sum(costs: Sequence[Fraction], cells: int, total: int) -> Fraction:
    """The largest sum of `costs` at so many places that add up to no more than the total."""
    # Over one denominator sums and comparisons are those of whole numbers.
    whole = lcm(*(cost.denominator for cost in costs))
    prices = [int(cost * whole) for cost in costs]
    best = [0] * (total + 1)
    for _ in range(cells):
        best = [max(map(add, prices, reversed(best[max(n - len(prices) + 1, 0) : n + 1]))) for n in range(total + 1)]
    return Fraction(best[total], whole)


def nice(x: Fraction) -> Fraction:
    """A nearby rational with a short numerator and denominator; calibration checks it like any other."""
    return x.limit_denominator(10**6) if x >= 1 else 1 / (1 / x).limit_denominator(10**6)


def shifts_of(law: IntegerLaw, sensitivity: Sensitivity) -> Moves:
    """The step as products of shifted noises; empty where the moves are not listed."""
    if sensitivity.patterns is None:
        return ()
    _, tallied, _ = tallied_moves(sensitivity.patterns)
    shifts = {(size, times): Shift(law, size, times) for size, times in {pair for move in tallied for pair in move}}
    return tuple(tuple(shifts[pair] for pair in move) for move in tallied)


def product_delta(products: Moves, epsilon: Fraction) -> Fraction:
    """delta(epsilon) of the worst product, rounded up; raises TooLarge beyond what is enumerated."""
    if not products:
        raise TooLarge("The moves are not listed, so there is no exact curve.")
    return max(d.delta(epsilon) for d in product_losses(products))


def product_losses(products: Moves) -> tuple[loss.LossDistribution, ...]:
    """A loss distribution for each product, and for each choice of signs where the noise is not symmetric."""
    # Each product has a choice of signs at least, so that very many need not be listed.
    signed = [s for p in products[: _MOST_MOVES + 1] for s in _signed(p)]
    if len(signed) > _MOST_MOVES:
        raise TooLarge("The moves are too many for an exact curve.")
    return tuple(_one_product(p) for p in signed)


Tail = Callable[[tuple[Shift, ...], Fraction], Fraction]


def product_tail(products: Moves, epsilon: Fraction, *, is_estimated: bool = False) -> Fraction:
    """P(|loss| > epsilon) of the worst move that one of the products dominates, or more; epsilon is not negative.

    Let T be P(loss > epsilon) of a move. A loss below -epsilon is one above epsilon for the neighbour and exp(-epsilon)
    times as likely at most, so the answer is at most (1 + exp(-epsilon)) T; it is T where no finite loss exceeds
    epsilon, because an output that the neighbour cannot give has no counterpart.

    Unlike delta(epsilon), T need not fall when a cell moves less. For log-concave noise the loss of a cell, log p(x) -
    log p(x - s), is convex in s and 0 at 0: where it exceeds some e >= 0 at a shift, it does so at every larger one.
    Raise one cell's shift to the extreme. Where the other cells lose more than epsilon by themselves, that cell may
    have helped less before; elsewhere it helps only more now. So T is at most T with the cell at its extreme plus T
    without the cell, and, cell by cell, at most the sum of T over all choices of cells at their extremes. One cell, or
    cells that can only move by one, are at an extreme or not moved: the largest T counts.

    With `is_estimated` the same in floats: for searching, never for a statement.
    """
    if not products:
        raise TooLarge("The moves are not listed, so there is no exact curve.")
    for product in products:
        # Before anything is computed: how many moves there are is known.
        if _largest_finite(product) > epsilon and prod(s.times + 1 for s in product) > _MOST_MOVES:
            raise TooLarge("The moves are too many for an exact curve.")
    tail = loss_estimate.tail_of if is_estimated else _one_sided
    return min(Fraction(1), max(_tail_within(product, epsilon, tail) for product in products))


def _tail_within(product: tuple[Shift, ...], epsilon: Fraction, one_sided: Tail) -> Fraction:
    if _largest_finite(product) <= epsilon:
        return one_sided(product, epsilon)
    worst = total = Fraction(0)
    for chosen in cartesian(*(range(s.times + 1) for s in product)):
        part = tuple(Shift(s.law, s.size, n) for s, n in zip(product, chosen, strict=True) if n)
        tail = one_sided(part, epsilon)
        worst = max(worst, tail)
        total += tail * prod(comb(s.times, n) for s, n in zip(product, chosen, strict=True))
    is_extreme = all(s.size == 1 for s in product) or sum(s.times for s in product) == 1
    return (1 + exp_upper(-epsilon)) * (worst if is_extreme else total)


def _one_sided(product: tuple[Shift, ...], epsilon: Fraction) -> Fraction:
    return max(_one_product(p).tail(epsilon) for p in _signed(product))


def _largest_finite(product: tuple[Shift, ...]) -> Fraction | float:
    """A bound of every finite loss, infinite where there is none."""
    total: Fraction | float = Fraction(0)
    for s in product:
        bound = s.law.largest_loss(s.size) if isinstance(s.law, loss.ExponentialLaw) else None
        total += inf if bound is None else s.times * bound
    return total


def _signed(product: tuple[Shift, ...]) -> Iterator[tuple[Shift, ...]]:
    """The product with every choice of signs that can differ in loss."""
    choices: list[list[tuple[Shift, ...]]] = []
    for s in product:
        if loss.is_symmetric(s.law):
            choices.append([(s,)])
            continue
        splits = [(Shift(s.law, s.size, n), Shift(s.law, -s.size, s.times - n)) for n in range(s.times + 1)]
        choices.append([tuple(part for part in split if part.times) for split in splits])
    return (tuple(part for choice in chosen for part in choice) for chosen in cartesian(*choices))


def _one_product(product: tuple[Shift, ...]) -> loss.LossDistribution:
    whole, convolved = _composed(product)
    limits.spend(len(whole.masses) + _PER_CONVOLVED * convolved)
    return whole


@lru_cache(maxsize=64)
def _composed(product: tuple[Shift, ...]) -> tuple[loss.LossDistribution, int]:
    """The loss of the whole, and how many atoms its convolutions had."""
    if not product:
        return loss.of_statement(Fraction(0)), 0
    parts = [loss.of_shift(s.law, s.size).times(s.times) for s in product]
    whole, convolved = parts[0], sum(len(p.masses) for s, p in zip(product, parts, strict=True) if s.times > 1)
    for part in parts[1:]:
        whole = whole.beside(part)
        convolved += len(whole.masses)
    return whole, convolved


def _ranked_delta(
    products: Moves, moves: tuple[tuple[int, ...], ...], cell_rho: Callable[[int], Fraction], epsilon: Fraction
) -> Fraction:
    """`product_delta`, leaving out the products whose rho alone shows that they are not the worst.

    They are looked at by falling rho, as floats tell it: a product that comes later has a rho that is larger by no more
    than their error.
    """
    if not products:
        raise TooLarge("The moves are not listed, so there is no exact curve.")
    sizes, tallied, counts = tallied_moves(moves)
    rhos = {size: cell_rho(size) for size in sizes}
    order = np.argsort(-(counts @ np.array([_as_float(rhos[size]) for size in sizes])), kind="stable")
    worst = Fraction(0)
    for done, i in enumerate(order.tolist()):
        rho = sum((times * rhos[size] for size, times in tallied[i]), Fraction(0))
        if done and conversions.rho_to_delta(rho * _SURELY, epsilon) <= worst:
            break
        if done >= _MOST_MOVES:
            raise TooLarge("The moves are too many for an exact curve.")
        worst = max(worst, product_delta((products[i],), epsilon))
    return worst


def assembled(
    law: IntegerLaw,
    sensitivity: Sensitivity,
    relation: Relation,
    *,
    evidence: Evidence,
    epsilon: Fraction | None = None,
    delta: Fraction = Fraction(0),
    rho: Fraction | None = None,
    cell_rho: Callable[[int], Fraction] | None = None,
    sharpened: Callable[[], tuple[Fraction, Fraction]] | None = None,
) -> PrivacyProfile:
    """A profile from the statements a symmetric, log-concave law makes, with the best curve that is known.

    Log-concave noise loses more at a larger shift, which is why the extreme moves are enough; a symmetric one loses the
    same in both directions, which is why their signs do not matter. Both statements fail with the same delta.
    `cell_rho` gives rho of one moved cell, where rhos add.
    """
    products = shifts_of(law, sensitivity)

    def curve(at: Fraction) -> Fraction:
        if epsilon is not None and at >= epsilon:
            return delta
        bounds = [Fraction(1)]
        if epsilon is not None:
            bounds.append(delta + conversions.pure_to_delta(epsilon, at))
        if rho is not None:
            bounds.append(delta + conversions.rho_to_delta(rho, at))
        with suppress(TooLarge):
            if cell_rho is None or delta or sensitivity.patterns is None:
                bounds.append(product_delta(products, at))
            else:
                bounds.append(_ranked_delta(products, sensitivity.patterns, cell_rho, at))
        return min(bounds)

    def estimate(at: Fraction) -> float | None:
        is_listed = 0 < len(products) <= _MOST_MOVES and loss.is_symmetric(law)
        return loss_estimate.delta_of(products, at) if is_listed else None

    return PrivacyProfile(
        relation=relation,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        rho_delta=delta,
        sharpened=sharpened,
        curve=curve,
        estimate=estimate,
        shifts=products,
        evidence=evidence,
    )


def composed_losses(profiles: Sequence[PrivacyProfile]) -> Iterator[loss.LossDistribution]:
    """The sum of the loss distributions, for every combination of the steps' worst moves.

    Each dominates that of all steps together where a unit moves each of them so. All steps are fixed in advance: their
    parameters must not depend on earlier answers. A step with only (epsilon, delta) enters as the randomised response
    that dominates it; `TooLarge` where a step has neither.
    """
    choices = [_losses(profile) for profile in profiles]
    if prod(map(len, choices)) > _MOST_WORK or len(profiles) > _MOST_WORK:
        raise TooLarge("The combinations of moves are too many for an exact curve.")
    for chosen in cartesian(*choices):
        yield reduce(_beside, chosen)


def _beside(left: loss.LossDistribution, right: loss.LossDistribution) -> loss.LossDistribution:
    whole = left.beside(right)
    limits.spend(_PER_CONVOLVED * len(whole.masses))
    return whole


def _losses(profile: PrivacyProfile) -> tuple[loss.LossDistribution, ...]:
    if profile.shifts:
        return product_losses(profile.shifts)
    if profile.epsilon is None:
        raise TooLarge("A step states no loss distribution.")
    return (loss.of_statement(profile.epsilon, profile.delta),)
