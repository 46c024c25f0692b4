"""The sentences of a guarantee, of its neighbours and of a universe that a release stores in English, for readers of
another language.

A sentence is found by its words; one that is not known here stays as it is stored.
"""

import re
from collections.abc import Iterator
from functools import partial

from dalenius.spec.universe import SENTENCES as UNIVERSES
from dalenius.translation import ENGLISH, languages, texts

GUARANTEES: tuple[str, ...] = (
    "Whatever is released, and whoever reads it, the odds of anything about one unit change by at most a factor of "
    "exp({epsilon}) because of that unit's data (pure differential privacy, epsilon = {stated}).",
    "Because of one unit's data the probability of any outcome changes by at most a factor of exp({epsilon}), plus "
    "{delta} (approximate differential privacy, epsilon = {stated}, delta = {again}).",
    "Except with probability {delta}, the odds of anything about one unit change by at most a factor of "
    "exp({epsilon}) because of that unit's data (probabilistic differential privacy).",
    "The Renyi divergence of order a between neighbours is at most a * {rho} for every a > 1, but for a part of "
    "probability {delta} (zero-concentrated differential privacy, rho = {stated}); it follows, for example, that the "
    "probability of any outcome changes by at most a factor of exp({epsilon}), plus one in a million and {again}, "
    "because of one unit's data.",
    "The Renyi divergence of order a between neighbours is at most a * {rho} for every a > 1 (zero-concentrated "
    "differential privacy, rho = {stated}); it follows, for example, that the probability of any outcome changes by "
    "at most a factor of exp({epsilon}), plus one in a million, because of one unit's data.",
    "Two data sets are neighbours if one row is added or removed.",
    "Two data sets are neighbours if one row is replaced by another.",
    "Two data sets are neighbours if one {unit}, with at most {rows} row(s), is added or removed.",
    "Two data sets are neighbours if one {unit}, with at most {rows} row(s), is replaced by another.",
    "So the guarantee holds for any {size} of them together; the account is charged for one.",
)


def told(text: str, language: str) -> str:
    """A stored text with every sentence that is known in the language said in it.

    >>> told("Covers every record. Two data sets are neighbours if one row is added or removed.", "de")
    'Umfasst alle Datensätze. Zwei Datensätze sind Nachbarn, wenn eine Zeile hinzukommt oder wegfällt.'
    """
    for english, other in _pairs(language):
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(english))
        text = re.sub(pattern, partial(_said, other, language), text)
    return text


def _said(other: str, language: str, match: re.Match[str]) -> str:
    """One sentence, with the word before the last of its names."""
    words = match.groupdict()
    if "names" in words:
        words["names"] = words["names"].replace(UNIVERSES["en"]["and"], UNIVERSES[language]["and"])
    return other.format(**words)


def _pairs(language: str) -> Iterator[tuple[str, str]]:
    """Return sentences of guarantees, then of universes, the longest first, each with its translation."""
    if language not in languages() or language == ENGLISH:
        return
    yield from ((sentence, texts(sentence)[language]) for sentence in GUARANTEES)
    words, other = UNIVERSES[ENGLISH], UNIVERSES[language]
    apart = {"own conditions", "meeting", "and"}
    for key in sorted((key for key in words if key not in apart), key=lambda key: -len(words[key])):
        met = "own conditions" if key == "own" else "meeting"
        for condition in (met, "") if "{conditions}" in words[key] else ("",):
            both = [each[key].replace("{conditions}", each[condition] if condition else "") for each in (words, other)]
            yield both[0], both[1]
