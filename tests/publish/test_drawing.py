"""Pictures are written and not empty."""

from fractions import Fraction
from pathlib import Path

from dalenius.exact.perturbation import kernel_of
from dalenius.exact.utility import risk_utility
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.publish._drawing import draw_kernel, draw_risk_utility


def test_pictures(tmp_path: Path) -> None:
    one = draw_kernel(kernel_of(TruncatedLaplace(Fraction(1), 4), 8, floor=0), tmp_path / "kernel.png")
    lines = risk_utility(["0.5", 1, 2], ["discrete_laplace", "truncated_laplace"], delta="1e-6")
    two = draw_risk_utility(lines, tmp_path / "risk.png")
    assert one.stat().st_size > 5_000
    assert two.stat().st_size > 5_000
