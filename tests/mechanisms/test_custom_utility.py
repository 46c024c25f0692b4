"""Custom tables of losses: exact by enumeration, also where a smaller move loses more."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from dalenius.core.neighbours import Relation
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError
from dalenius.mechanisms.custom_utility import CustomUtility
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.mechanisms.truncated_normal import TruncatedNormal

ONE = Sensitivity.of_patterns(((1,),))


def test_absolute_and_squared_losses_are_the_known_laws() -> None:
    x = np.arange(-7, 8)
    laplace = CustomUtility.of("0.5", [abs(k) for k in range(-7, 8)])
    assert laplace.log_pmf(x) == pytest.approx(TruncatedLaplace(Fraction(1, 2), 7).log_pmf(x))
    normal = CustomUtility.of(Fraction(1, 15), [k * k for k in range(-7, 8)])
    assert normal.log_pmf(x) == pytest.approx(TruncatedNormal.of_paper(1, 7).log_pmf(x))
    a, b = (law.profile(ONE, Relation.ADD_REMOVE) for law in (normal, TruncatedNormal.of_paper(1, 7)))
    assert (a.epsilon, float(a.delta)) == (b.epsilon, pytest.approx(float(b.delta)))


def test_ragged_and_asymmetric_tables_are_bounded_by_brute_force() -> None:
    law = CustomUtility.of("1/4", [9, 1, 7, 0, 2, 8, 3])
    p = dict(zip(range(-3, 4), np.exp(law.log_pmf(np.arange(-3, 4))), strict=True))
    for largest in (1, 2, 3):
        profile = law.profile(Sensitivity.of_patterns(((largest,),)), Relation.ADD_REMOVE)
        e = float(profile.epsilon or 0)
        worst = max(
            sum(max(0.0, p[x] - exp(e) * p.get(x - s, 0.0)) for x in p)
            for s in [*range(-largest, 0), *range(1, largest + 1)]
        )
        assert worst <= float(profile.delta) + 1e-12
        assert worst == pytest.approx(float(profile.delta), rel=1e-6)


def test_it_is_rebuilt_from_its_parameters_and_refuses_bad_tables() -> None:
    law = CustomUtility.of("1/3", [5, 1, 0, 2, 4])
    assert CustomUtility(**law.parameters) == law
    assert law.losses == (5, 1, 0, 2, 4)
    assert not law.is_symmetric
    with pytest.raises(ParameterError):
        CustomUtility.of(1, [1, 0])
    with pytest.raises(ParameterError):
        CustomUtility.of(1, [1, -1, 1])
