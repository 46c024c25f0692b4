"""The registry of reproductions: each module of this package lists its items, and they are found, never registered.

A module offers public functions whose one argument is `full` (the published number of repetitions instead of a quick
one) and that return rows: `table2` in `ft.py` or `ft_figures.py` is the item "ft.table2". It may also offer
`PLOTS: dict[str, Callable[[Path, bool], Path]]`: a function that draws the item into a directory and returns the file.

A row sets one printed number beside ours. `verdict_of` decides from the text the paper prints:

equal         the same number
rounding      ours, rounded or cut to the printed digits, is the printed number
within Monte-Carlo error  a simulated number, ours or theirs, that differs by less than four standard errors (`z`)
misprint      the paper prints something else than its own formula gives; `ours` is that formula's value
corrected     the paper's formula or claim is wrong; `ours` follows the paper, `corrected` is what holds
differs       we cannot reproduce the number, and say so
not printed   the paper shows no number (a point of a figure); ours is given for the record
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import Decimal
from inspect import signature
from math import floor, isclose, isnan
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dalenius.errors import UnknownName

MONTE_CARLO = "within Monte-Carlo error"
VERDICTS = ("equal", "rounding", MONTE_CARLO, "misprint", "corrected", "differs", "not printed")
_CLOSE = 4.0
Number = float | int | bool | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One printed number (or claim), ours, and the corrected value where the paper is wrong."""

    name: str
    paper: Number
    ours: Number
    corrected: Number = None
    verdict: str = "equal"
    z: float | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"a verdict is one of {', '.join(VERDICTS)}; received {self.verdict!r}")

    def to_dict(self) -> dict[str, Number]:
        """For documents; numbers are not rounded."""
        return asdict(self)


def simulated(name: str, paper: float, ours: float, error: float, digits: int = 4) -> Row:
    """A number that was simulated, by the paper or by us: judged by the standard error of the difference.

    >>> simulated("power", 0.92, 0.896, 0.0121).verdict, simulated("power", 0.92, 0.8, 0.0121).verdict
    ('within Monte-Carlo error', 'differs')
    """
    z = (ours - paper) / error
    verdict = MONTE_CARLO if abs(z) <= _CLOSE else "differs"
    return Row(name=name, paper=paper, ours=round(ours, digits), verdict=verdict, z=round(z, 2))


Item = Callable[[bool], list[Row]]
Plot = Callable[[Path, bool], Path]


def agrees(printed: str, ours: float) -> bool:
    """Whether our number, rounded or cut to the printed digits, is the printed one.

    >>> agrees("0.82", 0.8179), agrees(".27", 0.2763), agrees("0.82", 0.831)
    (True, True, False)
    """
    unit = Decimal(1).scaleb(int(Decimal(printed).as_tuple().exponent))
    steps = ours / float(unit)
    target = round(float(Decimal(printed) / unit))
    # A tie at the last printed digit may have been rounded either way.
    return abs(steps - target) <= 0.5 * (1 + 1e-9) or floor(steps + 1e-9) == target


def row(
    name: str,
    printed: str | bool | None,
    ours: float | int | bool | None,
    *,
    corrected: Number = None,
    verdict: str | None = None,
) -> Row:
    """A row whose verdict follows from the printed text, unless the caller knows why the two disagree."""
    if isinstance(printed, bool) or isinstance(ours, bool) or printed is None or ours is None:
        outcome = "not printed" if printed is None else ("equal" if printed == ours else "differs")
        return Row(name=name, paper=printed, ours=ours, corrected=corrected, verdict=verdict or outcome)
    paper = float(Decimal(printed))
    if isnan(ours):
        outcome = "differs"
    elif isclose(paper, ours, rel_tol=1e-12, abs_tol=1e-15):
        outcome = "equal"
    else:
        outcome = "rounding" if agrees(printed, float(ours)) else "differs"
    return Row(name=name, paper=paper, ours=ours, corrected=corrected, verdict=verdict or outcome)


def corrected(name: str, printed: str | bool | None, ours: float | int | bool, better: Number) -> Row:
    """A row of a formula or claim of the paper that is wrong, and what holds."""
    return row(name, printed, ours, corrected=better, verdict="corrected")


def pyplot() -> Any:
    """Matplotlib without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as module

    return module


def save(figure: Any, directory: Path, name: str) -> Path:
    """Write a figure, close it, and return its file."""
    path = directory / f"{name}.png"
    figure.savefig(path, dpi=120)
    pyplot().close(figure)
    return path


def _modules() -> list[Any]:
    import dalenius_lab.reproductions as package

    own = __name__.rpartition(".")[2]
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__) if m.name != own)
    return [importlib.import_module(f"dalenius_lab.reproductions.{name}") for name in names]


def items() -> MappingProxyType[str, Item]:
    """Every item of every module, by name."""
    by_name: dict[str, Item] = {}
    for module in _modules():
        own = module.__name__
        paper = own.rpartition(".")[2].partition("_")[0]
        public = {n: f for n, f in inspect.getmembers(module, inspect.isfunction) if not n.startswith("_")}
        items = {n: f for n, f in public.items() if f.__module__ == own and [*signature(f).parameters] == ["full"]}
        by_name.update({f"{paper}.{n}": f for n, f in items.items()})
    return MappingProxyType(dict(sorted(by_name.items())))


def plots() -> MappingProxyType[str, Plot]:
    """Every item that can be drawn, by name."""
    by_name: dict[str, Plot] = {}
    for module in _modules():
        by_name.update(getattr(module, "PLOTS", {}))
    return MappingProxyType(dict(sorted(by_name.items())))


def run(name: str, full: bool = False) -> list[Row]:
    """The rows of one item."""
    by_name = items()
    if name not in by_name:
        raise UnknownName.among("item", name, by_name)
    return by_name[name](full)
