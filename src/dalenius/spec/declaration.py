"""What a data set may hold, as a person says it: drafted from rows, edited, and written as a document.

`dalenius start` asks on a terminal and `dalenius.describe` in Python: the same questions, the same drafts. What was
read from rows is confidential until somebody confirms it: it shows itself under a banner, is written with
`confirmed = false`, on which nothing runs, and is neither pickled nor copied.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, Protocol

from dalenius.core.domain import Categories, Hierarchy
from dalenius.core.rationals import plain
from dalenius.core.sealed import BANNER
from dalenius.errors import NotPublic, ParameterError, UnknownName
from dalenius.rendering import grid, text_grid
from dalenius.spec.codebook import read_levels
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.declared_variable import (
    IS_WEIGHT,
    MOST_ANY,
    ROWS,
    DeclaredVariable,
    likely_weight,
    printable,
    toml_key,
    toml_text,
)
from dalenius.spec.load import load_dataset

# What has to be known of a data set beside its variables, by the attribute that holds the answer.
QUESTIONS: Mapping[str, str] = {
    "population": "Who is in the data? A name for the population, which owns the budget",
    "unit": "What is protected: a person, a household, a firm, …?",
    "unit_id": "Which column tells them apart?",
    "max_rows": "At most how many rows of one {unit} may count? More rows need more noise",
    "draws": "How was each {unit} drawn?",
    "weight": "Which column is the survey weight? A name, or - for none",
    "second": "A second table with rows of each {unit}, such as visits or payments? A file, or -",
    "levels": "Levels above the codes of a variable, such as region = levels.csv? Or -",
}
# What may be answered, what it declares, and what it means; nothing is declared by the last.
DRAWS: Mapping[str, tuple[str, str]] = {
    "one by one": ("independent", "independently of one another, with known chances"),
    "all of them": ("census", "a census: nobody was sampled"),
    "in groups": ("clusters", "households, villages, schools: clusters"),
    "unknown": ("", "errors of sampling will hold under a condition"),
}


class DescribedRows(Protocol):
    """Rows of which something is declared: a table in memory, or a file at a `place`, which no engine may open."""

    @property
    def name(self) -> str: ...

    @property
    def rows(self) -> Any: ...

    @property
    def place(self) -> Path | None: ...

    @property
    def is_converted(self) -> bool: ...

    def source_in(self, folder: Path) -> str:
        """How a document in a folder names the file."""


@dataclass(kw_only=True)
class SecondTable:
    """A further table of the same units: `most` of its rows may count for one of them."""

    microdata: DescribedRows
    id: str
    most: int
    source: str = ""
    variables: dict[str, DeclaredVariable] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.microdata.name

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise NotPublic("What was drafted from rows is neither pickled nor copied.")

    def lines(self, own: Iterable[str]) -> list[str]:
        """The table, its columns, and what is taken of the rows of a unit; `own` are the names that are in use."""
        taken = set(own)
        lines = [
            "",
            f"[tables.{toml_key(self.name)}]",
            f"source = {toml_text(self.source)}",
            f"id = {toml_text(self.id)}",
        ]
        features = [
            "",
            f"[variables.{toml_key(_free(f'number of {self.name}', taken))}]",
            f'feature = {{ take = "count", table = {toml_text(self.name)} }}',
            f"bounds = [0, {self.most}]    # of one unit; more counts as the upper bound",
        ]
        for name, variable in self.variables.items():
            record = _free(name if name not in taken else f"{self.name} {name}", taken)
            further = [f"table = {toml_text(self.name)}", f"column = {toml_text(name)}"]
            lines += variable.lines("records", further, name=record)
            if variable.bounds is not None:
                low, high = (
                    plain(self.most * end) for end in (min(variable.bounds[0], Fraction(0)), variable.bounds[1])
                )
                features += [
                    "",
                    f"[variables.{toml_key(_free(f'sum of {record}', taken))}]",
                    f'feature = {{ take = "sum", of = {toml_text(record)} }}',
                    f"bounds = [{low}, {high}]    # the total of one unit is clipped to this",
                ]
            for label in tuple(variable.categories.values())[:MOST_ANY]:
                condition = f"{{ {toml_key(record)} = [{toml_text(label)}] }}"
                features += [
                    "",
                    f"[variables.{toml_key(_free(f'{record}: {label}', taken))}]",
                    f'feature = {{ take = "any", where = {condition} }}    # has a row of this category',
                ]
        return [*lines, *features]


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += " again"
    taken.add(name)
    return name


@dataclass(kw_only=True, repr=False, eq=False)
class Declaration:
    """An editable dataset document: `d.variables["income"].bounds = (0, 200_000)`.

    `questions` lists what is still to be said, `confirm` declares drafts as they stand, `to_toml` and `save` write the
    document, and `Curator.open(d)` opens it.
    """

    name: str
    source: str = ""
    population: str = ""
    version: str = "1"
    unit: str = "person"
    unit_id: str = ""
    max_rows: int = 1
    draws: str = ""
    variables: dict[str, DeclaredVariable] = field(default_factory=dict)
    second: SecondTable | None = None
    ledger: str = ""
    policy: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    """Columns that are not declared, and why."""
    microdata: DescribedRows | None = None

    @property
    def weight(self) -> str:
        """The variable that says how much a row counts; empty where there is none."""
        return next((name for name, variable in self.variables.items() if variable.is_weight), "")

    @weight.setter
    def weight(self, name: str) -> None:
        if name and name not in self.variables:
            raise UnknownName.among("variable", name, self.variables)
        for variable in self.variables.values():
            variable.is_weight = variable.name == name

    def levels(self, name: str, path: str | Path) -> None:
        """Declare the levels above the codes of a variable, from a CSV file: code, then one column for each level."""
        UnknownName.check("variable", name, self.variables)
        variable, levels = self.variables[name], read_levels(path)
        categories = Categories(labels=tuple(variable.categories.values()), values=tuple(variable.categories))
        for level, groups in levels.items():
            Hierarchy.of(level, groups, categories)
        # Of a variable that is taken of a record the categories are labels.
        variable.levels = {
            level: {
                group: tuple(categories.labels[categories.code(code)] for code in codes)
                for group, codes in groups.items()
            }
            for level, groups in levels.items()
        }

    def confirm(self, *names: str) -> None:
        """Declare drafts as they stand, of all variables unless some are named."""
        every = self._every()
        for name in names or every:
            UnknownName.check("variable", name, every)
            variable = every[name]
            if not variable.confirmed:
                variable.confirmed, variable.origin = True, ROWS

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        return tuple(name for name, variable in self._every().items() if not variable.confirmed)

    def _every(self) -> dict[str, DeclaredVariable]:
        """All variables, those of the second table too; where both have one of a name, with the table's."""
        every = dict(self.variables)
        if self.second is not None:
            for name, variable in self.second.variables.items():
                every[f"{self.second.name} {name}" if name in every else name] = variable
        return every

    @property
    def questions(self) -> dict[str, str]:
        """What is still to be said, by the attribute that holds the answer."""
        open_keys = [key for key in ("population", "draws") if not getattr(self, key)]
        open_keys += ["max_rows"] if self.unit_id and self.max_rows == 1 and self.second is None else []
        if not self.weight and self.draws != "census" and likely_weight(self.variables):
            open_keys.append("weight")
        asked = {key: QUESTIONS[key].format(unit=self.unit) for key in open_keys}
        place = {name: "second.variables" for name in self._every() if name not in self.variables}
        return asked | {
            f'{place.get(name, "variables")}["{name}"]': "Right? Then confirm it." for name in self.unconfirmed
        }

    def document(self, base: Path = Path()) -> DatasetDocument:
        """The validated document, whose relative paths start from `base`."""
        return load_dataset(self.to_toml()).at(base)

    def save(self, path: str | Path) -> Path:
        """Write the document to a new file; rows that no engine opens are kept beside it as Parquet."""
        place = Path(path)
        if place.exists():
            raise ParameterError(f"{str(place)!r} exists; a declaration never overwrites a file.", received=str(place))
        self.settle(place.parent)
        text = self.to_toml()
        load_dataset(text)
        place.write_text(text, encoding="utf-8")
        return place

    def settle(self, folder: Path) -> None:
        """Name the files of the rows as a document in `folder` does."""
        for table in (self, self.second):
            if table is not None and table.microdata is not None:
                table.source = table.microdata.source_in(folder)

    def to_toml(self) -> str:
        """The document, with comments for whoever goes on editing it."""
        lines = [f"# {BANNER}"] if self.unconfirmed else []
        lines += [
            "# What the microdata may hold. Tables are made from this page, never from what happens to be in the rows.",
            "",
            "[dataset]",
            f"name = {toml_text(self.name)}",
            f"population = {toml_text(self.population)}    # owns the budget; another file on the same units names the "
            "same",
            f"version = {toml_text(self.version)}    # a corrected file or a later wave is another, without a budget",
            *([f"source = {toml_text(self.source)}"] if self.source else []),
            *([f"ledger = {toml_text(self.ledger)}     # what was spent; back it up"] if self.ledger else []),
            *([f"policy = {toml_text(self.policy)}       # what may be spent"] if self.policy else []),
            "",
            "[unit]",
            f"name = {toml_text(self.unit)}",
            'relation = "add-remove"      # whether this one is in the data at all is protected',
        ]
        if self.unit_id:
            lines.append(f"id = {toml_text(self.unit_id)}")
        if self.unit_id and self.second is None:
            lines.append(f"max_rows = {self.max_rows}    # of one {printable(self.unit)}; further rows are left out")
        if self.draws:
            lines += [
                "",
                "[design]",
                f"draws = {toml_text(self.draws)}    # how they were drawn: errors of sampling rest on it",
            ]
        for variable in self.variables.values():
            if self.second is None:
                lines += variable.lines("variables", [IS_WEIGHT] if variable.is_weight else [])
            else:
                lines += [*variable.lines("records"), "", *self._feature(variable)]
            lines += variable.level_lines()
        if self.second is not None:
            lines += self.second.lines(self.variables)
        return "\n".join(lines) + "\n"

    @staticmethod
    def _feature(variable: DeclaredVariable) -> list[str]:
        lines = [
            f"[variables.{toml_key(variable.name)}]",
            f"label = {toml_text(variable.label or variable.name)}",
            'feature = { take = "first" }    # of the one row of each unit',
        ]
        if variable.is_weight and variable.bounds is not None:
            low, high = map(plain, variable.bounds)
            lines += [f"bounds = [{low}, {high}]", IS_WEIGHT]
        return lines

    def __repr__(self) -> str:
        banner = f"{BANNER}\n" if self.unconfirmed else ""
        return f"{banner}{self._title}\n{text_grid(self._columns)}\n{chr(10).join(self._notes)}".rstrip()

    def _repr_html_(self) -> str:
        lines = list(zip(*self._columns.values(), strict=True))
        notes = [*([BANNER] if self.unconfirmed else []), *self._notes]
        return grid(self._title, list(self._columns), lines, labels=3, notes=notes)

    @property
    def _title(self) -> str:
        return f"Declaration of {self.name}: {len(self.variables)} variables, {len(self.unconfirmed)} to be confirmed"

    @property
    def _columns(self) -> dict[str, list[object]]:
        variables = self.variables.values()
        return {
            "variable": [variable.name for variable in variables],
            "may hold": [variable.words for variable in variables],
            "known": [variable.origin for variable in variables],
        }

    @property
    def _notes(self) -> list[str]:
        still = [f"{key}: {words}" for key, words in self.questions.items() if not key.startswith("variables")]
        said = [f"Still to say: {'; '.join(still)}"] if still else []
        return said + [f"Not declared: {name} ({reason})" for name, reason in self.left_out.items()]

    def _refuse(self, *_: object) -> NoReturn:
        raise NotPublic("A declaration is written with `save`, as a document, and in no other way.")

    __getstate__ = __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refuse
