"""Privacy of independent additive noise: what every mechanism's profile shares.

A request moves some cells, each by an integer; the loss of the step is the sum of the cells' losses. Where the extreme
moves are listed (`Sensitivity.patterns`) the curve delta(epsilon) is exact; where only norms are known it is bounded by
the pure and the zero-concentrated statements.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product as cartesian

from dalenius.core import conversions
from dalenius.core.evidence import Evidence
from dalenius.core.law import IntegerLaw, WeightTable
from dalenius.core.neighbours import Relation
from dalenius.core.profile import PrivacyProfile, Shift
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import TooLarge
from dalenius.exact import loss
from dalenius.exact.wide_sampling import falling

_MOST_MOVES = 64


def geometric_weights(rate: Fraction, bits: int, limit: int | None = None) -> WeightTable:
    """Weights exp(-rate |x|), on all integers or on |x| <= limit."""
    lower, upper, rest = falling(rate, None if limit is None else limit + 1, bits)
    outside = 0 if limit is not None else rest
    return WeightTable(bits, 1 - len(lower), lower[:0:-1] + lower, upper[:0:-1] + upper, outside, outside)


def moves(sensitivity: Sensitivity) -> tuple[tuple[int, ...], ...]:
    """The listed moves, or the extreme one that the norms allow.

    The second is right for losses that grow convexly with the shift of a cell, from nothing at zero.
    """
    if sensitivity.patterns is not None:
        return sensitivity.patterns
    largest = -(-sensitivity.linf // 1)
    if not largest:
        return ((),)
    whole, rest = divmod(-(-sensitivity.l1 // 1), largest)
    return ((largest,) * min(whole, sensitivity.l0) + ((rest,) if rest and whole < sensitivity.l0 else ()),)


def nice(x: Fraction) -> Fraction:
    """A nearby rational with a short numerator and denominator; calibration checks it like any other."""
    return x.limit_denominator(10**6) if x >= 1 else 1 / (1 / x).limit_denominator(10**6)


def shifts_of(law: IntegerLaw, sensitivity: Sensitivity) -> tuple[tuple[Shift, ...], ...]:
    """The step as products of shifted noises; empty where the moves are not listed."""
    if sensitivity.patterns is None:
        return ()
    return tuple(
        tuple(Shift(law, size, times) for size, times in sorted(Counter(p).items()))
        for p in sensitivity.patterns
    )


def product_delta(products: tuple[tuple[Shift, ...], ...], epsilon: Fraction) -> Fraction:
    """delta(epsilon) of the worst product, rounded up; raises TooLarge beyond what is enumerated."""
    if not products:
        raise TooLarge("The moves are not listed, so there is no exact curve.")
    return max(d.delta(epsilon) for d in product_losses(products))


def product_losses(products: tuple[tuple[Shift, ...], ...]) -> tuple[loss.LossDistribution, ...]:
    """A loss distribution for each product, and for each choice of signs where the noise is not symmetric."""
    signed = [s for p in products for s in _signed(p)]
    if len(signed) > _MOST_MOVES:
        raise TooLarge("The moves are too many for an exact curve.")
    return tuple(_one_product(p) for p in signed)


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


@lru_cache(maxsize=64)
def _one_product(product: tuple[Shift, ...]) -> loss.LossDistribution:
    if not product:
        return loss.of_statement(Fraction(0))
    parts = [loss.of_shift(s.law, s.size).times(s.times) for s in product]
    return reduce(loss.LossDistribution.beside, parts)


def _ranked(
    products: tuple[tuple[Shift, ...], ...], cell_rho: Callable[[int], Fraction]
) -> list[tuple[Fraction, tuple[Shift, ...]]]:
    """The products with their rhos, the largest first."""
    rated = [(sum((s.times * cell_rho(s.size) for s in p), Fraction(0)), p) for p in products]
    return sorted(rated, key=lambda pair: pair[0], reverse=True)


def _ranked_delta(ranked: list[tuple[Fraction, tuple[Shift, ...]]], epsilon: Fraction) -> Fraction:
    """`product_delta`, leaving out the products whose rho alone shows that they are not the worst."""
    if not ranked:
        raise TooLarge("The moves are not listed, so there is no exact curve.")
    worst = Fraction(0)
    for done, (rho, product) in enumerate(ranked):
        if done and conversions.rho_to_delta(rho, epsilon) <= worst:
            break
        if done >= _MOST_MOVES:
            raise TooLarge("The moves are too many for an exact curve.")
        worst = max(worst, product_delta((product,), epsilon))
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
    rho_delta: Fraction = Fraction(0),
    cell_rho: Callable[[int], Fraction] | None = None,
) -> PrivacyProfile:
    """A profile from the statements a symmetric, log-concave law makes, with the best curve that is known.

    Log-concave noise loses more at a larger shift, which is why the extreme moves are enough; a symmetric one loses the same
    in both directions, which is why their signs do not matter. `cell_rho` gives rho of one moved cell, where rhos add.
    """
    products = shifts_of(law, sensitivity)
    ranked = _ranked(products, cell_rho) if cell_rho is not None and not rho_delta else None

    def curve(at: Fraction) -> Fraction:
        if epsilon is not None and at >= epsilon:
            return delta
        bounds = [Fraction(1)]
        if epsilon is not None:
            bounds.append(delta + conversions.pure_to_delta(epsilon, at))
        if rho is not None:
            bounds.append(rho_delta + conversions.rho_to_delta(rho, at))
        with suppress(TooLarge):
            bounds.append(product_delta(products, at) if ranked is None else _ranked_delta(ranked, at))
        return min(bounds)

    def renyi(order: Fraction) -> Fraction:
        bounds = [order * rho] if rho is not None else []
        with suppress(TooLarge):
            bounds.append(max(d.renyi(order) for d in product_losses(products)))
        return min(bounds)

    is_pure = epsilon is not None and not delta
    return PrivacyProfile(
        relation=relation,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        rho_delta=rho_delta,
        curve=curve,
        renyi_curve=renyi if is_pure and rho is not None and products else None,
        shifts=products,
        evidence=evidence,
    )
