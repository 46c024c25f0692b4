"""What readers must be told about a plan or a release, in every language; a release stores the English sentence.

`note(code)` gives the sentence that is stored. `in_language` finds the code of a stored sentence and says it in the
reader's language; a sentence that is not known here is left as it is.
"""

import re
from collections.abc import Mapping

REMARKS: Mapping[str, Mapping[str, str]] = {
    "repetition": {
        "en": "Repeated releases reveal the scale of the noise by their spread, and with it something about the "
        "largest values in"
        " the data; this is not accounted for.",
        "de": "Wiederholte Veröffentlichungen verraten durch ihre Streuung die Größe des Rauschens und damit etwas "
        "über die größten"
        " Werte der Daten; das wird nicht verbucht.",
    },
    "function": {
        "en": "The blocks were judged by a function of the custodian's own; its digest stands in the request.",
        "de": "Die Blöcke wurden durch eine eigene Funktion der Datenhaltenden beurteilt; ihr Fingerabdruck steht in "
        "der Anfrage.",
    },
    "silent_blocks": {
        "en": "{silent} of {blocks} blocks gave no number (measured, ± {margin}, 95 %). They count as the middle of "
        "the range, and intervals allow"
        " any number of the range in their place.",
        "de": "{silent} von {blocks} Blöcken gaben keine Zahl (gemessen, ± {margin}, 95 %). Sie zählen als die Mitte "
        "des Bereichs, und Intervalle"
        " lassen an ihrer Stelle jede Zahl des Bereichs zu.",
    },
    "silent_cut_blocks": {
        "en": "{silent} of {blocks} blocks gave no number (measured, ± {margin}, 95 %). They count as the middle of "
        "the two ends at which the"
        " others are cut, and intervals allow any number between these ends in their place.",
        "de": "{silent} von {blocks} Blöcken gaben keine Zahl (gemessen, ± {margin}, 95 %). Sie zählen als die Mitte "
        "der beiden Enden, an denen"
        " die anderen gekappt werden, und Intervalle lassen an ihrer Stelle jede Zahl zwischen diesen Enden zu.",
    },
    "scale": {
        "en": "The scale of the noise depends on the confidential data and is withheld, so no standard error can be "
        "published.",
        "de": "Die Größe des Rauschens hängt von den vertraulichen Daten ab und wird nicht genannt; deshalb kann "
        "kein Standardfehler"
        " veröffentlicht werden.",
    },
    "who_bootstrap": {
        "en": "Protected: a person in the data, who can claim to have any other record that occurs in the data. Not "
        "protected: anyone"
        " whose record does not occur in the data, anyone who joins in a later version, groups of people.",
        "de": "Geschützt: eine Person in den Daten, die behaupten kann, irgendeinen anderen Datensatz zu haben, der "
        "in den Daten"
        " vorkommt. Nicht geschützt: alle, deren Datensatz nicht in den Daten vorkommt, alle, die in einer späteren "
        "Version"
        " hinzukommen, Gruppen von Personen.",
    },
    "who_individual": {
        "en": "Protected: each single person in the data, against an intruder who does not use the fact that the "
        "noise was fitted to"
        " the data. Not protected: groups of people, later versions, and anyone against an intruder who knows the "
        "algorithm and"
        " compares what it would have done with other data.",
        "de": "Geschützt: jede einzelne Person in den Daten, gegen Angreifer, die nicht nutzen, dass das Rauschen "
        "den Daten angepasst"
        " wurde. Nicht geschützt: Gruppen von Personen, spätere Versionen, und alle gegen Angreifer, die das "
        "Verfahren kennen und"
        " vergleichen, was es mit anderen Daten getan hätte.",
    },
    "clamp": {
        "en": "Answers are cut to the exact count plus or minus one. A few answers give the exact count away; the "
        "fewer, the smaller"
        " epsilon is.",
        "de": "Antworten werden auf die genaue Anzahl plus oder minus eins gekürzt. Wenige Antworten verraten die "
        "genaue Anzahl; umso"
        " weniger, je kleiner Epsilon ist.",
    },
    "membership": {
        "en": "Who belongs to which cell is taken as public; a person can claim only values that occur in their own "
        "cell.",
        "de": "Wer zu welcher Zelle gehört, gilt als öffentlich; eine Person kann nur Werte behaupten, die in ihrer "
        "eigenen Zelle"
        " vorkommen.",
    },
    "linkage": {
        "en": "Not protected: who is in the data, and their publicly known attributes. Whoever has those can link "
        "them to what is"
        " released; where a few units agree in all of them, they are the ones it is about.",
        "de": "Nicht geschützt: wer in den Daten ist, und die öffentlich bekannten Merkmale. Wer diese kennt, kann "
        "sie mit dem"
        " Veröffentlichten verknüpfen; wo nur wenige in allen übereinstimmen, sind sie es, von denen die Rede ist.",
    },
    "part": {
        "en": "The table shows a part of {names}. Records with other declared values are counted nowhere, and a "
        "total is the total of what is"
        " shown.",
        "de": "Die Tabelle zeigt einen Teil von {names}. Datensätze mit anderen deklarierten Werten sind nirgends "
        "gezählt, und eine Summe ist"
        " die Summe der gezeigten.",
    },
    "zeros_are_facts": {
        "en": "Cells that are declared impossible are taken as zeros. Records that lie in one all the same disturb "
        "the numbers around it, by more than the"
        " margins of error say.",
        "de": "Zellen, die als unmöglich erklärt sind, gelten als Nullen. Datensätze, die dennoch in einer liegen, "
        "verfälschen die Zahlen um sie herum,"
        " stärker als die Fehlerspannen sagen.",
    },
    "squares_too_large": {
        "en": "There is no error of sampling: squares of {of} are too large in its declared steps. A coarser step or "
        "narrower bounds would allow it.",
        "de": "Ein Stichprobenfehler fehlt: Quadrate von {of} sind in den erklärten Schritten zu groß. Ein gröberer "
        "Schritt oder engere Grenzen würden ihn erlauben.",
    },
    "mean": {
        "en": "A mean is a ratio of two released numbers: nearly unbiased where the count is large.",
        "de": "Ein Mittelwert ist ein Verhältnis zweier veröffentlichter Zahlen: nahezu unverzerrt, wo die Anzahl "
        "groß ist.",
    },
    "fixed_weights": {
        "en": "The weights are fixed by the custodian's declaration.",
        "de": "Die Gewichte sind durch die Erklärung der Datenhaltenden festgelegt.",
    },
    "clipped_mean": {
        "en": "Values are cut to bounds that were learned and released first; the mean, and its intervals, are of "
        "the values as they were cut.",
        "de": "Werte werden auf Schranken gekürzt, die zuvor gelernt und veröffentlicht wurden; der Mittelwert und "
        "seine Intervalle sind die der"
        " gekürzten Werte.",
    },
    "clipped_share": {
        "en": "Values are cut to bounds that were learned and released first, and the mean is of the values as they "
        "were cut. Its intervals are for"
        " the mean between the declared bounds: they are wider by what the released number of rows that were cut "
        "allows.",
        "de": "Werte werden auf Schranken gekürzt, die zuvor gelernt und veröffentlicht wurden, und der Mittelwert "
        "ist der der gekürzten Werte."
        " Seine Intervalle gelten für den Mittelwert zwischen den erklärten Schranken: Sie sind um das weiter, was "
        "die veröffentlichte Anzahl"
        " gekürzter Zeilen erlaubt.",
    },
    "regularised": {
        "en": "Weights were drawn towards a common one by a declared share, which makes the noise smaller. The "
        "estimate and its intervals are for"
        " these weights: where weights go with the variable, the population has another mean.",
        "de": "Die Gewichte wurden um einen erklärten Anteil zu einem gemeinsamen hin verschoben, was das Rauschen "
        "kleiner macht. Schätzung und"
        " Intervalle gelten für diese Gewichte: Wo Gewichte mit der Variablen zusammenhängen, hat die "
        "Grundgesamtheit einen anderen"
        " Mittelwert.",
    },
    "design_where_known": {
        "en": "The error of the design comes from a table of squared weights with noise of its own, as if records "
        "had been drawn one by"
        " one with replacement. Where that noise is more than half of what the table says, an interval is of the "
        "noise alone.",
        "de": "Der Fehler des Stichprobenplans kommt aus einer Tabelle quadrierter Gewichte mit eigenem Rauschen, "
        "als wären die"
        " Datensätze einzeln mit Zurücklegen gezogen. Wo dieses Rauschen mehr als die Hälfte davon ist, gilt ein "
        "Intervall nur für das"
        " Rauschen.",
    },
    "design_error": {
        "en": "The error with sampling is that of the survey's design, as if records had been drawn independently of "
        "one another with"
        " chances in inverse proportion to their weights; strata make it smaller, clusters larger.",
        "de": "Der Fehler mit Stichprobe ist der des Erhebungsplans, als wären Datensätze unabhängig voneinander "
        "gezogen worden, mit"
        " Chancen umgekehrt zu ihren Gewichten; Schichten machen ihn kleiner, Klumpen größer.",
    },
    "family": {
        "en": "Parameters are those of the distribution under which values that are cut at the declared bounds have "
        "the measured moments;"
        " if the records do not follow such a distribution, neither the parameters nor their errors mean anything.",
        "de": "Die Parameter sind die der Verteilung, unter der Werte, die an den erklärten Schranken gekappt sind, "
        "die gemessenen Momente"
        " haben; folgen die Datensätze keiner solchen Verteilung, so bedeuten weder die Parameter noch ihre Fehler "
        "etwas.",
    },
    "learned_bounds": {
        "en": "These are totals of values clipped at the released bounds, and the intervals are for those. The "
        "totals themselves are"
        " larger by what was clipped, which is not known.",
        "de": "Dies sind Summen von Werten, die an den veröffentlichten Grenzen gekappt wurden, und die Intervalle "
        "gelten für diese. Die"
        " Summen selbst sind um das Gekappte größer, das nicht bekannt ist.",
    },
    "clipped": {
        "en": "What one person adds to all cells together is scaled down to {clip} in the {norm} norm where it is "
        "more. Numbers and"
        " intervals are of what is left; how much was clipped is not known.",
        "de": "Was eine Person zu allen Zellen zusammen beiträgt, wird auf {clip} in der {norm}-Norm verkleinert, wo "
        "es mehr ist. Zahlen"
        " und Intervalle gelten für das Übrige; wie viel gekappt wurde, ist nicht bekannt.",
    },
    "chosen_clip": {
        "en": "Of the bounds {clips} the bound {clip} was chosen before anything was read: by the numbers of persons "
        "that the request"
        " states it has the smallest predicted error. The smallest error is no guarantee where the stated numbers are "
        "wrong.",
        "de": "Von den Schranken {clips} wurde {clip} gewählt, bevor etwas gelesen wurde: nach den Personenzahlen "
        "der Anfrage hat sie den"
        " kleinsten erwarteten Fehler. Sind diese Zahlen falsch, so ist er nicht zugesichert.",
    },
    "learned_clip": {
        "en": "What one person adds to all cells together is scaled down in the {norm} norm to the smallest listed "
        "bound that leaves"
        " {q} of the persons whole, by the noisy numbers of persons that are released here. Numbers and intervals "
        "are of what is left.",
        "de": "Was eine Person zu allen Zellen zusammen beiträgt, wird in der {norm}-Norm auf die kleinste genannte "
        "Schranke verkleinert,"
        " die {q} der Personen ganz lässt, nach den verrauschten Personenzahlen, die hier veröffentlicht sind. "
        "Zahlen und Intervalle"
        " gelten für das Übrige.",
    },
    "selected_labels": {
        "en": "The texts were found in the data: one is listed if its number of units plus noise is above "
        "{threshold}, which noise alone"
        " never is, and surely from {sure} units on. Texts that are declared are not counted here, and each unit "
        "counts in at most"
        " {most} of the others.",
        "de": "Die Texte wurden in den Daten gefunden: einer wird genannt, wenn die Anzahl seiner Einheiten plus "
        "Rauschen über {threshold}"
        " liegt, was Rauschen allein nie tut, und sicher ab {sure} Einheiten. Erklärte Texte werden hier nicht "
        "gezählt, und jede"
        " Einheit zählt in höchstens {most} der anderen.",
    },
    "selected_median": {
        "en": "A released median is a selected value: its error depends on how dense the data are around it, which "
        "is not published. It"
        " is reliable where a cell holds many records.",
        "de": "Ein veröffentlichter Median ist ein ausgewählter Wert: sein Fehler hängt davon ab, wie dicht die "
        "Daten um ihn liegen, was"
        " nicht veröffentlicht wird. Er ist verlässlich, wo eine Zelle viele Datensätze hat.",
    },
    "bounded": {
        "en": "Values outside the declared bounds count as the bounds; estimates and their errors are of those values.",
        "de": "Werte außerhalb der erklärten Schranken zählen als die Schranken; Schätzungen und ihre Fehler gelten "
        "für diese Werte.",
    },
    "census": {
        "en": "The data are a census: nobody was sampled, so that there is no error of sampling, and the error "
        "stated is that of the"
        " privacy noise alone.",
        "de": "Die Daten sind eine Vollerhebung: Es wurde keine Stichprobe gezogen, also gibt es keinen "
        "Stichprobenfehler, und der"
        " angegebene Fehler ist der des Schutzrauschens allein.",
    },
    "clusters": {
        "en": "The records were drawn in clusters, whose error of sampling is not computed: the error stated is that "
        "of the privacy"
        " noise alone.",
        "de": "Die Datensätze wurden in Klumpen gezogen, deren Stichprobenfehler nicht berechnet wird: Der "
        "angegebene Fehler ist der"
        " des Schutzrauschens allein.",
    },
    "weights_without_design": {
        "en": "The data set does not say how its records were drawn ([design] in its document), and with survey "
        "weights no error of"
        " sampling is stated without that: the error stated is that of the privacy noise alone.",
        "de": "Die Beschreibung der Daten sagt nicht, wie die Datensätze gezogen wurden ([design] in ihrem "
        "Dokument), und mit"
        " Gewichten wird ohne das kein Stichprobenfehler angegeben: Der angegebene Fehler ist der des "
        "Schutzrauschens allein.",
    },
    "if_independent": {
        "en": "The error with sampling holds if the records were drawn independently.",
        "de": "Der Fehler mit Stichprobe gilt, wenn die Datensätze unabhängig voneinander gezogen wurden.",
    },
    "if_units_independent": {
        "en": "The error with sampling holds if the units were drawn independently.",
        "de": "Der Fehler mit Stichprobe gilt, wenn die Einheiten unabhängig voneinander gezogen wurden.",
    },
    "rows_of_units": {
        "en": "A unit may have {rows} rows, which are no independent draws: the variance of sampling is multiplied "
        "by that number,"
        " which is enough even where all rows of a unit are alike.",
        "de": "Eine Einheit kann {rows} Zeilen haben, und die sind nicht unabhängig gezogen: Die Stichprobenvarianz "
        "wird mit"
        " dieser Zahl malgenommen, was auch genügt, wenn alle Zeilen einer Einheit gleich sind.",
    },
    "noise_alone": {
        "en": "The error of sampling was not asked for; the error stated is that of the privacy noise alone.",
        "de": "Der Stichprobenfehler wurde nicht verlangt; der angegebene Fehler ist der des Schutzrauschens allein.",
    },
    "blocks": {
        "en": "A block whose estimate lies outside the declared range of the parameter counts as the nearer end, and "
        "one without an"
        " estimate as the middle; the error with sampling is that of estimates in blocks.",
        "de": "Ein Block, dessen Schätzung außerhalb des erklärten Bereichs des Parameters liegt, zählt als das "
        "nähere Ende, einer ohne"
        " Schätzung als die Mitte; der Fehler mit Stichprobe ist der von Schätzungen in Blöcken.",
    },
    "no_reply": {
        "en": "There is a reply with 99 % probability where at least {distance} records can change before one more "
        "could move the answer"
        " by more than the bound; elsewhere the outcome may be 'no reply', which is charged like any other.",
        "de": "Eine Antwort gibt es mit 99 % Wahrscheinlichkeit, wo mindestens {distance} Datensätze sich ändern "
        "können, ehe ein weiterer"
        " das Ergebnis um mehr als die Schranke verschieben könnte; sonst kann das Ergebnis „keine Antwort“ sein, "
        "und sie wird wie jedes"
        " andere verbucht.",
    },
    "cascade": {
        "en": "Bounds are tried from the smallest on, and the first that passes its test gives the noise; all of "
        "them are paid for once. A"
        " bound, or a smaller one, passes with 99 % probability where at least so many records can change before one "
        "more could move the"
        " answer by more than it: {distances}. The outcome may be 'no reply', which is charged like any other.",
        "de": "Schranken werden von der kleinsten an versucht, und die erste, die ihre Prüfung besteht, bestimmt das "
        "Rauschen; verbucht"
        " werden alle zusammen einmal. Eine Schranke oder eine kleinere besteht mit 99 % Wahrscheinlichkeit, wo "
        "mindestens so viele"
        " Datensätze sich ändern können, ehe ein weiterer das Ergebnis um mehr als sie verschieben könnte: "
        "{distances}. Das Ergebnis kann"
        " „keine Antwort“ sein, und sie wird wie jedes andere verbucht.",
    },
    "resampled": {
        "en": "Both errors come from noisy totals of resampled files; multiplicities were drawn anew for each and "
        "are not kept.",
        "de": "Beide Fehler stammen aus verrauschten Summen neu gezogener Dateien; die Häufigkeiten wurden für jede "
        "neu gezogen und werden"
        " nicht aufbewahrt.",
    },
    "clustered": {
        "en": "A unit may have {rows} rows: multiplicities are priced as if they were published, and the error of "
        "sampling allows for rows"
        " of one unit that are all alike.",
        "de": "Eine Einheit kann {rows} Zeilen haben: die Häufigkeiten werden so verbucht, als wären sie "
        "veröffentlicht, und der"
        " Stichprobenfehler lässt zu, dass alle Zeilen einer Einheit gleich sind.",
    },
    "bootstrap_wider": {
        "en": "Expect the bootstrap interval to reach ± {bootstrap} (95 %) with sampling in a typical cell; without "
        "a bootstrap the same"
        " budget gives ± {moments}, which is recommended.",
        "de": "Das Bootstrap-Intervall reicht in einer typischen Zelle voraussichtlich ± {bootstrap} weit (95 %) mit "
        "Stichprobenfehler; ohne"
        " Bootstrap gibt dasselbe Budget ± {moments}, was zu empfehlen ist.",
    },
    "bootstrap_shorter": {
        "en": "Expect the bootstrap interval to reach ± {bootstrap} (95 %) with sampling in a typical cell; without "
        "a bootstrap the same"
        " budget gives ± {moments}, which is wider.",
        "de": "Das Bootstrap-Intervall reicht in einer typischen Zelle voraussichtlich ± {bootstrap} weit (95 %) mit "
        "Stichprobenfehler; ohne"
        " Bootstrap gibt dasselbe Budget ± {moments}, was weiter ist.",
    },
    "timed": {
        "en": "How long the choice takes depends on the data: a server answers on a tick, and only that hides it; "
        "run by hand, nobody else"
        " should see the clock.",
        "de": "Wie lange die Auswahl dauert, hängt von den Daten ab: ein Server antwortet im Takt, und nur das "
        "verbirgt es; von Hand"
        " ausgeführt, sollte niemand sonst auf die Uhr sehen.",
    },
    "refined": {
        "en": "Only groups with a released count of at least {least} are shown in detail; the detail of a group need "
        "not"
        " add up to its coarse count, which was measured on its own.",
        "de": "Nur Gruppen mit einer veröffentlichten Anzahl von mindestens {least} werden im Einzelnen gezeigt; die "
        "Einzelheiten einer"
        " Gruppe müssen sich nicht zu ihrer groben Anzahl aufsummieren, die für sich gemessen wurde.",
    },
    "keyed_list": {
        "en": "The noise is made from a secret key, and is the same whenever this list is asked for. The guarantee is "
        "computational: it holds"
        " against anybody who cannot tell such noise from random noise, as long as the key stays secret.",
        "de": "Das Rauschen wird aus einem geheimen Schlüssel erzeugt und ist dasselbe, wann immer diese Liste "
        "verlangt wird. Das Versprechen"
        " ist rechnerisch: Es gilt gegen alle, die solches Rauschen nicht von zufälligem unterscheiden können, "
        "solange der Schlüssel"
        " geheim bleibt.",
    },
    "ranges": {
        "en": "Measured for sums over ranges: those that were asked for are off by about ± {error} (95 %), single "
        "cells by up to ± {cells}.",
        "de": "Gemessen für Summen über Bereiche: die verlangten weichen um etwa ± {error} ab (95 %), einzelne "
        "Zellen um bis zu ± {cells}.",
    },
    "secret_sample": {
        "en": "The numbers are estimates from a secret sample that was drawn for this release with chance {fraction} "
        "for every record; the"
        " margins are of sampling and noise together.",
        "de": "Die Zahlen sind Schätzungen aus einer geheimen Stichprobe, die für diese Veröffentlichung gezogen "
        "wurde, jeder Datensatz mit"
        " der Wahrscheinlichkeit {fraction}; die Fehlerspannen sind die von Stichprobe und Rauschen zusammen.",
    },
    "biased_table": {
        "en": "The mean of a shown count differs from the exact count for some counts of this perturbation table; "
        "intervals and tests"
        " use the table itself.",
        "de": "Der Mittelwert einer gezeigten Anzahl weicht für manche Anzahlen dieser Überlagerungstabelle von der "
        "genauen ab; Intervalle"
        " und Tests verwenden die Tabelle selbst.",
    },
    "clamped_table": {
        "en": "Counts above the table's largest are shown as if they were the largest, so that no error is published "
        "and no analysis"
        " of these numbers is valid.",
        "de": "Anzahlen über der größten der Tabelle werden gezeigt, als wären sie die größte; deshalb wird kein "
        "Fehler veröffentlicht, und"
        " keine Auswertung dieser Zahlen ist gültig.",
    },
    "no_negatives": {"en": "Negative counts are shown as 0.", "de": "Negative Anzahlen werden als 0 gezeigt."},
    "small_counts": {
        "en": "Counts below {least} are shown as 0.",
        "de": "Anzahlen unter {least} werden als 0 gezeigt.",
    },
}


def note(code: str, **values: object) -> str:
    """The sentence of a code as releases store it."""
    return REMARKS[code]["en"].format(**values)


def in_language(sentence: str, language: str) -> str | None:
    """A stored sentence in another language; None where it is not known in it.

    >>> in_language("Counts below 5 are shown as 0.", "de")
    'Anzahlen unter 5 werden als 0 gezeigt.'
    """
    for texts in REMARKS.values():
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(texts["en"]))
        match = re.fullmatch(pattern, sentence)
        if match and language in texts:
            return texts[language].format(**match.groupdict())
    return None
