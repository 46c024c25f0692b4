"""What a release means, without data: intervals, tests, models and posteriors that know the noise.

Everything here takes a release (or released values with their law) and nothing else; no data engine is imported.
"""

from dalenius.algebra.joint import covariance, cross_covariance
from dalenius.inference.association import cramers_v, goodman_kruskal_lambda, odds_ratio, phi
from dalenius.inference.bayes import Posterior, posterior
from dalenius.inference.binomial import binomial_test
from dalenius.inference.cells import intervals
from dalenius.inference.combine import Combined, Equipartition, combine, equipartition
from dalenius.inference.comparison import compare, conditional_independence, homogeneity, trend
from dalenius.inference.contrast import difference, rate, total
from dalenius.inference.goodness_of_fit import goodness_of_fit
from dalenius.inference.independence import independence
from dalenius.inference.interval import binomial_interval, count_interval, poisson_interval
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.likelihood import CountLikelihood
from dalenius.inference.loglinear import LoglinearFit, logistic, loglinear
from dalenius.inference.noise import Noise
from dalenius.inference.observation import Observed, from_values
from dalenius.inference.observe import observe
from dalenius.inference.quotient import proportion, ratio

__all__ = [
    "Combined",
    "CountLikelihood",
    "Equipartition",
    "IntervalTable",
    "LoglinearFit",
    "Noise",
    "Observed",
    "Posterior",
    "binomial_interval",
    "binomial_test",
    "combine",
    "compare",
    "conditional_independence",
    "count_interval",
    "covariance",
    "cramers_v",
    "cross_covariance",
    "difference",
    "equipartition",
    "from_values",
    "goodman_kruskal_lambda",
    "goodness_of_fit",
    "homogeneity",
    "independence",
    "intervals",
    "logistic",
    "loglinear",
    "observe",
    "odds_ratio",
    "phi",
    "poisson_interval",
    "posterior",
    "proportion",
    "rate",
    "ratio",
    "total",
    "trend",
]
