"""Sentences that several methods share, in every language."""

from dalenius.spec.method import Words


def estimate_words(en: tuple[str, str, str], de: tuple[str, str, str], *, is_even: bool = True) -> dict[str, Words]:
    """Return how an estimate is spoken of: by its title, its name, and the clause that says where it is missing.

    The German name has its article. `is_even` says that the error is foreseen for values spread evenly.
    """
    spread = (" spread evenly over the bounds", ", gleichmäßig über die Schranken verteilt,") if is_even else ("", "")
    return {
        "en": Words(
            title=en[0],
            preview=f"In a cell of {{records}} records{spread[0]}, expect the {en[1]} to be off by at most ± {{error}} "
            "(95 %) through privacy noise; in smaller cells by more.",
            caption=f"± is the margin of error from privacy noise, {{level}}; {en[2]}.",
        ),
        "de": Words(
            title=de[0],
            preview=f"In einer Zelle mit {{records}} Datensätzen{spread[1]} weicht {de[1]} durch das Schutzrauschen "
            "voraussichtlich um höchstens ± {error} ab (95 %), in kleineren Zellen um mehr.",
            caption=f"± ist die Fehlerspanne durch das Schutzrauschen, {{level}}; {de[2]}.",
        ),
    }


def rank_words(en: tuple[str, str], de: tuple[str, str], further: tuple[str, str] = ("", "")) -> dict[str, Words]:
    """Return how quantiles are spoken of: by their title, one of them with its article (German: genitive), and a
    further sentence under the table.
    """
    return {
        "en": Words(
            title=en[0],
            preview=f"In a cell of {{records}} records, expect the interval of {en[1]} to reach {{error}} ranks to "
            "either side (95 %) through privacy noise.",
            caption="± is the margin of error from privacy noise, {level}, between points that released counts "
            f"certify; it holds however many records share a value.{further[0]}",
        ),
        "de": Words(
            title=de[0],
            preview=f"In einer Zelle mit {{records}} Datensätzen reicht das Intervall {de[1]} durch das "
            "Schutzrauschen voraussichtlich {error} Ränge nach beiden Seiten (95 %).",
            caption="± ist die Fehlerspanne durch das Schutzrauschen, {level}, zwischen Punkten, die veröffentlichte "
            f"Anzahlen belegen; sie gilt, wie viele Datensätze auch einen Wert teilen.{further[1]}",
        ),
    }
