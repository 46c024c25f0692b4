"""Declared data where people work with them: every variable with what it may hold."""

from dalenius.core.domain import Domain, Variable
from dalenius.rendering import grid

__all__ = ["DomainDisplay"]

_MOST_LABELS = 5


class DomainDisplay:
    def __init__(self, domain: Domain) -> None:
        self._domain = domain

    def html(self, *notes: str) -> str:
        domain = self._domain
        lines = [
            (name, variable.label, _values_of(variable), "" if variable.is_confirmed else "not confirmed")
            for name, variable in domain.variables.items()
        ]
        title = f"{domain.name} {domain.version}, population {domain.population}"
        return grid(title, ["Variable", "Label", "Values", ""], lines, labels=4, notes=notes)


def _values_of(variable: Variable) -> str:
    if variable.is_numeric:
        bounds = variable.bounds
        low, high, step = (f"{float(number):,.10g}" for number in (bounds.lower, bounds.upper, bounds.step))
        return f"{low} to {high}, step {step}"
    labels = variable.categories.labels
    more = f", … ({len(labels):,})" if len(labels) > _MOST_LABELS else ""
    return ", ".join(labels[:_MOST_LABELS]) + more
