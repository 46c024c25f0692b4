"""The dataset document: what the custodian declares about the microdata."""

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, cast

from pydantic import Field, PrivateAttr, model_validator

from dalenius.core.domain import DROP, Bounds, Categories, Domain, Hierarchy, Variable
from dalenius.core.estimate import Draws
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.rationals import rational
from dalenius.errors import DocumentError, UnknownName
from dalenius.spec.derivation import FeaturePart, LookupPart, TableOfRecordsPart, feature_variable, record_range
from dalenius.spec.document import Category, Document, Exact, Name, Part, Text, Whole, flag, usual
from dalenius.spec.show import PublishedPart

Groups = dict[Name, tuple[Category, ...]]


class DatasetPart(Part, section="[dataset]"):
    """[dataset]: which data, of which population."""

    name: Name
    population: Name
    version: Name = "1"
    overlaps: tuple[Name, ...] = usual(
        (), "Other populations that share some persons with this one; their accounts pay for every release as well."
    )
    source: Text = usual(
        "", "File with the microdata, relative to this document, or the address of a database without a password."
    )
    table: Text = usual("", "Table inside a DuckDB file or a database.")
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    title: Text = ""
    ledger: Text = usual("", "Ledger of the population: a file relative to this document, or a postgresql:// address.")
    policy: Text = usual("", "Policy document, relative to this document.")
    public: bool = flag("Whether the microdata themselves are public.")
    size: Whole | None = usual(None, "Public size of the population, if there is one.", ge=0)


class UnitPart(Part, section="[unit]"):
    """[unit]: whose presence is protected."""

    relation: Literal["add-remove", "replace"] = "add-remove"
    id: Name | None = None
    max_rows: Whole = Field(default=1, ge=1, le=1_000_000)
    name: Name = "person"

    @model_validator(mode="after")
    def _needs_id(self) -> Self:
        if self.max_rows > 1 and self.id is None:
            raise DocumentError('max_rows above 1 needs the column that identifies a unit: id = "…" in [unit].')
        return self


class DesignPart(Part, section="[design]"):
    """[design]: how the rows were drawn, on which every error of sampling rests."""

    draws: Literal["independent", "census", "clusters"] = Field(
        description="independent: units were drawn one by one, with known chances; census: everybody is there; "
        "clusters: units were drawn together, such as the persons of a household or of a village."
    )


class VariablePart(Part, section="[variables.…]"):
    """[variables.X]: a category list, or bounds with a step."""

    label: Text = ""
    column: Text = ""
    categories: tuple[Category, ...] | dict[Name, Text] | None = usual(
        None, "Categories in order, or a table of file value to label."
    )
    categories_file: Text = usual("", "CSV with a header: code, label.")
    bounds: tuple[Exact, Exact] | None = None
    step: Exact | None = None
    unit: Text = ""
    missing: Category = DROP
    unseen: Category = DROP
    outside: Literal["clamp", "drop"] = "clamp"
    missing_codes: tuple[Category, ...] = usual(
        (), "Values of the column that stand for no value, such as 99 for does not apply.", max_length=100
    )
    hierarchies: dict[Name, Groups] = Field(default_factory=dict)
    hierarchies_file: Text = usual("", "CSV with a header: code, then one column a level.")
    confirmed: bool = Field(default=True, strict=True)
    sensitive: bool = Field(default=False, strict=True)
    weight: bool = flag("Whether it says how much each row counts; requests take no other number as a weight.")
    public: Text = usual(
        "", "Where everybody can read this attribute of every unit, for the guarantee that leaves it out."
    )
    unlisted: bool = flag("Whether texts that are not declared may be released, by private selection only.")
    lookup: LookupPart | None = usual(None, "A public table in which the values of the column are keys.")
    feature: FeaturePart | None = usual(None, "What is taken of the rows of a person, in the place of a column.")

    @property
    def _is_range_of_dates(self) -> bool:
        return False

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        has_categories = self.categories is not None or bool(self.categories_file)
        is_given = has_categories or self.bounds is not None
        if self.feature is not None and (self.column or self.unlisted or self.lookup or self.public):
            raise DocumentError(
                "A feature is taken of the rows of a person: column, lookup and unlisted belong to [records.…], and "
                "public to a variable of a column."
            )
        if self.missing_codes and (self.feature is not None or self.lookup is not None or self._is_range_of_dates):
            raise DocumentError(
                "`missing_codes` belongs to a column of categories or numbers: for a feature say it of the record, for "
                "a lookup say `unmatched`, and a day outside `dates` is missing already."
            )
        if self.feature is not None and self.outside != "clamp":
            raise DocumentError('A feature outside its bounds is clamped: leave outside = "drop" out.')
        is_open = self.feature is not None or self._is_range_of_dates
        if (has_categories and self.bounds is not None) or not (is_given or is_open):
            raise DocumentError("A variable has either categories (or categories_file) or bounds.")
        if has_categories and (self.step is not None or self.unit or self.outside != "clamp"):
            raise DocumentError("step, unit and outside belong to a variable with bounds, not with categories.")
        if self.bounds is not None and (self.unseen != DROP or self.hierarchies):
            raise DocumentError("unseen and hierarchies belong to a variable with categories, not with bounds.")
        if self.unlisted and (not has_categories or self.unseen == DROP):
            raise DocumentError(
                "unlisted = true belongs to a variable with categories that says under which of them all other texts "
                'count: unseen = "…".'
            )
        if self.weight and (self.bounds is None or self.bounds[0] < 0):
            raise DocumentError("weight = true belongs to a number that is never negative: bounds = [0, …].")
        if self.public and self.sensitive:
            raise DocumentError("A variable that everybody knows is not sensitive: leave out public or sensitive.")
        return self

    def variable(self, name: str, records: Mapping[str, Variable] | None = None) -> Variable:
        """The declared variable; a feature is taken of the records."""
        if self.feature is not None:
            return feature_variable(self, name, records or {})
        domain = self._domain()
        levels = self.hierarchies.items() if self.bounds is None else ()
        hierarchies = tuple(Hierarchy.of(level, groups, cast(Categories, domain)) for level, groups in levels)
        if self.lookup is not None and self.unlisted:
            raise DocumentError("A variable with a lookup holds keys of a public table, and no unlisted texts.")
        return Variable(
            name=name,
            domain=domain,
            label=self.label,
            column=self.column,
            unit=self.unit,
            hierarchies=hierarchies,
            is_confirmed=self.confirmed,
            is_sensitive=self.sensitive,
            is_weight=self.weight,
            public_source=self.public,
            is_unlisted=self.unlisted,
            lookup=None if self.lookup is None else self.lookup.lookup(domain),
        )

    def _domain(self) -> Categories | Bounds:
        return self._categories() if self.bounds is None else self._bounds()

    def _categories(self) -> Categories:
        if self.categories is None:
            raise DocumentError(
                f"The code list {self.categories_file!r} was not read; load the document from its file."
            )
        missing, unseen = self.missing, self.unseen
        named = self.categories.values() if isinstance(self.categories, Mapping) else self.categories
        if DROP in named:
            raise DocumentError(
                f"No category can be labelled {DROP!r}: missing and unseen say {DROP!r} for rows that are left out."
                f' Give it another label: categories = {{ {DROP} = "dropped", … }}.'
            )
        if isinstance(self.categories, Mapping):
            values, labels = tuple(self.categories), tuple(self.categories.values())
            values = () if values == labels else values
        else:
            values, labels = (), self.categories
        return Categories(
            labels=labels, values=values, missing=missing, unseen=unseen, missing_codes=self.missing_codes
        )

    def _bounds(self) -> Bounds:
        if self.bounds is None or self.step is None:
            raise DocumentError("A numeric variable needs bounds = [lower, upper] and step, for example step = 1.")
        missing = self.missing
        if missing != DROP:
            value = rational(missing, "missing")
            missing = str(value)
            if (value / self.step).denominator != 1:
                raise DocumentError("The number that stands for missing values must be a whole multiple of step.")
        lower, upper = self.bounds
        codes = tuple(rational(code, "missing_codes") for code in self.missing_codes)
        return Bounds(
            lower=lower, upper=upper, step=self.step, missing=missing, outside=self.outside, missing_codes=codes
        )


class RecordPart(VariablePart, section="[records.…]"):
    """[records.X]: a column of the rows of persons, of which features are taken; nobody can ask for it by itself."""

    dates: tuple[Name, Name] | None = usual(None, "First and last day of a column of dates, as 2024-12-31.")
    table: Name | None = usual(None, "The further table that it stands in.")

    @property
    def _is_range_of_dates(self) -> bool:
        return self.dates is not None

    @model_validator(mode="after")
    def _is_plain(self) -> Self:
        if self.feature is not None or self.unlisted or self.public or self.hierarchies or self.weight:
            raise DocumentError(
                "feature, unlisted, public, weight and hierarchies belong to [variables.…], of which people can ask; "
                "a record is what features are taken of."
            )
        if self.dates is not None and (self.categories is not None or self.bounds is not None or self.lookup):
            raise DocumentError("A record of dates has no categories, bounds or lookup.")
        return self

    def _domain(self) -> Categories | Bounds:
        return super()._domain() if self.dates is None else record_range(self.dates)

    def variable(self, name: str, records: Mapping[str, Variable] | None = None) -> Variable:
        return replace(super().variable(name), table=self.table or "", is_date=self.dates is not None)


# A translation is for readers only. Requests, releases and digests use the document's own words, so a translation can
# be added or mended at any time without a new version of the data.
class TranslationPart(Part, section="[translations.…]"):
    """[translations.LANGUAGE]: the document's words = words of that language; what is left out keeps its own."""

    title: Text = ""
    variables: dict[Name, Text] = usual(dict, "Labels of variables.")
    levels: dict[Name, Text] = usual(dict, "Names of levels of hierarchies.")
    labels: dict[Name, dict[Name, Text]] = usual(
        dict, "For each variable, its categories and the groups of its levels."
    )

    def check(self, variables: Mapping[str, Variable]) -> None:
        """Refuse words that translate nothing, and two categories of one name."""
        levels = {h.level for variable in variables.values() for h in variable.hierarchies}
        for level in self.levels:
            UnknownName.check("level", level, levels)
        for name in (*self.variables, *self.labels):
            UnknownName.check("variable", name, variables)
        for name, words in self.labels.items():
            lists = _lists(variables[name])
            declared_labels = {label for labels in lists for label in labels}
            for label in words:
                UnknownName.check(f"category or group of {name!r}", label, declared_labels)
            for labels in lists:
                said = [words.get(label, label) for label in labels]
                if len(set(said)) < len(said):
                    raise DocumentError(f"A translation gives two categories of {name!r} the same name.")


def _lists(variable: Variable) -> list[tuple[str, ...]]:
    """Lists of labels that can stand on one axis: the categories, and the groups of each level."""
    categories = [] if variable.is_numeric else [variable.categories.labels]
    return [*categories, *(hierarchy.groups for hierarchy in variable.hierarchies)]


class DatasetDocument(Document):
    """A whole dataset document."""

    kind: ClassVar[str] = "dataset document"

    dataset: DatasetPart
    unit: UnitPart = UnitPart()
    design: DesignPart | None = usual(
        None, "How the rows were drawn; without it, errors of sampling hold under a condition."
    )
    variables: dict[Name, VariablePart] = Field(min_length=1)
    records: dict[Name, RecordPart] = usual(dict, "Columns of the rows of persons, of which features are taken.")
    tables: dict[Name, TableOfRecordsPart] = usual(dict, "Further tables of the same persons, joined on the person.")
    structural_zeros: tuple[dict[Name, Category | tuple[Category, ...]], ...] = ()
    published: tuple[PublishedPart, ...] = usual(
        (), "Exact totals that are public already; no part of the declaration of the data."
    )
    translations: dict[Name, TranslationPart] = usual(
        dict, "Words for readers of other languages; no part of the declaration."
    )

    _base: Path = PrivateAttr(default=Path())

    @property
    def base(self) -> Path:
        return self._base

    @property
    def ledger_location(self) -> str:
        """Where the account of the population is kept: as declared, or `dalenius.sqlite` beside the document."""
        named = self.dataset.ledger
        return named if "://" in named else str(self.base / (named or "dalenius.sqlite"))

    @property
    def policy_location(self) -> Path | None:
        return self.base / self.dataset.policy if self.dataset.policy else None

    def at(self, base: Path) -> Self:
        """The same document, with relative paths starting from `base`."""
        copy = self.model_copy()
        copy._base = base
        return copy

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        parts = [*self.variables.values(), *self.records.values()]
        if not any(part.categories_file or (part.lookup and part.lookup.file) for part in parts):
            domain = self.domain()
            for part in self.published:
                _check_published(part, domain)
            for translation in self.translations.values():
                translation.check(domain.variables)
        return self

    def domain(self) -> Domain:
        """Everything that the planner may know."""
        records = self._declared(self.records, "records", {})
        variables = self._declared(self.variables, "variables", records)
        self._check_features(variables, records)
        if not all(record.is_confirmed for record in records.values()):
            # A feature says what its records hold.
            for name, variable in variables.items():
                if variable.feature is not None:
                    variables[name] = replace(variable, is_confirmed=False)
        return Domain(
            name=self.dataset.name,
            population=self.dataset.population,
            overlaps=self.dataset.overlaps,
            version=self.dataset.version,
            variables=variables,
            neighbours=Neighbours(
                relation=Relation(self.unit.relation),
                unit="row" if self.unit.id is None else self.unit.name,
                max_rows=self.unit.max_rows,
            ),
            unit_id=self.unit.id,
            draws=Draws.UNSTATED if self.design is None else Draws(self.design.draws),
            public_size=self.dataset.size,
            is_public=self.dataset.public,
            structural_zeros=self._zeros(variables),
            records=records,
            tables={name: part.id or str(self.unit.id) for name, part in self.tables.items()},
        )

    def _declared(
        self, parts: Mapping[str, VariablePart], section: str, records: Mapping[str, Variable]
    ) -> dict[str, Variable]:
        variables = {}
        for name, part in parts.items():
            try:
                variables[name] = part.variable(name, records)
            except DocumentError as error:
                raise DocumentError(f"{section}.{name}: {error.message}", **error.detail) from None
        return variables

    def _check_features(self, variables: Mapping[str, Variable], records: Mapping[str, Variable]) -> None:
        """Where persons are made of their rows, every variable is, and every record and table is there for one."""
        features = [v.feature for v in variables.values() if v.feature is not None]
        if not features and not records and not self.tables:
            return
        if len(features) < len(variables):
            plain = next(name for name, v in variables.items() if v.feature is None)
            raise DocumentError(
                f"variables.{plain} is a column of rows, and other variables are features of persons. Of a data set of "
                f"persons every variable is a feature: declare the column as [records.{plain}] and say feature = {{ "
                'take = "first" }.'
            )
        if self.unit.id is None or self.unit.max_rows != 1:
            raise DocumentError(
                "Features make one row of each person: [unit] names the column that tells persons apart (id), and "
                "leaves max_rows at 1, however many rows a person has."
            )
        used = {name for feature in features for name in feature.used}
        for name, record in records.items():
            if name not in used:
                raise DocumentError(f"records.{name} is used by no feature; leave it out.")
            if record.table and record.table not in self.tables:
                raise UnknownName.among("table", record.table, self.tables)
        read = {feature.table for feature in features}
        for name in self.tables:
            if name not in read:
                raise DocumentError(f"tables.{name} is used by no feature; leave it out.")
        if not all(feature.table in ("", *self.tables) for feature in features):
            raise UnknownName.among("table", next(iter(read - {"", *self.tables})), self.tables)

    def _zeros(self, variables: Mapping[str, Variable]) -> tuple[Mapping[str, tuple[str, ...]], ...]:
        zeros = []
        for zero in self.structural_zeros:
            if not zero:
                raise DocumentError("A structural zero must name at least one variable and its categories.")
            pattern = {}
            for name, values in zero.items():
                UnknownName.check("variable", name, variables)
                categories = variables[name].categories
                labels = (values,) if isinstance(values, str) else values
                pattern[name] = tuple(categories.labels[categories.code(label)] for label in labels)
            zeros.append(pattern)
        return tuple(zeros)


def _check_published(part: PublishedPart, domain: Domain) -> None:
    """As many numbers as there are declared cells."""
    cells = prod(len(domain.variable(name).categories.labels) for name in part.over)
    if len(part.totals) != cells:
        raise DocumentError(
            f"[[published]] over {list(part.over)} needs {cells} totals, one for each declared cell; received"
            f" {len(part.totals)}."
        )
