"""Pictures are written and not empty."""

from fractions import Fraction
from pathlib import Path

from dalenius.exact.perturbation import kernel_of
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.publish._drawing import draw_kernel, draw_trade_off


def test_pictures(tmp_path: Path) -> None:
    one, two = tmp_path / "kernel.png", tmp_path / "curve.png"
    draw_kernel(kernel_of(TruncatedLaplace(Fraction(1), 4), 8, floor=0), one)
    points = [(0.5, 7.0, 0.1), (1.0, 4.0, 0.2), (2.0, 2.0, 0.4)]
    draw_trade_off("epsilon", points, two)
    assert one.stat().st_size > 5_000
    assert two.stat().st_size > 5_000
