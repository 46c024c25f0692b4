"""Small public tables that are shipped for examples, tests and reproductions."""

import csv
from dataclasses import dataclass

from dalenius.demo.files import shipped
from dalenius.errors import UnknownName


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicTable:
    """A public table as it was published: one mapping of column to text for each line of the file."""

    name: str
    title: str
    source: str
    count: str | None
    rows: tuple[dict[str, str], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.rows[0])

    def expand(self) -> list[dict[str, str]]:
        """One mapping a unit: a table of counts is expanded, microdata come back as they are.

        >>> len(load("titanic").expand())
        2201
        """
        if self.count is None:
            return [dict(row) for row in self.rows]
        units = []
        for row in self.rows:
            unit = {key: text for key, text in row.items() if key != self.count}
            units += [dict(unit) for _ in range(int(row[self.count]))]
        return units


_TABLES = {
    "hair_eye_color": ("592 students by hair, eye colour and sex", "Snee (1974), through R datasets", "Freq"),
    "ucb_admissions": ("4,526 applicants to Berkeley, 1973", "Bickel et al. (1975), through R datasets", "Freq"),
    "titanic": ("2,201 persons aboard the Titanic", "Dawson (1995), through R datasets", "Freq"),
    "uk2001": ("Occupation by age, 5,784 persons", "Frequency-table paper, Table 1", "count"),
    "ricefarms": ("171 Indonesian rice farms in 6 seasons", "Feng & Horrace (2012), through R plm", None),
}


def names() -> tuple[str, ...]:
    return tuple(_TABLES)


def load(name: str) -> PublicTable:
    """A shipped table by name.

    >>> load("uk2001").rows[0]
    {'age': '15-19', 'occupation': 'A', 'count': '2'}
    """
    UnknownName.check("shipped table", name, _TABLES)
    title, source, count = _TABLES[name]
    rows = tuple(csv.DictReader(shipped(f"data/{name}.csv").splitlines()))
    return PublicTable(name=name, title=title, source=source, count=count, rows=rows)
