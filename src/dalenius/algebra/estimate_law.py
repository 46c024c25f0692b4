"""The law of an estimate: which estimator, and each sum that it reads as a linear form of the measured arrays.

Text and numbers only: whoever holds a release finds every sum, every error and every interval again. Measured arrays
are numbered in the order of the released blocks. In documents it is a joint law whose structure is "estimate".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

from dalenius.core.estimate import Draws
from dalenius.core.law import Joint
from dalenius.core.rationals import plain
from dalenius.errors import DocumentError

STRUCTURE = "estimate"
CONSTANT = "constant"
INFLUENCE = "influence"
"""The sum of squared influences of rows, in parts of the largest possible one."""


@dataclass(frozen=True, slots=True)
class LinearForm:
    """A constant plus multiples of measured arrays.

    >>> LinearForm({0: Fraction(1, 2)}).plus(LinearForm({1: Fraction(1)}, Fraction(3)), Fraction(2)).to_dict()
    {'constant': '6', '0': '0.5', '1': '2'}
    """

    weights: Mapping[int, Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)

    @classmethod
    def array(cls, place: int, factor: Fraction | int = 1) -> "LinearForm":
        return cls({place: Fraction(factor)})

    def plus(self, other: "LinearForm", factor: Fraction | int = 1) -> "LinearForm":
        places = sorted({*self.weights, *other.weights})
        weights = {a: self.weights.get(a, Fraction(0)) + factor * other.weights.get(a, Fraction(0)) for a in places}
        return LinearForm({a: w for a, w in weights.items() if w}, self.constant + factor * other.constant)

    def times(self, factor: Fraction | int) -> "LinearForm":
        return LinearForm().plus(self, factor)

    def scaled(self, unit: Fraction | int) -> "LinearForm":
        """The same number, of arrays that are measured in such units."""
        return LinearForm({place: weight * unit for place, weight in self.weights.items()}, self.constant)

    def turned(self, last: int) -> "LinearForm":
        """The same form of arrays in the opposite order, of which the last place is this."""
        return LinearForm({last - place: weight for place, weight in self.weights.items()}, self.constant)

    def moved(self, places: int) -> "LinearForm":
        """The same form of arrays that stand so many places later."""
        return LinearForm({place + places: weight for place, weight in self.weights.items()}, self.constant)

    def to_dict(self) -> dict[str, str]:
        constant = {CONSTANT: plain(self.constant)} if self.constant else {}
        return constant | {str(place): plain(weight) for place, weight in self.weights.items()}

    @classmethod
    def from_dict(cls, document: Mapping[str, str]) -> "LinearForm":
        weights = {int(place): Fraction(weight) for place, weight in document.items() if place != CONSTANT}
        return cls(weights, Fraction(document.get(CONSTANT, "0")))


@dataclass(frozen=True, kw_only=True)
class EstimateLaw:
    """How shown numbers follow from measured sums.

    `sums` are what the estimator reads, about the `centres` of its variables; `products` are sums of products of what a
    row adds to two of them, which the error of sampling needs. Values are in steps between `ends`. The shown number is
    `offset` + `scale` times the estimator's, within `limits`; a cell is missing where a guard is below `least`.
    `weight` is the step of the weights by which rows count. `more` holds what a modifier adds, by the modifier's name.
    """

    estimator: str
    version: int
    sums: Mapping[str, LinearForm]
    products: Mapping[str, LinearForm] = field(default_factory=dict)
    centres: Mapping[str, Fraction] = field(default_factory=dict)
    ends: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    offset: Fraction = Fraction(0)
    scale: Fraction = Fraction(1)
    limits: tuple[str, str] = ("-inf", "inf")
    least: Fraction = Fraction(1)
    weight: Fraction | None = None
    draws: str = ""
    rows_per_unit: int = 1
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_sampling(self) -> bool:
        """Whether an error of sampling is stated: rows were drawn so, and it was asked for."""
        return self.more.get("error") != "noise" and Draws(self.draws).has_sampling()

    @property
    def size(self) -> int | None:
        """The number of rows, where it is public."""
        rows = self.sums.get("1")
        return None if rows is None or rows.weights else int(rows.constant)

    def to_law(self) -> Joint:
        """Return the law as a document has it; what is usual is left out."""
        values = {name: getattr(self, name) for name in _WRITTEN}
        written = {name: _WRITTEN[name](value) for name, value in values.items() if value != _USUAL.get(name)}
        return Joint(STRUCTURE, written)

    @classmethod
    def of(cls, law: Joint) -> "EstimateLaw":
        """Return what a document's law says. Raises `DocumentError` for one that says something else too."""
        unknown = law.parameters.keys() - _READ.keys()
        if unknown:
            raise DocumentError(f"The law of an estimate has no {min(unknown)!r}.")
        return cls(**{name: read(law.parameters[name]) for name, read in _READ.items() if name in law.parameters})


_WRITTEN: Mapping[str, Any] = {
    "estimator": str,
    "version": int,
    **dict.fromkeys(("sums", "products"), lambda forms: {name: form.to_dict() for name, form in forms.items()}),
    "centres": lambda centres: {role: plain(centre) for role, centre in centres.items()},
    "ends": lambda ends: {role: list(pair) for role, pair in ends.items()},
    "offset": plain,
    "scale": plain,
    "limits": list,
    "least": plain,
    "weight": plain,
    "draws": str,
    "rows_per_unit": int,
    "more": dict,
}
_READ: Mapping[str, Any] = {
    **_WRITTEN,
    **dict.fromkeys(("offset", "scale", "least", "weight"), Fraction),
    **dict.fromkeys(
        ("sums", "products"), lambda forms: {name: LinearForm.from_dict(form) for name, form in forms.items()}
    ),
    "centres": lambda centres: {role: Fraction(centre) for role, centre in centres.items()},
    "ends": lambda ends: {role: (int(low), int(high)) for role, (low, high) in ends.items()},
    "limits": lambda limits: (str(limits[0]), str(limits[1])),
}
_USUAL: Mapping[str, Any] = {
    each.name: {} if each.default_factory is dict else each.default
    for each in fields(EstimateLaw)
    if each.name not in ("estimator", "version", "sums", "limits")
}
