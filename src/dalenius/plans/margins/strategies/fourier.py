"""Fourier coefficients of binary variables."""

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

from dalenius.algebra.margins import Margin
from dalenius.core import registry
from dalenius.core.contracts import Mechanism
from dalenius.errors import Unsupported
from dalenius.measurements.fourier import Fourier, coefficient_shift
from dalenius.plans.allotments import Allotment
from dalenius.plans.margins.setting import Candidate, Setting

__all__ = ["FourierStrategy"]


class FourierStrategy:
    name: ClassVar[str] = "fourier"
    plainness: ClassVar[int] = 5

    @staticmethod
    def option(setting: Setting, allotment: Allotment) -> Candidate:
        if setting.mechanism not in (None, allotment.mechanism):
            raise Unsupported(f"Fourier coefficients use {allotment.mechanism} noise here.")
        if setting.amounts is not None:
            raise Unsupported("Fourier coefficients are of counts.")
        workload = setting.workload
        if any(workload.shape[a] != 2 for a in workload.interior):
            raise Unsupported("Fourier coefficients need variables of exactly two categories.")
        names = [a for a in workload.components if not (a == () and setting.total is not None)]
        # A coefficient's noise of variance s gives the component a variance s / 2^|A|.
        influence = {a: workload.influence[a] / 2 ** len(a) for a in names}
        power = 1 / 3 if allotment.currency == "epsilon" else 1 / 2
        raw = {a: influence[a] ** power for a in names}
        laws = _coefficient_laws(setting, allotment, raw)
        step = Fourier("coefficients", setting.axes, setting.where, laws, setting.total is not None)
        return Candidate(
            setting=setting,
            strategy="fourier",
            mechanism=next(iter(laws.values())).name,
            law=setting.margins_law({a: law.variance / 2 ** len(a) for a, law in laws.items()}),
            build=lambda: ((step,), [{"name": step.name, "kind": "fourier"}]),
        )


def _coefficient_laws(setting: Setting, allotment: Allotment, raw: Mapping[Margin, float]) -> dict[Margin, Mechanism]:
    """Noise of the coefficients, in proportion to `raw`, within the allotment for the worst pattern."""
    rows = setting.neighbours.max_rows
    exponent = 1 if allotment.currency == "epsilon" else 2
    weight = {a: max(int(r * 10**12), 1) for a, r in raw.items()}
    totals = [0] * len(setting.ways)
    for a, w in weight.items():
        for k, (_, pattern) in enumerate(setting.ways):
            totals[k] += w * (coefficient_shift(a, pattern) * rows) ** exponent
    unit = allotment.amount / max(totals)
    family = registry.get("mechanisms", allotment.mechanism)
    laws: dict[Margin, Mechanism] = {}
    for a, w in weight.items():
        if allotment.currency == "epsilon":
            laws[a] = family(Fraction(int(w * unit * 10**12), 10**12))
        else:
            variance = 1 / (2 * w * unit)
            laws[a] = family(Fraction(int(variance * 10**9) + 1, 10**9))
    return laws
