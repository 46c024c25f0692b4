"""A request in one call: `table(rows="branch", epsilon=1)`, typed and checked; `batch` is several."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dalenius.errors import DocumentError
from dalenius.spec.batch import BatchDocument
from dalenius.spec.document import DEFAULT_MEASURE
from dalenius.spec.request import PrivacyPart, RequestDocument, TablePart

AxisLike = str | Mapping[str, Any]
Axes = AxisLike | Sequence[AxisLike]
Amount = int | float | str | Fraction
_PLACES = ("rows", "columns", "layers")


def table(
    *,
    rows: Axes = (),
    columns: Axes = (),
    layers: Axes = (),
    measure: str = DEFAULT_MEASURE,
    of: str | None = None,
    where: Mapping[str, Any] | None = None,
    weight: str | None = None,
    margins: str | Sequence[Sequence[str]] | None = None,
    weights: Sequence[Amount] | None = None,
    objective: str | None = None,
    expected: Mapping[str, Any] | None = None,
    universe: str | None = None,
    epsilon: Amount | None = None,
    delta: Amount | None = None,
    rho: Amount | None = None,
    error_at_most: Amount | None = None,
    in_table: Sequence[str] | None = None,
    in_cells_of: int | None = None,
    definition: str | None = None,
    group: int | None = None,
    waves: int | None = None,
    mechanism: str | None = None,
    noise: Mapping[str, Any] | None = None,
    strategy: str | None = None,
    show: Mapping[str, Any] | None = None,
    title: str = "",
    dataset: str = "",
    **parameters: Any,
) -> RequestDocument:
    """The request for one table; `parameters` are the measure's own keys, such as `q=0.9` of a quantile.

    An axis is the name of a variable, or a mapping as a request document writes it: `{"variable": "region", "level":
    "state"}`. The guarantee follows from the amounts where `definition` does not name one: epsilon alone is pure,
    epsilon and delta are approximate, rho is zero-concentrated. `error_at_most` in their place is the 95 % margin of
    noise in the median cell, of the listed table `in_table` if named, and of cells with `in_cells_of` records. `noise`
    holds the parameters of a named mechanism, `show` what is done to the shown copy, `group` how many units together
    the guarantee is made for, `waves` how many releases of a series share the amounts.

    >>> request = table(rows="branch", columns=["gender"], epsilon=0.5)
    >>> request.privacy.definition, request.table.rows
    ('pure', ('branch',))
    """
    arguments = dict(locals())
    asked = {key: arguments[key] for key in TablePart.model_fields if key in arguments}
    asked |= {place: _listed(arguments[place]) for place in _PLACES} | parameters
    privacy = {key: arguments[key] for key in PrivacyPart.model_fields}
    further = {"title": title or None, "dataset": dataset or None, "show": show}
    return RequestDocument.from_dict({"table": _written(asked), "privacy": _written(privacy), **_written(further)})


def batch(
    *tables: Mapping[str, Any],
    epsilon: Amount | None = None,
    delta: Amount | None = None,
    rho: Amount | None = None,
    error_at_most: Amount | None = None,
    definition: str | None = None,
    mechanism: str | None = None,
    noise: Mapping[str, Any] | None = None,
    title: str = "",
    dataset: str = "",
) -> BatchDocument:
    """The request for several tables that are fixed in advance, released and charged as one.

    Each table is a mapping as `[[table]]` of a batch document writes it: the keys of `table`, a `title`, and a `share`
    of what is spent. The amounts are for all tables together.

    >>> batch({"rows": "sex"}, {"rows": ["region"], "share": 2}, rho="1/10").shares
    (Fraction(1, 3), Fraction(2, 3))
    """
    amounts = {"epsilon": epsilon, "delta": delta, "rho": rho, "error_at_most": error_at_most}
    privacy = {"definition": definition, **amounts, "mechanism": mechanism, "noise": noise}
    listed = [{key: _listed(part) if key in _PLACES else part for key, part in one.items()} for one in tables]
    further = {"title": title or None, "dataset": dataset or None}
    return BatchDocument.from_dict({"table": listed, "privacy": _written(privacy)} | _written(further))


def _listed(axes: Axes) -> list[AxisLike]:
    if isinstance(axes, str | Mapping):
        return [axes]
    if not isinstance(axes, Iterable):
        raise DocumentError(
            f"An axis is the name of a variable or a mapping such as {{'variable': …, 'level': …}}, or a list of "
            f"them; received {axes!r}."
        )
    return list(axes)


def _written(part: Mapping[str, Any]) -> dict[str, Any]:
    """Without what nobody wrote."""
    return {key: value for key, value in part.items() if value is not None}
