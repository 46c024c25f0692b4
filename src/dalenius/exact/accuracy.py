"""How close a table with Laplace noise comes to the truth, and what a smaller sensitivity gains.

For k answers with independent Laplace noise of scale b = sensitivity / epsilon, all errors are at most b log(k / gamma)
in absolute value with probability exactly (1 - gamma/k)^k, which is at least 1 - gamma. O'Keefe & Charest (2018),
Theorem 4, print "at least gamma" and a sup norm without absolute values; their ratio of accuracies (Result 12) stands.
"""

from fractions import Fraction
from math import exp, expm1, log, log1p

from dalenius.errors import ParameterError


def half_width(answers: int, gamma: float, sensitivity: float, epsilon: float) -> float:
    """The bound of Theorem 4: no error exceeds it, with probability at least 1 - gamma.

    >>> round(half_width(9, 0.05, 1.0, 1.0), 4)
    5.193
    """
    if answers < 1 or not 0 < gamma <= 1 or sensitivity <= 0 or epsilon <= 0:
        raise ParameterError("Needed: answers >= 1, 0 < gamma <= 1, sensitivity > 0 and epsilon > 0.")
    return log(answers / gamma) * sensitivity / epsilon


def coverage(answers: int, gamma: float) -> float:
    """Probability with which `half_width` holds: (1 - gamma/k)^k >= 1 - gamma."""
    return float(exp(answers * log1p(-gamma / answers))) if gamma < answers else 0.0


def gain(declared: int | Fraction, observed: int | Fraction) -> Fraction:
    """Ratio of accuracies when the sensitivity falls from `declared` to `observed`, whatever gamma, k and epsilon."""
    if observed <= 0 or declared < observed:
        raise ParameterError("The declared sensitivity must be at least the observed one, and both positive.")
    return Fraction(declared) / Fraction(observed)


def expected_error(scale: Fraction) -> float:
    """E|x| of discrete Laplace noise of this scale: 2a / (1 - a^2), a = exp(-1/scale)."""
    a = exp(-1 / float(scale))
    return 2 * a / -expm1(-2 / float(scale))
