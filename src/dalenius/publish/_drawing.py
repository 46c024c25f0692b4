"""Pictures of laws and perturbation tables, for people who choose between them; nothing here sees data."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dalenius.core.law import Kernel
from dalenius.rendering import figure, finish


def draw_kernel(kernel: Kernel, path: Path) -> None:
    """p(a, b) as a picture: one row for each count, darker where more probable."""
    low = min(kernel.firsts)
    high = max(first + len(row) for first, row in zip(kernel.firsts, kernel.rows, strict=True))
    grid = np.array([kernel.pmf(a, np.arange(low, high)) for a in range(len(kernel.rows))])
    panel = figure(path, width=8, height=5)
    image = panel.imshow(grid, cmap="Greys", aspect="auto", extent=(low - 0.5, high - 0.5, len(grid) - 0.5, -0.5))
    panel.set_xlabel("shown count b")
    panel.set_ylabel("exact count a")
    panel.set_title(f"p(a, b) of {kernel.name}")
    panel.figure.colorbar(image)
    finish(panel, path)


def draw_trade_off(unit: str, points: Sequence[tuple[float, float, float]], path: Path) -> None:
    """Margin of error and an intruder's power against the amount; points as (amount, margin, power)."""
    panel = figure(path, width=7, height=5)
    amounts = [amount for amount, _, _ in points]
    panel.plot(amounts, [margin for _, margin, _ in points], marker="o", color="black", label="margin of error")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel(unit)
    panel.set_ylabel("95 % margin of error of a cell")
    other = panel.twinx()
    other.plot(amounts, [100 * power for _, _, power in points], marker="s", linestyle="--", color="grey")
    other.set_ylabel("somebody is recognised, at most (%, dashed; 5 by guessing)")
    other.set_ylim(0, 100)
    finish(panel, path)
