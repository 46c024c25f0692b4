"""The sentences of a guarantee, of its neighbours and of a universe that a release stores in English, for readers of
another language.

A sentence is found by its words; one that is not known here stays as it is stored.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial

from dalenius.spec.universe import SENTENCES as UNIVERSES

GUARANTEES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "de": (
        (
            "Whatever is released, and whoever reads it, the odds of anything about one unit change by at most a "
            "factor of exp({epsilon})"
            " because of that unit's data (pure differential privacy, epsilon = {stated}).",
            "Was auch immer veröffentlicht wird und wer auch immer es liest: die Chancen von irgendetwas über eine "
            "Einheit ändern sich"
            " durch deren Daten höchstens um den Faktor exp({epsilon}) (reine Differential Privacy, epsilon = "
            "{stated}).",
        ),
        (
            "Because of one unit's data the probability of any outcome changes by at most a factor of "
            "exp({epsilon}), plus {delta}"
            " (approximate differential privacy, epsilon = {stated}, delta = {again}).",
            "Durch die Daten einer Einheit ändert sich die Wahrscheinlichkeit jedes Ergebnisses höchstens um den "
            "Faktor exp({epsilon}),"
            " zuzüglich {delta} (approximative Differential Privacy, epsilon = {stated}, delta = {again}).",
        ),
        (
            "Except with probability {delta}, the odds of anything about one unit change by at most a factor of "
            "exp({epsilon}) because of"
            " that unit's data (probabilistic differential privacy).",
            "Außer mit Wahrscheinlichkeit {delta} ändern sich die Chancen von irgendetwas über eine Einheit durch "
            "deren Daten höchstens"
            " um den Faktor exp({epsilon}) (probabilistische Differential Privacy).",
        ),
        (
            "The Renyi divergence of order a between neighbours is at most a * {rho} for every a > 1, but for a part "
            "of probability"
            " {delta} (zero-concentrated differential privacy, rho = {stated}); it follows, for example, that the "
            "probability of any"
            " outcome changes by at most a factor of exp({epsilon}), plus one in a million and {again}, because of "
            "one unit's data.",
            "Die Rényi-Divergenz der Ordnung a zwischen Nachbarn ist für jedes a > 1 höchstens a * {rho}, außer auf "
            "einem Teil der"
            " Wahrscheinlichkeit {delta} (zero-concentrated Differential Privacy, rho = {stated}); daraus folgt zum "
            "Beispiel, dass sich"
            " die Wahrscheinlichkeit jedes Ergebnisses durch die Daten einer Einheit höchstens um den Faktor "
            "exp({epsilon}) ändert,"
            " zuzüglich eins zu einer Million und {again}.",
        ),
        (
            "The Renyi divergence of order a between neighbours is at most a * {rho} for every a > 1 "
            "(zero-concentrated differential"
            " privacy, rho = {stated}); it follows, for example, that the probability of any outcome changes by at "
            "most a factor of"
            " exp({epsilon}), plus one in a million, because of one unit's data.",
            "Die Rényi-Divergenz der Ordnung a zwischen Nachbarn ist für jedes a > 1 höchstens a * {rho} "
            "(zero-concentrated Differential"
            " Privacy, rho = {stated}); daraus folgt zum Beispiel, dass sich die Wahrscheinlichkeit jedes "
            "Ergebnisses durch die Daten"
            " einer Einheit höchstens um den Faktor exp({epsilon}) ändert, zuzüglich eins zu einer Million.",
        ),
        (
            "Two data sets are neighbours if one row is added or removed.",
            "Zwei Datensätze sind Nachbarn, wenn eine Zeile hinzukommt oder wegfällt.",
        ),
        (
            "Two data sets are neighbours if one row is replaced by another.",
            "Zwei Datensätze sind Nachbarn, wenn eine Zeile durch eine andere ersetzt wird.",
        ),
        (
            "Two data sets are neighbours if one {unit}, with at most {rows} row(s), is added or removed.",
            "Zwei Datensätze sind Nachbarn, wenn eine Einheit ({unit}) mit höchstens {rows} Zeile(n) hinzukommt oder "
            "wegfällt.",
        ),
        (
            "Two data sets are neighbours if one {unit}, with at most {rows} row(s), is replaced by another.",
            "Zwei Datensätze sind Nachbarn, wenn eine Einheit ({unit}) mit höchstens {rows} Zeile(n) durch eine "
            "andere ersetzt wird.",
        ),
        (
            "So the guarantee holds for any {size} of them together; the account is charged for one.",
            "Das Versprechen gilt also für je {size} von ihnen zusammen; verbucht wird es für eine.",
        ),
    )
}


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
    """Sentences of guarantees, then those of universes, longest first: a shorter one can be the beginning
    of another.
    """
    yield from GUARANTEES.get(language, ())
    words, other = UNIVERSES["en"], UNIVERSES.get(language)
    if other is None or language == "en":
        return
    apart = {"own conditions", "meeting", "and"}
    for key in sorted((key for key in words if key not in apart), key=lambda key: -len(words[key])):
        met = "own conditions" if key == "own" else "meeting"
        for condition in (met, "") if "{conditions}" in words[key] else ("",):
            both = [
                texts[key].replace("{conditions}", texts[condition] if condition else "") for texts in (words, other)
            ]
            yield both[0], both[1]
