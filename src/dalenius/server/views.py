"""What the services hand to pages and to the API: plain frozen results, safe to show to whoever received them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dalenius.core.budget import MASTER


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelView:
    name: str
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableView:
    """A variable as a table builder shows it. `bounds` and `step` are exact text, for numeric variables.

    `derivation` says how it came about, where it is no plain column, in each language.
    """

    name: str
    label: str
    is_numeric: bool
    categories: tuple[str, ...] = ()
    levels: tuple[LevelView, ...] = ()
    bounds: tuple[str, str] | None = None
    step: str = ""
    unit: str = ""
    is_sensitive: bool = False
    derivation: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetView:
    """A data set as everybody may see it: the declaration, never anything about the file."""

    name: str
    title: str
    version: str
    population: str
    description: str
    mode: str
    has_list: bool
    variables: tuple[VariableView, ...]
    neighbours: str
    measures: tuple[str, ...]
    definitions: tuple[str, ...]
    defaults: Mapping[str, str]
    most_cells: int
    weights: tuple[str, ...] = ()
    draws: str = ""
    translations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def in_language(self, language: str) -> "DatasetView":
        """The same view with title and labels of variables in another language, as far as the document gives them."""
        words = self.translations.get(language)
        if not words:
            return self
        labels = words["variables"]
        variables = tuple(replace(v, label=labels.get(v.name, v.label)) for v in self.variables)
        return replace(self, title=words["title"] or self.title, variables=variables)

    def translate_label(self, language: str, variable: str, label: str) -> str:
        """A category or group in another language; requests and releases keep the document's own word."""
        labels = self.translations.get(language, {}).get("labels", {})
        return str(labels.get(variable, {}).get(label, label))

    def level_name(self, language: str, level: str) -> str:
        return str(self.translations.get(language, {}).get("levels", {}).get(level, level))

    def variable(self, name: str) -> VariableView | None:
        return next((v for v in self.variables if v.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaView:
    """What one analyst may spend and has spent; exact text. `limit` and `left` are None where no quota was set."""

    analyst: str
    population: str
    spent: Mapping[str, str]
    limit: Mapping[str, str] | None
    left: Mapping[str, str] | None
    charges: int
    account: str = MASTER


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseView:
    """A release in a list. `at` is when it was charged, in UTC; `analyst` is empty for readers who may not know."""

    entry: str
    dataset: str
    version: str
    population: str
    title: str
    measure: str
    variables: tuple[str, ...]
    cells: int
    definition: str
    budget: Mapping[str, str]
    cost: Mapping[str, Any]
    status: str
    at: str
    analyst: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a request would do, known without data.

    `refusal` is the error it would meet now (quota, budget), in the one error shape; `already` is the published
    release that would answer it for free; `from_list` tells that the stored list answers it for free. `digest` names
    what was previewed: a release that sends it along is refused if it would be anything else. `quota` is None for
    readers who have none.
    """

    digest: str
    dataset: str
    cells: int
    cost: Mapping[str, Any]
    definition: str
    budget: Mapping[str, str]
    mechanism: str
    strategy: str
    std_error: float | None
    half_width_95: float | None
    evidence: Mapping[str, Any]
    guarantee: str
    warnings: tuple[str, ...]
    is_queued: bool
    quota: QuotaView | None
    already: ReleaseView | None
    from_list: bool
    refusal: Mapping[str, Any] | None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A release under way: queued, running, awaiting approval, done or failed. Progress is a stage, never a number."""

    id: str
    state: str
    stage: str
    dataset: str
    analyst: str
    request: Mapping[str, Any]
    cells: int
    created: float
    entry: str = ""
    error: Mapping[str, Any] | None = None
    http_status: int = 0
    approved_by: str = ""

    @property
    def is_finished(self) -> bool:
        return self.state in ("done", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRule:
    """Above which rho a second person approves, as exact text; None where nobody need.

    `proposed` is what one custodian asked for and another has not confirmed: `{"above": …, "by": …}`.
    """

    above: str | None
    proposed: Mapping[str, str | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTable:
    title: str
    dataset: str
    request: Mapping[str, Any]
    created: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A document to send. `etag` is strong; `is_public` says that caches may keep it for a short time."""

    content: bytes
    media_type: str
    filename: str
    etag: str
    is_public: bool


def plain(view: Any) -> Any:
    return [plain(item) for item in view] if isinstance(view, list | tuple) else asdict(view)
