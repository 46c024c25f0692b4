"""What a release means, without data: intervals, tests, models and posteriors that know the noise.

Everything here takes a release (or released values with their law) and nothing else; no data engine is imported.
"""

from dalenius.algebra.joint import covariance, cross_covariance
from dalenius.inference.association import cramers_v, goodman_kruskal_lambda, odds_ratio, phi
from dalenius.inference.bayes import Posterior, posterior
from dalenius.inference.binomial import binomial_test
from dalenius.inference.cells import intervals
from dalenius.inference.combine import Combined, Equipartition, combine, equipartition
from dalenius.inference.compared import change, difference, ratio
from dalenius.inference.comparison import compare, conditional_independence, homogeneity, trend
from dalenius.inference.contrast import rate, total
from dalenius.inference.goodness_of_fit import goodness_of_fit
from dalenius.inference.independence import independence
from dalenius.inference.interval import binomial_interval, count_interval, poisson_interval
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.likelihood import CountLikelihood
from dalenius.inference.loglinear import LoglinearFit, logistic, loglinear
from dalenius.inference.noise import Noise
from dalenius.inference.observation import Observed, from_values
from dalenius.inference.observe import observe
from dalenius.inference.quotient import proportion

__all__ = ["binomial_interval", "binomial_test", "change", "Combined", "combine", "compare", "conditional_independence"]
__all__ += ["count_interval", "CountLikelihood", "covariance", "cramers_v", "cross_covariance", "difference"]
__all__ += ["Equipartition", "equipartition", "from_values", "goodman_kruskal_lambda", "goodness_of_fit", "homogeneity"]
__all__ += ["independence", "intervals", "IntervalTable", "logistic", "loglinear", "LoglinearFit"]
__all__ += ["Noise", "observe", "Observed", "odds_ratio"]
__all__ += ["phi", "poisson_interval", "Posterior", "posterior", "proportion", "rate", "ratio", "total", "trend"]
