"""A first draft of a dataset document from a file, for the custodian to finish.

Categories and bounds are read from rows only when the custodian asks (`from_data`), and are then marked
`confirmed = false`: nothing runs on them until somebody confirmed them. Such a draft is confidential: it shows values.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from os.path import relpath
from pathlib import Path
from typing import Any, NoReturn, cast

from dalenius.core.contracts import DraftSource
from dalenius.core.domain import DROP, Categories, Domain, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.rationals import plain
from dalenius.engines import MOST_CATEGORIES, ColumnSummary, engine_for, is_called_identifier, suffixes, summarise
from dalenius.errors import MissingExtra, NotPublic, RequestError
from dalenius.spec.codebook import find_codebook, read_codebook
from dalenius.spec.coding import canonical_text
from dalenius.spec.declaration import Declaration
from dalenius.spec.declared_variable import LIST, UNCONFIRMED, DeclaredVariable, toml_key, toml_text

__all__ = ["ColumnSummary", "Microdata", "describe", "draft", "proposed", "with_codebook"]

_BANNER = "# CONFIDENTIAL until you have checked it: categories and bounds below were read from the rows."
_MOST_ALTERNATIVES = 60
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Microdata:
    """Rows that a declaration is drafted from: what an engine opens, and what the file itself says that they mean."""

    name: str
    rows: Any
    place: Path | None = None
    is_converted: bool = False
    """Whether no engine opens the file, so that its rows are kept in another."""
    labels: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Microdata {self.name}>"

    def __reduce__(self) -> NoReturn:
        raise NotPublic("Rows and what was drafted from them are not pickled.")

    @classmethod
    def of(cls, data: Any) -> "Microdata":
        """From a file or from a table in memory."""
        if not isinstance(data, str | Path):
            return cls(name="data", rows=data)
        path = Path(data)
        name = path.name.split(".")[0] or "data"
        if not path.is_file():
            raise RequestError(f"There is no file {str(data)!r}.", received=str(data))
        if path.suffix.lower() in _READERS:
            return _statistical(path, name)
        if not path.name.lower().endswith(suffixes()):
            endings = ", ".join((*suffixes(), *_READERS))
            raise RequestError(
                f"Drafts are made of files that end in {endings}; received {path.name!r}.", received=name
            )
        return cls(name=name, rows=path, place=path)

    def source_in(self, folder: Path) -> str:
        """How a document in a folder names the file; one that no engine opens is written there as Parquet."""
        if not self.is_converted:
            return "" if self.place is None else Path(relpath(self.place, folder)).as_posix()
        import pyarrow.parquet as pq

        folder.mkdir(parents=True, exist_ok=True)
        endings = chain([""], (f"-{number}" for number in count(2)))
        names = (f"{self.name}{ending}.parquet" for ending in endings)
        place = next(folder / name for name in names if not (folder / name).exists())
        place.touch(mode=0o600, exist_ok=False)
        pq.write_table(self.rows, place)
        return place.name

    def summaries(self) -> dict[str, ColumnSummary]:
        """What every column that can be declared holds, for the custodian alone; one without a value is left out."""
        names = tuple(name for name in _opened(self.rows, ()).columns if _is_name(name))
        if len(names) == 1 and (sign := next((sign for sign in ";\t|" if sign in names[0]), "")):
            raise RequestError(
                f"The file has one column, whose name holds {sign!r}: its fields are not separated by commas. "
                "Write it with commas, or as Parquet.",
                received=sign,
            )
        source = _opened(self.rows, names)
        every = (self._summary(source, name, None) for name in names)
        return {summary.name: summary for summary in every if summary.rows}

    def without(self, name: str, codes: Collection[str]) -> ColumnSummary:
        """What one column holds where these codes, and no other values, are missing ones."""
        return self._summary(_opened(self.rows, (name,)), name, codes)

    def _summary(self, source: DraftSource, name: str, codes: Collection[str] | None) -> ColumnSummary:
        is_boolean, labelled = source.columns[name] == "BOOLEAN", self.codes.get(name, ())
        return summarise(name, source.contents(name), is_boolean=is_boolean, labelled=labelled, codes=codes)


_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


def _statistical(path: Path, name: str) -> Microdata:
    """A file of SPSS, Stata or SAS with the labels that stand in it; what it declares as missing is missing."""
    import pyarrow as pa

    try:
        import pyreadstat
    except ImportError:
        raise MissingExtra("formats", "pyreadstat", instead="Or save the file as CSV, with a codebook.") from None
    read = getattr(pyreadstat, _READERS[path.suffix.lower()])
    catalog = path.with_suffix(".sas7bcat")
    more = {"catalog_file": str(catalog)} if path.suffix.lower() == ".sas7bdat" and catalog.is_file() else {}
    try:
        columns, meta = read(str(path), output_format="dict", **more)
        missing = (
            read(str(path), metadataonly=True, user_missing=True)[1].missing_ranges if "sav" in path.suffix else {}
        )
        rows = pa.table({n: pa.array(list(values), from_pandas=True) for n, values in columns.items()})
    except (pyreadstat.ReadstatError, pa.ArrowException, OSError, UnicodeError):
        raise RequestError(f"{path.name!r} could not be read; save it as CSV or Parquet.", received=path.name) from None
    codes = {
        variable: {
            canonical_text(value) or "": label
            for value, label in labels.items()
            if not any(ends["lo"] <= value <= ends["hi"] for ends in missing.get(variable, ()))
        }
        for variable, labels in meta.variable_value_labels.items()
    }
    labels = {n: label for n, label in meta.column_names_to_labels.items() if label}
    listed = {variable: labels for variable, labels in codes.items() if labels}
    return Microdata(name=name, rows=rows, place=path, is_converted=True, labels=labels, codes=listed)


def describe(data: Any, *, codes: str | Path | None = None) -> Declaration:
    """Return an editable declaration of a file or a table in memory, drafted from its rows for the custodian alone.

    Lists of codes come from `codes`, a codebook (CSV: variable, code, label), from one beside the file, or from the
    file itself (SPSS, Stata, SAS). Everything else is read from rows, and awaits confirmation.
    """
    microdata = Microdata.of(data)
    columns = microdata.summaries()
    if codes is None and microdata.place is not None:
        codes = find_codebook(microdata.place, columns)
    microdata, book = with_codebook(microdata, codes)
    if book:
        columns = microdata.summaries()
    declared = Declaration(name=microdata.name, source=str(microdata.place or ""), microdata=microdata)
    for name, column in columns.items():
        proposal = proposed(column, microdata, book)
        if column.is_identifier:
            declared.left_out[name] = "it tells units apart"
        elif proposal is None:
            declared.left_out[name] = "it holds too many different texts to list"
        else:
            declared.variables[name] = proposal
    return declared


def with_codebook(microdata: Microdata, codes: str | Path | None) -> tuple[Microdata, str]:
    """The same rows with the lists of a codebook, and where lists come from."""
    if codes is None:
        return microdata, microdata.place.name if microdata.codes and microdata.place is not None else ""
    return replace(microdata, codes={**microdata.codes, **read_codebook(codes)}), Path(codes).name


def proposed(column: ColumnSummary, microdata: Microdata, book: str = "") -> DeclaredVariable | None:
    """What a column may hold, from a list that somebody wrote or else as read from its rows; None if neither can be."""
    listed, texts, name = microdata.codes.get(column.name, {}), column.texts, column.name
    unlisted = None if texts is None else [text for text in texts if text not in listed]
    label = microdata.labels.get(name, "")
    if listed and unlisted is not None and (not column.is_number or len(unlisted) <= len(listed)):
        codes = [plain(code) for code in column.missing_codes if plain(code) not in listed]
        return DeclaredVariable(
            name,
            label=label,
            categories=listed,
            missing_codes=codes,
            origin=LIST.format(place=book),
            confirmed=not codes,
        )
    read: dict[str, Any] = {"missing_codes": column.missing_codes, "label": label}
    if column.is_number and not column.is_code and column.bounds[0] < column.bounds[1]:
        read |= {"bounds": column.bounds, "grid": column.grid}
    elif texts is not None and may_be_listed(texts):
        read |= {"categories": labels_of(texts)}
    else:
        return None
    return DeclaredVariable(name, **read, origin=UNCONFIRMED, confirmed=False)


def draft(data: str | Path, *, from_data: bool = False) -> str:
    """TOML text of a dataset document for one file that an engine can draft from."""
    microdata = Microdata.of(data)
    path = microdata.place
    if path is None or microdata.is_converted:
        raise RequestError(
            "A draft is made of a file that an engine opens; `dalenius start` converts this one.", received=str(data)
        )
    columns = _opened(path, ()).columns
    source = _opened(path, tuple(name for name in columns if _is_name(name)))
    lines = [_BANNER] if from_data else []
    lines += [
        "[dataset]",
        f"name = {toml_text(path.name.split('.')[0] or 'data')}",
        'population = ""            # who is in the data: owns the budget',
        'version = "1"',
        f"source = {toml_text(path.name)}",
        "",
        "[unit]",
        'relation = "add-remove"    # or "replace"',
        "",
        "# How the rows were drawn: errors of sampling rest on it. Without it they hold under a condition, and with "
        "weights there are none.",
        "# [design]",
        '# draws = "independent"      # or "census" (everybody is there), or "clusters" (households, villages, '
        "schools)",
    ]
    units: list[str] = []
    numbers: list[str] = []
    others: list[str] = []
    for name, kind in columns.items():
        lines.append("")
        if not _is_name(name):
            lines.append("# A column whose name is empty, too long or holds control characters was left out.")
        elif from_data:
            summary = summarise(name, source.contents(name), is_boolean=kind == "BOOLEAN")
            lines += _from_rows(summary)
            if summary.is_identifier:
                units += [name] if summary.repeats else []
            else:
                (numbers if summary.is_number and not summary.is_code else others).append(name)
        else:
            lines += [f"[variables.{toml_key(name)}]", f"label = {toml_text(name)}"]
            lines += _from_type(kind, is_text_file=source.is_text)
            list_of = numbers if _is_number(kind) else others
            (units if is_called_identifier(name) else list_of).append(name)
    if units:
        lines += ["", *_features(units[0], numbers, others)]
    return "\n".join(lines) + "\n"


def _features(unit: str, numbers: Sequence[str], others: Sequence[str]) -> list[str]:
    """How rows that share a unit become one row each, as remarks to be completed; of names and types alone."""
    lines = [
        f"Do several rows share one {toml_text(unit)}? Then write id = {toml_text(unit)} in [unit], and either "
        "max_rows, or make one row of",
        "each unit: call the columns above [records.…] instead of [variables.…], take the unit's own column out, and "
        "declare what is",
        "taken of the rows of a unit, for example:",
        "",
        "[variables.number_of_rows]",
        'feature = { take = "count" }',
        "bounds = [0, 0]            # of one unit; more counts as the upper bound",
    ]
    for name in numbers[:1]:
        lines += [
            "",
            f"[variables.{toml_key(f'sum of {name}')}]",
            f'feature = {{ take = "sum", of = {toml_text(name)} }}',
            "bounds = [0, 0]            # the total of one unit is clipped to this",
        ]
    for name in others[:1]:
        lines += [
            "",
            f"[variables.{toml_key(f'ever {name}')}]",
            f'feature = {{ take = "any", where = {{ {toml_key(name)} = ["?"] }} }}    # has a row of this category',
        ]
    return [f"# {line}".rstrip() for line in lines]


def _opened(rows: Any, names: tuple[str, ...]) -> DraftSource:
    """The rows behind their engine, in a domain that declares nothing about these columns but that they are there."""
    anything = Categories(labels=("?",))
    domain = Domain(
        name="draft",
        population="draft",
        version="1",
        variables={name: Variable(name=name, domain=anything) for name in names},
        neighbours=Neighbours(relation=Relation.ADD_REMOVE),
    )
    return cast(DraftSource, engine_for(rows).open(domain, rows))


def _from_type(kind: str, *, is_text_file: bool) -> list[str]:
    """What a type alone tells; of a text file only the names are known."""
    if _is_number(kind):
        return ["bounds = [0, 0]            # declare what the variable may hold", "step = 1", "confirmed = false"]
    further = "; for a number: bounds = [0, 100] and step = 1" if is_text_file else ""
    return [f'categories = ["?"]         # declare every category{further}', "confirmed = false"]


def _is_number(kind: str) -> bool:
    return any(word in kind for word in ("INT", "FLOAT", "DOUBLE", "DECIMAL"))


def _from_rows(summary: ColumnSummary) -> list[str]:
    """A declaration that reads every value of the column, or a remark on why there is none."""
    name = summary.name
    if summary.rows == 0:
        return [f"# [variables.{toml_key(name)}] holds no value: left out."]
    if summary.is_identifier:
        return [
            f"# [variables.{toml_key(name)}] looks like an identifier: left out. If it tells the units apart, write",
            f"# id = {toml_text(name)} (and max_rows, if a unit has several rows) in [unit].",
        ]
    variable = proposed(summary, Microdata(name="", rows=None))
    if variable is None:
        many = f"holds more than {MOST_CATEGORIES} texts, or bytes that are none"
        return [
            f"# [variables.{toml_key(name)}] {many}: left out.",
            "# Declare it with categories_file = …, if it is a classification.",
        ]
    further = []
    if summary.is_unique and summary.is_whole:
        further.append("# No value comes twice: take it out if it is an identifier.")
    texts = () if summary.texts is None or not may_be_listed(summary.texts) else summary.texts
    if variable.categories and summary.is_number:
        lower, upper = (plain(bound) for bound in summary.bounds)
        further.append(f"# bounds = [{lower}, {upper}]; instead, if these are amounts")
        further.append(f"# step = {plain(summary.step)}")
    elif variable.bounds is not None and summary.is_whole and texts and len(texts) <= _MOST_ALTERNATIVES:
        further.append(f"# categories = [{', '.join(map(toml_text, texts))}]    # instead, if these are codes")
    return variable.lines("variables", further)[1:]


def labels_of(texts: tuple[str, ...]) -> dict[str, str]:
    """Return each value with its label; a value called "drop" takes another one, which is a rule's word."""
    return {text: text if text != DROP else "drop (value)" for text in texts}


def _is_name(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and not any(ord(sign) < 32 for sign in name)


def may_be_listed(texts: tuple[str, ...]) -> bool:
    """Whether a document can hold the texts: all are Unicode, and names where they stand before a label."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return DROP not in texts or all(map(_is_name, texts))
