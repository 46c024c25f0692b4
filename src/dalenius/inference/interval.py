"""Confidence intervals for one released count, of two kinds that are never mixed.

population count   the exact count in the file; uncertainty is the privacy noise alone
model parameter    the Poisson or binomial parameter behind the count; noise and sampling together

Both cover at least `confidence`; guarded and mid-p intervals, which are shorter, are approximate
(docs/reference/inference/intervals.md; `verify/inference_coverage.py` measures them).
"""

from collections.abc import Callable, Iterable

import numpy as np
from scipy.special import bdtr, gammaincc, ndtri

from dalenius.core.estimate import Interval, Kind
from dalenius.core.law import Additive, FloatArray, IntArray
from dalenius.errors import ParameterError
from dalenius.inference.noise import Noise

# How much of the probability of the observed value counts as extreme.
SHARES = {"exact": 1.0, "guarded": 0.75, "mid-p": 0.5}
NOISE_LAW = "quantiles of the published noise law"
KINDS = {"population": Kind.NOISE, "parameter": Kind.NOISE_AND_SAMPLING}
_LEAST_ERROR, _HALVINGS = 1e-9, 12


def as_noise(law: Additive | Noise) -> Noise:
    return law if isinstance(law, Noise) else Noise.of(law)


def checked(confidence: float, method: str = "exact") -> float:
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must lie strictly between 0 and 1; received {confidence}.")
    check_among("method", method, SHARES)
    return confidence


def checked_kind(kind: str) -> Kind:
    check_among("kind", kind, KINDS)
    return KINDS[kind]


def check_among(name: str, value: str, choices: Iterable[str]) -> None:
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(choices)}; received {value!r}.")


def simultaneous_confidence(confidence: float, cells: int) -> float:
    """Level for each of `cells` independent intervals so that all hold together with `confidence`, exactly."""
    return float(checked(confidence) ** (1 / max(cells, 1)))


def p_values(is_left_out: Callable[[int, float], bool], many: int = 1, *, near: float = 0.05) -> FloatArray:
    """The least errors at which so many intervals leave out what is tested, rounded up by less than a hundredth.

    All are searched for on the grid that begins at `near`, so that a level is asked of all cells at once.
    """
    least, most, error = np.full(many, _LEAST_ERROR), np.ones(many), np.full(many, near)
    for _ in range(_HALVINGS):
        left_out = np.zeros(many, dtype=bool)
        for place in np.argsort(error, kind="stable").tolist():
            left_out[place] = is_left_out(place, float(error[place]))
        least, most = np.where(left_out, least, error), np.where(left_out, error, most)
        error = np.sqrt(least * most)
    return most


def holm(errors: FloatArray) -> FloatArray:
    """p-values adjusted by Holm's steps: whoever rejects those up to a level rejects what is true no more often.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(errors)
    steps = np.maximum.accumulate(errors[order] * np.arange(len(errors), 0, -1))
    return np.minimum(steps, 1.0)[np.argsort(order)]


def count_interval(value: int, law: Additive | Noise, *, confidence: float = 0.95, is_signed: bool = False) -> Interval:
    """For the exact count behind one released value.

    >>> from dalenius.inference.noise import Noise
    >>> import numpy as np
    >>> noise = Noise(-1, np.array([0.02, 0.96, 0.02]))
    >>> interval = count_interval(7, noise)
    >>> interval.lower, interval.upper
    (7, 7)
    """
    noise = as_noise(law)
    q = noise.half_width(checked(confidence))
    lower, upper, method = value - q, value + q, NOISE_LAW
    if not is_signed:
        if upper < 0:
            method += "; the noise was larger than the interval allows, and 0 is the nearest count"
        lower, upper = max(lower, 0), max(upper, 0)
    return Interval(lower=lower, upper=upper, confidence=confidence, kind=Kind.NOISE, method=method)


def poisson_interval(
    value: int, law: Additive | Noise, *, confidence: float = 0.95, method: str = "exact", exposure: float = 1.0
) -> Interval:
    """For the Poisson mean (or the rate per unit of a known exposure) behind one released value."""
    low, high = poisson_limits(np.array([value]), law, confidence=confidence, method=method)
    if exposure <= 0:
        raise ParameterError(f"exposure must be positive; received {exposure}.")
    return _of_parameter(low / exposure, high / exposure, confidence, f"Poisson parameter, {method}")


def _of_parameter(low: FloatArray, high: FloatArray, confidence: float, method: str) -> Interval:
    lower, upper, kind = float(low[0]), float(high[0]), Kind.NOISE_AND_SAMPLING
    return Interval(lower=lower, upper=upper, confidence=confidence, kind=kind, method=method)


def poisson_limits(
    values: object, law: Additive | Noise, *, confidence: float = 0.95, method: str = "exact", multiple: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper limits for many released values at once; each is `multiple` times a Poisson count, plus noise."""
    noise, x = as_noise(law), np.asarray(values, dtype=np.int64)
    tail = (1 - checked(confidence, method)) / 2
    width = 12 * np.sqrt(noise.variance / multiple**2 + np.abs(x) / multiple + 1.0) + 30
    top = np.maximum(x - noise.first, 0) / multiple + width

    def tails(mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        return _mixed(noise, x, lambda a: gammaincc(a + 1.0, mean[:, None]), method, multiple)

    return _invert(tails, tail, np.zeros(len(x)), np.asarray(top, dtype=np.float64))


def binomial_interval(
    value: int, size: int, law: Additive | Noise, *, confidence: float = 0.95, method: str = "exact"
) -> Interval:
    """For the probability behind a binomial count of known size."""
    if size < 1:
        raise ParameterError(f"size must be at least 1; received {size}.")
    noise, x = as_noise(law), np.array([value], dtype=np.int64)
    tail = (1 - checked(confidence, method)) / 2

    def tails(p: FloatArray) -> tuple[FloatArray, FloatArray]:
        return _mixed(
            noise, x, lambda a: np.where(a >= size, 1.0, bdtr(np.minimum(a, size - 1), size, p[:, None])), method
        )

    low, high = _invert(tails, tail, np.zeros(1), np.ones(1))
    return _of_parameter(low, high, confidence, f"binomial parameter, {method}")


def _mixed(
    noise: Noise, x: IntArray, cdf: Callable[[FloatArray], FloatArray], method: str, multiple: int = 1
) -> tuple[FloatArray, FloatArray]:
    """P(released <= x) and P(released >= x), with the method's share of P(released = x) in each."""
    first = x - noise.last - 1
    a = (first[:, None] + np.arange(len(noise.pmf) + 1)) // multiple
    # F(a) for a = x - l - 1 and a = x - l share one table: neighbours along the noise, both over the multiple.
    f = np.where(a < 0, 0.0, cdf(np.maximum(a, 0).astype(np.float64)))
    weights = noise.pmf[::-1]
    at_most, less = f[:, 1:] @ weights, f[:, :-1] @ weights
    outside = (1 - SHARES[method]) * (at_most - less)
    return at_most - outside, 1 - less - outside


def _invert(
    tails: Callable[[FloatArray], tuple[FloatArray, FloatArray]], tail: float, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest parameter that neither one-sided test rejects; the lower tail falls as it grows."""
    # On the normal scale tails are nearly linear in the parameter, and false position needs few steps.
    upper = _last_positive(lambda p: _score(tails(p)[0]) - ndtri(tail), low, high)[1]
    lower = _last_positive(lambda p: ndtri(tail) - _score(tails(p)[1]), low, high)[0]
    return lower, np.maximum(upper, lower)


def _score(probability: FloatArray) -> FloatArray:
    return np.asarray(ndtri(np.clip(probability, 1e-290, 1 - 1e-15)))


def _last_positive(
    excess: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A tight bracket around the point where a decreasing function leaves the positive side; zero if it never is there.

    Chandrupatla's method, which is bisection wherever inverse quadratic interpolation is not trustworthy.
    """
    a, b = low.copy(), high.copy()
    at_a, at_b = excess(a), excess(b)
    never = at_a <= 0
    c, at_c = a.copy(), at_a.copy()
    share = np.full(len(a), 0.5)
    for _ in range(100):
        x = a + share * (b - a)
        here = excess(x)
        same = (here > 0) == (at_a > 0)
        c, at_c = np.where(same, a, b), np.where(same, at_a, at_b)
        b, at_b = np.where(same, b, a), np.where(same, at_b, at_a)
        a, at_a = x, here
        width = np.maximum(np.abs(b - a), 1e-300)
        # Half of the allowed width, so that the next step may land on the far side and close the bracket.
        least = np.minimum(0.5e-9 * (1 + np.abs(a)) / width, 0.5)
        if np.all((width <= 1e-9 * (1 + np.abs(a))) | never):
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            xi, ratio = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
            smooth = (ratio**2 < xi) & ((1 - ratio) ** 2 < 1 - xi)
            guess = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            guess += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        share = np.clip(np.where(smooth & np.isfinite(guess), guess, 0.5), least, 1 - least)
    return np.where(never, 0.0, np.minimum(a, b)), np.where(never, 0.0, np.maximum(a, b))
