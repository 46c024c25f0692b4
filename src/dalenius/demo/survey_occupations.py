"""Fifty occupations of the synthetic survey in nine major groups, in English and German.

Codes and groups follow the manner of the international standard classification; the numbers behind them are invented.
Each occupation has a typical level of education (0 to 4), a lean towards one sex (positive: women), a size, and a
typical yearly income in thousands, which the generator uses.
"""

from dataclasses import dataclass

GROUPS = {
    "1": ("Managers", "Führungskräfte"),
    "2": ("Professionals", "Akademische Berufe"),
    "3": ("Technicians and associate professionals", "Techniker und gleichrangige Berufe"),
    "4": ("Clerical support workers", "Bürokräfte"),
    "5": ("Service and sales workers", "Dienstleistungs- und Verkaufsberufe"),
    "6": ("Skilled agricultural workers", "Fachkräfte in der Landwirtschaft"),
    "7": ("Craft and related trades workers", "Handwerksberufe"),
    "8": ("Plant and machine operators", "Bedienung von Anlagen und Maschinen"),
    "9": ("Elementary occupations", "Hilfsarbeitskräfte"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupation:
    """One occupation: its code begins with the code of its major group."""

    code: str
    english: str
    german: str
    education: float
    lean: float
    size: float
    pay: float

    @property
    def group(self) -> str:
        return GROUPS[self.code[0]][0]


_LINES = """\
112|Chief executives|Geschäftsführung|3.5|-0.8|0.8|85
121|Business services managers|Leitung kaufmännischer Dienste|3.4|-0.2|1.6|66
132|Production managers|Produktionsleitung|3.2|-0.8|1.2|64
134|Care and education managers|Leitung in Pflege und Bildung|3.6|0.5|1.1|55
141|Hotel and restaurant managers|Leitung in Hotel und Gastronomie|2.4|-0.1|0.9|38
211|Scientists|Naturwissenschaften|4.0|0.0|0.9|56
214|Engineers|Ingenieurwesen|3.8|-0.9|2.4|60
221|Medical doctors|Ärztinnen und Ärzte|4.0|0.1|1.3|82
222|Nursing professionals|Akademische Pflege|3.2|1.2|1.4|43
231|University teachers|Hochschullehre|4.0|-0.1|0.8|58
233|Secondary school teachers|Lehrkräfte der Sekundarstufe|3.8|0.5|2.2|49
234|Primary school teachers|Lehrkräfte der Primarstufe|3.5|1.3|2.0|44
241|Finance professionals|Finanzfachleute|3.4|-0.1|1.8|58
251|Software developers|Softwareentwicklung|3.4|-1.1|2.3|59
261|Lawyers|Rechtsberufe|4.0|0.1|1.0|68
264|Authors and journalists|Autorschaft und Journalismus|3.5|0.2|0.6|39
311|Engineering technicians|Technische Fachkräfte|2.5|-1.0|2.1|41
321|Medical technicians|Medizinische Technik|2.5|0.9|1.2|35
325|Health associates|Gesundheitsfachberufe|2.3|1.1|1.5|31
331|Finance associates|Finanzassistenz|2.5|0.3|2.4|41
332|Sales agents|Vertrieb|2.2|-0.4|2.2|43
333|Business service agents|Unternehmensnahe Dienste|2.4|0.1|1.3|38
335|Government associates|Fachkräfte der Verwaltung|2.5|0.3|1.6|40
351|Information technology support|Betrieb von Informationstechnik|2.5|-0.9|1.2|42
411|Office clerks|Allgemeine Bürokräfte|1.9|1.1|3.4|29
422|Client information clerks|Kundenauskunft|1.8|0.7|1.3|26
431|Accounting clerks|Buchhaltung|2.0|0.8|1.9|32
432|Stock and transport clerks|Lager und Logistik|1.4|-0.5|1.6|29
441|Library and mail clerks|Bibliothek und Post|1.6|0.3|0.8|27
512|Cooks|Köchinnen und Köche|1.1|-0.2|1.5|22
513|Waiters and bartenders|Service in Gastronomie|1.1|0.5|1.6|18
514|Hairdressers|Friseurhandwerk|1.2|1.4|1.0|17
522|Shop assistants|Verkauf im Handel|1.3|0.9|3.8|21
531|Child care workers|Kinderbetreuung|1.7|1.6|1.9|23
532|Personal care workers|Pflegehilfe|1.4|1.4|2.5|23
541|Police and guards|Polizei und Schutzdienste|1.8|-0.9|1.4|36
611|Crop farmers|Ackerbau und Gartenbau|1.1|-0.6|1.1|20
612|Animal producers|Tierhaltung|1.1|-0.5|0.8|21
711|Builders|Bauberufe|0.9|-2.0|1.9|29
712|Building finishers|Ausbauberufe|1.0|-2.0|1.7|30
721|Metal workers|Metallberufe|1.2|-1.8|1.7|33
723|Machinery mechanics|Mechanik und Wartung|1.4|-1.9|2.0|34
741|Electricians|Elektroberufe|1.5|-1.9|1.6|34
751|Food processors|Lebensmittelherstellung|0.9|-0.3|0.9|24
813|Chemical plant operators|Bedienung chemischer Anlagen|1.2|-0.9|0.7|35
832|Car and van drivers|Führen von Personenwagen|0.8|-1.4|1.2|23
833|Lorry and bus drivers|Führen von Lastwagen und Bussen|0.9|-1.8|1.7|28
911|Cleaners and helpers|Reinigung|0.4|1.2|2.8|15
933|Freight handlers|Transporthilfe|0.5|-1.0|1.7|20
941|Kitchen helpers|Küchenhilfe|0.4|0.7|1.1|14
"""


def _read(line: str) -> Occupation:
    code, english, german, education, lean, size, pay = line.split("|")
    return Occupation(
        code=code,
        english=english,
        german=german,
        education=float(education),
        lean=float(lean),
        size=float(size),
        pay=float(pay),
    )


OCCUPATIONS = tuple(_read(line) for line in _LINES.splitlines())
