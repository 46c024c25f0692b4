"""Public laws: tail probabilities to machine precision, quantiles, documents read back."""

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf, nsum

from dalenius.core.law import Additive, Joint, Kernel, Tails, Withheld, law_from_dict
from dalenius.errors import DocumentError, ParameterError, UnknownName
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace

F = Fraction
LAWS = [
    DiscreteLaplace(F(1)),
    DiscreteLaplace(F(1, 40)),
    TruncatedLaplace(F(1, 10), 30),
    DiscreteGaussian(F(1, 4)),
    DiscreteGaussian(F(100)),
]


@pytest.mark.parametrize("noise", LAWS, ids=repr)
def test_closed_forms_equal_exact_sums(noise):
    law, tails = Additive(noise), Tails(noise)
    k = np.arange(-120, 121)
    assert np.allclose(law.cdf(k), tails.cdf(k), rtol=1e-13, atol=1e-30)
    assert np.allclose(law.sf(k), tails.sf(k), rtol=1e-13, atol=1e-30)
    assert np.allclose(law.pmf(k), np.diff(np.concatenate([tails.cdf(np.array([-121])), tails.cdf(k)])), atol=1e-15)
    points, pmf = law.central(1e-15)
    assert pmf.sum() == pytest.approx(1, abs=3e-15)
    assert (points**2 * pmf).sum() == pytest.approx(noise.variance, rel=1e-10)


@pytest.mark.parametrize("noise", LAWS, ids=repr)
def test_quantiles_by_definition(noise):
    law = Additive(noise)
    for p in (1e-12, 0.01, 0.3, 0.5, 0.9, 0.999, 1 - 1e-12):
        k = law.quantile(p)
        assert law.cdf(k) >= p - 1e-15 and law.cdf(k - 1) < p + 1e-15
    for confidence in (0.5, 0.9, 0.95, 0.99, 0.999999):
        q = law.half_width(confidence)
        assert law.cdf(-q - 1) + law.sf(q) <= (1 - confidence) * (1 + 1e-9)
        assert q == 0 or law.cdf(-q) + law.sf(q - 1) > (1 - confidence) * (1 - 1e-9)


def test_half_width_of_a_count():
    assert Additive(DiscreteLaplace(F(1))).half_width(0.973220390) == 3
    assert Additive(DiscreteLaplace(F(1))).half_width(0.9733) == 4


def test_wide_gaussian_tails():
    mp.prec = 200
    s2 = mpf(2) ** 22
    wide = Additive(DiscreteGaussian(F(2**22)))
    total = mp.sqrt(2 * mp.pi * s2)
    for k in (0, 2048, 3 * 2048, 6 * 2048):
        exact = nsum(lambda j: mp.exp(-(j**2) / (2 * s2)), [k + 1, k + 14 * 2048], method="d") / total
        assert float(wide.sf(k)) == pytest.approx(float(exact), rel=1e-12)
    assert wide.quantile(0.975) == 4014
    assert wide.half_width(0.95) == 4014


def test_wide_laplace_needs_no_table():
    law = Additive(DiscreteLaplace(F(1, 10**9)))
    assert law.half_width(0.95) == pytest.approx(10**9 * np.log(20), rel=1e-6)


KERNEL = Kernel(name="toy", firsts=(0, 0), rows=((3, 1), (1, 3)), scale=4)


@pytest.mark.parametrize(
    "law",
    [
        *(Additive(n, F(1, 3)) for n in LAWS),
        KERNEL,
        Joint("residual", {"factor": "3"}),
        Withheld("the scale is confidential"),
    ],
    ids=lambda law: law.kind,
)
def test_documents_are_read_back(law):
    import json

    assert law_from_dict(json.loads(json.dumps(law.to_dict()))) == law


def test_bad_documents_are_refused():
    with pytest.raises(DocumentError):
        law_from_dict({"kind": "other"})
    with pytest.raises(DocumentError):
        law_from_dict({"kind": "additive", "family": "discrete_laplace", "parameters": {"rat": "1"}})
    with pytest.raises(DocumentError):
        law_from_dict({"kind": "additive", "family": "discrete_laplace"})
    with pytest.raises(UnknownName):
        law_from_dict({"kind": "additive", "family": "nonesuch", "parameters": {}})
    with pytest.raises(ParameterError):
        Additive(LAWS[0]).half_width(1.0)


def test_kernel_rows():
    assert KERNEL.pmf(0, [0, 1, 2]).tolist() == [0.75, 0.25, 0.0]
    assert KERNEL.pmf(3, [2, 3]).tolist() == [0.25, 0.75]
