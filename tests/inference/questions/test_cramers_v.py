"""Without noise the estimate is the corrected V of the literature."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency
from tests.inference.questions.conftest import TABLE


def test_the_corrected_v(ask, counts) -> None:
    seen = TABLE.sum(1)
    total = seen.sum()
    squared = chi2_contingency(seen, correction=False).statistic / total - 1 / (total - 1)
    shrunk = 2 - 1 / (total - 1)
    expected = np.sqrt(max(0.0, squared) / (shrunk - 1))
    assert ask("cramers_v", counts, axes=("A", "C"), replicates=99).value == pytest.approx(expected, rel=1e-3)
