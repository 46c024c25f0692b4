"""One variable as a person declares it, and the texts in which a document says so."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NoReturn

from dalenius.core.rationals import plain, rational
from dalenius.core.sealed import BANNER
from dalenius.errors import NotPublic, ParameterError
from dalenius.spec.document import category

ROWS, LIST, TYPED = "read from the rows and confirmed", "from {place}", "as you typed it"
UNCONFIRMED = "read from the rows: not confirmed"
# Names that files of surveys use: weight, calweight, fnlwgt, PWGTP, pspwght, perwt, hgew, pond; none of a body.
_WEIGHT = re.compile(
    r"(?<!birth)(?<!body)(?<!body[_. ])(weights?|we?i?ght|wgt|gewicht)(p?\d*)([_. ]|$)(?!kg|lb)"
    r"|(^|[_. ]|[a-z])wt\d*([_. ]|$)|(^|[_. ])[phd]?(gew|pond)([_. \d]|$)",
    re.IGNORECASE,
)
MOST_ANY = 12
_MOST_STEPS = 10**5
_LARGEST = 2**52
IS_WEIGHT = "weight = true    # says how much a row counts"


class DeclaredVariable:
    """What one variable may hold: categories (label by code), or bounds with a step.

    Whoever sets `bounds` or `categories` declares them, and so confirms the variable. Without a `step` it is the one
    that fits the bounds. Rows with one of the `missing_codes` have no value.
    """

    def __init__(
        self,
        name: str,
        *,
        label: str = "",
        categories: Mapping[str, str] | Sequence[str] | None = None,
        bounds: tuple[object, object] | None = None,
        step: object = None,
        missing_codes: Iterable[object] = (),
        grid: Fraction = Fraction(1),
        origin: str = TYPED,
        confirmed: bool = True,
    ) -> None:
        self.name: str = name
        self.label: str = label
        self._categories: dict[str, str] = {}
        self._bounds: tuple[Fraction, Fraction] | None = None
        self._grid = grid
        if bounds is not None:
            self.bounds = bounds
        elif categories is not None:
            self.categories = categories
        self.step: object = step
        self.missing_codes: tuple[object, ...] = tuple(missing_codes)
        self.levels: dict[str, dict[str, tuple[str, ...]]] = {}
        self.is_weight: bool = False
        self.origin: str = origin
        self.confirmed: bool = confirmed

    @property
    def categories(self) -> dict[str, str]:
        """Labels by code, in order; empty for a number."""
        return self._categories

    @categories.setter
    def categories(self, labels: Mapping[str, str] | Sequence[str]) -> None:
        pairs = labels.items() if isinstance(labels, Mapping) else ((text, text) for text in labels)
        self._categories = {_text(code): _text(label) for code, label in pairs}
        self._bounds, self.origin, self.confirmed = None, TYPED, True

    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """Lower and upper bound; None for a variable with categories."""
        return self._bounds

    @bounds.setter
    def bounds(self, ends: tuple[object, object]) -> None:
        low, high = (rational(end, "a bound") for end in ends)
        if low >= high:
            raise ParameterError(f"Bounds go from a lower to a higher number; received {plain(low)} and {plain(high)}.")
        self._bounds, self._categories = (low, high), {}
        self.step, self.origin, self.confirmed = None, TYPED, True

    @property
    def grid(self) -> Fraction:
        """The step between two values: as it was set, or the one that fits the bounds."""
        if self.step is not None:
            return rational(self.step, "step")
        return fitting_step(*self._bounds, self._grid) if self._bounds is not None else Fraction(1)

    @property
    def has_list(self) -> bool:
        """Whether its categories come from a list that somebody wrote."""
        return self.origin.startswith(LIST.format(place=""))

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise NotPublic("What was drafted from rows is neither pickled nor copied.")

    @property
    def words(self) -> str:
        """What a person is asked to confirm."""
        codes = ", ".join(map(str, self._codes))
        without = f"; {codes} {'is' if len(self._codes) == 1 else 'are'} no value" if codes else ""
        if self._bounds is not None:
            low, high = map(plain, self._bounds)
            return f"numbers from {low} to {high} in steps of {plain(self.grid)}{without}"
        labels = [code if code == label else f"{code} = {label}" for code, label in self._categories.items()]
        shown = ", ".join(labels[:12]) + (", …" if len(labels) > 12 else "")
        return f"{len(labels)} categor{'y' if len(labels) == 1 else 'ies'}: {shown}{without}"

    def __repr__(self) -> str:
        banner = "" if self.confirmed else f"{BANNER}\n"
        return f"{banner}{self.name}: {self.words} ({self.origin})"

    @property
    def _codes(self) -> list[str]:
        if self._bounds is not None:
            return [plain(rational(code, "missing_codes")) for code in self.missing_codes]
        return [_text(code) for code in self.missing_codes]

    def lines(self, section: str, further: Iterable[str] = (), name: str = "") -> list[str]:
        """A section of a document that says what a column may hold, as TOML."""
        place = f"{section}.{toml_key(name or self.name)}"
        lines = ["", f"[{place}]    # {printable(self.origin)}", f"label = {toml_text(self.label or self.name)}"]
        if self._codes:
            written = self._codes if self._bounds is not None else map(toml_text, self._codes)
            lines.append(f"missing_codes = [{', '.join(written)}]    # what the file holds where there is no value")
        if not self.confirmed:
            lines.append("confirmed = false    # check it, then set this to true")
        pairs, last = self._categories.items(), list[str]()
        if self._bounds is not None:
            low, high = map(plain, self._bounds)
            lines += [f"bounds = [{low}, {high}]    # narrower bounds need less noise", f"step = {plain(self.grid)}"]
        elif all(code == label for code, label in pairs):
            lines.append(f"categories = [{', '.join(toml_text(code) for code, _ in pairs)}]")
        else:
            last.append(f"[{place}.categories]    # what the file holds = what readers see")
            last += [f"{toml_text(code)} = {toml_text(label)}" for code, label in pairs]
        return [*lines, *further, *last]

    def level_lines(self) -> list[str]:
        """The levels above its categories, as TOML."""
        lines = []
        for level, groups in self.levels.items():
            lines.append(f"[variables.{toml_key(self.name)}.hierarchies.{toml_key(level)}]")
            lines += [f"{toml_text(group)} = [{', '.join(map(toml_text, codes))}]" for group, codes in groups.items()]
        return lines


def _text(value: object) -> str:
    try:
        return plain(value) if isinstance(value, Fraction) else category(value)
    except ValueError as error:
        raise ParameterError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None


def fitting_step(lower: Fraction, upper: Fraction, grid: Fraction) -> Fraction:
    """The grid, or the least of its multiples by a power of ten that makes at most 10^5 steps between two bounds.

    >>> fitting_step(Fraction(0), Fraction(200_000), Fraction(1, 100))
    Fraction(10, 1)
    """
    step, largest = grid, max(abs(upper), abs(lower))
    while (upper - lower) / step > _MOST_STEPS or largest / step > _LARGEST:
        step *= 10
    return step


def likely_weight(variables: Mapping[str, DeclaredVariable]) -> str:
    """The first number that is called a weight and never negative."""
    numbers = (v for v in variables.values() if v.bounds is not None and v.bounds[0] >= 0)
    return next((variable.name for variable in numbers if is_called_weight(variable.name)), "")


def is_called_weight(name: str) -> bool:
    """Whether a column has a name that weights of surveys have.

    >>> [is_called_weight(name) for name in ("design_weight", "calweight", "fnlwgt", "PWGTP", "pspwght", "hwt1", "w")]
    [True, True, True, True, True, True, False]
    >>> [is_called_weight(name) for name in ("birthweight", "body_weight", "weight_kg", "height", "growth", "freight")]
    [False, False, False, False, False, False]
    """
    return _WEIGHT.search(name) is not None


def printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)


def toml_key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else toml_text(name)


def toml_text(content: str) -> str:
    """A basic string of TOML: JSON's, and DEL escaped too."""
    return json.dumps(content, ensure_ascii=False).replace("\x7f", "\\u007f")
