"""The guarantee of a plan in sentences: first for everybody, then for specialists; and stored sentences in other
languages. What the figures mean, and which value counts: docs/explanation/guarantees.md.

A release stores the English sentences. `told` finds a sentence by its words; an unknown one stays as it is stored.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cache, partial
from math import ceil

from dalenius import limits
from dalenius.core import registry
from dalenius.core.contracts import Definition
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.plan import BatchPlan, TablePlan
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import exp_upper, log_lower
from dalenius.errors import TooLarge, Unsupported
from dalenius.spec.universe import SENTENCES as UNIVERSES
from dalenius.translation import ENGLISH, languages, number_marks, texts

SCALE: tuple[tuple[str, int], ...] = (("very strong", 55), ("strong", 75), ("moderate", 90), ("weak", 100))
"""Words for a protection, each up to so many right guesses of 100: odds of 1.22, 3, 9 and beyond."""
_LOG_OF_TEN = log_lower(Fraction(10))

ODDS = {
    "presence": "Whatever is published and whoever reads it, the odds that one {unit} is in the data change by at "
    "most a factor of {factor} because of the data of that {unit}. The odds of anything else about that {unit} change "
    "by at most a factor of {squared}.",
    "values": "Whatever is published and whoever reads it, the odds between two possible values of one {unit} change "
    "by at most a factor of {factor} because of the data of that {unit}.",
    "not public": "Whatever is published and whoever reads it, the odds of anything that is not public about one "
    "{unit} change by at most a factor of {factor} because of the data of that {unit}.",
}
TEST = {
    "presence": "Whoever knows all other data and guesses right in 50 of 100 cases whether one {unit} is in the data "
    "guesses right in at most {right} with this release.",
    "values": "Whoever knows all other data and guesses right in 50 of 100 cases which of two possible values one "
    "{unit} has guesses right in at most {right} with this release.",
    "not public": "Whoever knows all other data and guesses right in 50 of 100 cases which of two possible values one "
    "{unit} has beside what is public guesses right in at most {right} with this release.",
}
NO_FIGURE = {
    Scope.ACTUAL_DATA: "This is not differential privacy: no figure can be stated for readers who know how the noise "
    "was fitted to the data.",
    Scope.OBSERVED_ROWS: "This is not differential privacy: no figure can be stated for anybody whose record does not "
    "occur in the data.",
}
COMPARED = {
    "odds": "Between data sets that the definition compares, no result is more than {factor} times as likely from one "
    "as from the other.",
    "test": "Between data sets that the definition compares, the best guess is right in at most {right} of 100 cases.",
}
RATED = "On the scale very strong, strong, moderate, weak the protection is {rating}."
ALONE = "This holds for this release alone; every further release about the same population adds to it."
GROUP = "So the guarantee holds for any {size} of them together; the account is charged for one."
TOGETHER = "The guarantee holds for all tables of this batch together, which were charged as one."
UNITS = ("record", "person", "household")

NEIGHBOURS: tuple[str, ...] = (
    "Two data sets are neighbours if one row is added or removed.",
    "Two data sets are neighbours if one row is replaced by another.",
    "Two data sets are neighbours if one row is replaced by another with the same publicly known attributes "
    "({public}).",
    "Two data sets are neighbours if one {unit}, with at most {rows} row(s), is added or removed.",
    "Two data sets are neighbours if one {unit}, with at most {rows} row(s), is replaced by another.",
    "Two data sets are neighbours if one {unit}, with at most {rows} row(s), is replaced by another with the same "
    "publicly known attributes ({public}).",
)
"""What `Neighbours.sentence` says."""
_PLAIN = (*ODDS.values(), *TEST.values(), *NO_FIGURE.values(), *COMPARED.values(), RATED, ALONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What a plan guarantees in plain words, and in the words of its definition."""

    plain: str
    formal: str


def guarantee_of(plan: TablePlan) -> Guarantee:
    """Return the guarantee of a plan in sentences; its figures are never smaller than the truth."""
    definition: Definition = registry.get("definitions", plan.definition)()
    neighbours = plan.neighbours.grouped(plan.group)
    claim = _claim(plan, definition)
    together = [GROUP.format(size=plan.group)] if plan.group > 1 else []
    whole = [TOGETHER] if isinstance(plan, BatchPlan) else []
    return Guarantee(
        plain=" ".join((in_plain_words(claim, neighbours), *whole)),
        formal=" ".join((definition.sentence(plan.budget), neighbours.sentence(), *together)),
    )


def in_plain_words(claim: PrivacyProfile, neighbours: Neighbours) -> str:
    """Return the figure between neighbours, its place on the scale, and how far it reaches."""
    unit = "record" if neighbours.unit == "row" else neighbours.unit
    right = right_of_100(claim.distance())
    figures: dict[str, object] = {"unit": unit, "right": right}
    if claim.is_pure:
        epsilon = claim.epsilon or Fraction(0)
        # Another value of a unit that is present is one removal and one addition.
        figures |= {"factor": factor_of(epsilon), "squared": factor_of(2 * epsilon)}
    if neighbours.scope in NO_FIGURE:
        compared = COMPARED["odds" if claim.is_pure else "test"].format(**figures)
        return f"{NO_FIGURE[neighbours.scope]} {compared} {ALONE}"
    about = "not public" if neighbours.public else "values" if neighbours.is_replace else "presence"
    first = (ODDS if claim.is_pure else TEST)[about].format(**figures)
    return f"{first} {RATED.format(rating=rating(right))} {ALONE}"


def right_of_100(distance: Fraction) -> int:
    """Return how many of 100 guesses between two neighbours are right at most, where each is as likely; rounded up.

    >>> right_of_100(Fraction("0.08")), right_of_100(Fraction("0.0801")), right_of_100(Fraction(0))
    (54, 55, 50)
    """
    return ceil(50 * (1 + distance))


def rating(right: int) -> str:
    """Return the word for a protection under which so many guesses of 100 are right at most."""
    return next(word for word, most in SCALE if right <= most)


def factor_of(epsilon: Fraction) -> str:
    """Return exp(epsilon) in a few digits, rounded up.

    >>> [factor_of(Fraction(e)) for e in ("0.01", "0.5", "1", "10", "100")]
    ['1.011', '1.65', '2.72', '22,100', '10^44']
    """
    power = ceil(epsilon / _LOG_OF_TEN)
    if power > 6:
        return f"10^{power}"
    factor = exp_upper(epsilon)
    whole, digits = (0, 3) if factor >= 2 else (1, 2)
    rest = factor - whole
    up = Context(prec=digits, rounding=ROUND_CEILING).divide(Decimal(rest.numerator), Decimal(rest.denominator))
    return f"{whole + up:,f}"


def _claim(plan: TablePlan, definition: Definition) -> PrivacyProfile:
    """Return what is known between the plan's neighbours: the definition's amounts, the charge, and the noise."""
    relation, cost = plan.neighbours.relation, plan.reservation
    claim = definition.claim(plan.budget, relation)
    # A guarantee to groups is charged for one unit.
    charge = PrivacyProfile(relation=relation, epsilon=cost.epsilon, rho=cost.rho, rho_delta=cost.delta)
    if claim.is_pure:
        return charge if plan.group == 1 and charge.is_pure else claim
    bounds = [claim.distance(), _noise_distance(plan), *([charge.distance()] if plan.group == 1 else [])]
    return PrivacyProfile(relation=relation, curve=lambda _: min(bounds))


def _noise_distance(plan: TablePlan) -> Fraction:
    """The total variation of all noise together; 1 where steps follow answers or it is too much work."""
    if plan.neighbours.scope.is_data_dependent or type(plan).steps is not TablePlan.steps:
        return Fraction(1)
    neighbours = plan.neighbours.grouped(plan.group)
    try:
        with limits.limited():
            profiles = [measurement.profile(neighbours) for measurement in plan.measurements]
            if len(profiles) > 1 and any(not each.shifts and each.rho is not None for each in profiles):
                # A step without listed moves is known by its rho, which is part of the charge.
                return Fraction(1)
            distance: Fraction = registry.get("definitions", "approximate")().delta(profiles, Fraction(0))
    except (TooLarge, Unsupported, limits.Exhausted):
        return Fraction(1)
    return distance


def told(text: str, language: str) -> str:
    """A stored text with every sentence that is known in the language said in it.

    >>> told("Covers every record. Two data sets are neighbours if one row is added or removed.", "de")
    'Umfasst alle Datensätze. Zwei Datensätze sind Nachbarn, wenn eine Zeile hinzukommt oder wegfällt.'
    """
    for english, other in _pairs(language):
        text = re.sub(_pattern(english), partial(_translate_sentence, other, language), text)
    return text


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """What a sentence looks like; a word that stands in it twice is the same both times."""
    pieces, names = [], set[str]()
    for text, name in zip(*[iter((*re.split(r"\{(\w+)\}", template), ""))] * 2, strict=True):
        pieces.append(re.escape(text) + (f"(?P={name})" if name in names else f"(?P<{name}>.+?)" if name else ""))
        names.add(name)
    return re.compile("".join(pieces))


def _translate_sentence(other: str, language: str, match: re.Match[str]) -> str:
    words = match.groupdict()
    if "names" in words:
        words["names"] = words["names"].replace(UNIVERSES["en"]["and"], UNIVERSES[language]["and"])
    words |= {name: number_marks(words[name], language) for name in ("factor", "squared") if name in words}
    translations = {word: texts(word) for word in (*UNITS, *(word for word, _ in SCALE))}
    spoken = {name: translations[word][language] for name, word in words.items() if word in translations}
    return other.format(**words | spoken)


def _pairs(language: str) -> Iterator[tuple[str, str]]:
    """Return sentences of guarantees, then of universes, the longest first, each with its translation."""
    if language not in languages() or language == ENGLISH:
        return
    stated = (sentence for definition in registry.own("definitions").values() for sentence in definition.statements)
    sentences = (*_PLAIN, *stated, *NEIGHBOURS, GROUP, TOGETHER)
    yield from ((sentence, texts(sentence)[language]) for sentence in sentences)
    words, other = UNIVERSES[ENGLISH], UNIVERSES[language]
    apart = {"own conditions", "meeting", "and"}
    for key in sorted((key for key in words if key not in apart), key=lambda key: -len(words[key])):
        met = "own conditions" if key == "own" else "meeting"
        for condition in (met, "") if "{conditions}" in words[key] else ("",):
            both = [each[key].replace("{conditions}", each[condition] if condition else "") for each in (words, other)]
            yield both[0], both[1]
