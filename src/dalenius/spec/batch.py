"""The batch document: tables that are fixed in advance, under one guarantee together (docs/reference/documents.md)."""

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from dalenius.core.domain import CellSpace, Domain
from dalenius.core.rationals import plain
from dalenius.core.release import Release, Subject
from dalenius.errors import DocumentError, Unsupported
from dalenius.rendering import two_lines
from dalenius.spec.canonical import Canonical, canonical, canonical_json, digest
from dalenius.spec.document import Document, Text, exact
from dalenius.spec.request import PrivacyPart, RequestDocument
from dalenius.spec.show import ShowPart
from dalenius.spec.subject import subject_of
from dalenius.spec.universe import with_universe

FORMAT = "dalenius-batch/1"
MOST_TABLES = 50
# Keys of a canonical request that stand once for the whole batch.
_ONCE = ("dataset", "population", "version", "neighbours", "privacy", "mechanism", "strategy", "noise")


class BatchDocument(Document):
    """A whole batch document."""

    kind: ClassVar[str] = "batch document"
    show: ClassVar[ShowPart] = ShowPart()

    dataset: Text = ""
    table: tuple[dict[str, Any], ...] = Field(min_length=2, max_length=MOST_TABLES)
    privacy: PrivacyPart
    title: Text = ""

    @model_validator(mode="after")
    def _is_a_batch(self) -> Self:
        if self.privacy.group > 1:
            raise Unsupported("A batch is priced for one unit; ask for tables for a group one by one.")
        if self.privacy.waves > 1:
            raise Unsupported("A batch is priced for one wave; write the amounts of one wave.")
        if any(share <= 0 for share in self._written_shares):
            raise DocumentError("share of a [[table]] must be positive.")
        _ = self.members
        return self

    @property
    def _written_shares(self) -> list[Fraction]:
        try:
            return [exact(part.get("share", 1)) for part in self.table]
        except ValueError as error:
            raise DocumentError(f"share of a [[table]] {error}.") from None

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The part of the whole that each table takes; they sum to one."""
        shares = self._written_shares
        return tuple(share / sum(shares) for share in shares)

    @cached_property
    def members(self) -> tuple[RequestDocument, ...]:
        """The tables as requests of their own, each under the guarantee of the whole."""
        privacy = self.privacy.model_dump(mode="json", exclude_defaults=True)
        return tuple(
            RequestDocument.from_dict(
                {
                    "dataset": self.dataset,
                    "title": part.get("title", ""),
                    "table": {key: value for key, value in part.items() if key not in ("title", "share")},
                    "privacy": privacy,
                }
            )
            for part in self.table
        )

    def __repr__(self) -> str:
        return two_lines(
            f"Batch: {self.title or f'{len(self.table)} tables'}",
            f"{len(self.table)} tables, {self.privacy.words} for all of them together",
        )

    def variables(self, domain: Domain) -> set[str]:
        return {name for member in self.members for name in member.variables(domain)}


Asked = RequestDocument | BatchDocument


def every_record(document: Asked, domain: Domain) -> Asked:
    """Return what is asked with every record counted in its margins, table by table (`with_universe`)."""
    if isinstance(document, RequestDocument):
        return with_universe(document, domain)
    members = [with_universe(member, domain) for member in document.members]
    if all(new is old for new, old in zip(members, document.members, strict=True)):
        return document
    said = [{} if member.table.universe is None else {"universe": member.table.universe} for member in members]
    tables = tuple({**part, **more} for part, more in zip(document.table, said, strict=True))
    return BatchDocument.from_dict(document.to_dict() | {"table": tables})


def members_of(document: Asked) -> tuple[RequestDocument, ...]:
    """The requests of a batch, or the one request itself."""
    return document.members if isinstance(document, BatchDocument) else (document,)


def form_of(document: Asked, domain: Domain) -> Canonical:
    """The canonical form of what is asked: the order in which a batch lists its tables is a spelling of it."""
    if isinstance(document, RequestDocument):
        return canonical(document, domain)
    forms = [canonical(member, domain).content for member in document.members]
    tables = sorted(_tables(document, domain), key=canonical_json)
    for table, following in pairwise(tables):
        if {**table, "share": ""} == {**following, "share": ""}:
            raise DocumentError(
                "Two tables of this batch ask for the same; a batch measures each table once. Give it a larger share."
            )
    once = {key: forms[0][key] for key in _ONCE if key in forms[0]}
    content = {"format": FORMAT, **once, "tables": tables}
    return Canonical(content, CellSpace(()), (), {})


def _tables(document: BatchDocument, domain: Domain) -> list[dict[str, Any]]:
    """What each table of a batch says by itself, in canonical form."""
    forms = (canonical(member, domain).content for member in document.members)
    return [
        {key: value for key, value in form.items() if key not in _ONCE} | {"share": plain(share)}
        for form, share in zip(forms, document.shares, strict=True)
    ]


def places_of(document: BatchDocument, domain: Domain) -> list[int]:
    """Which table of a batch comes first, second, … in canonical order, in which it is planned and measured."""
    tables = [canonical_json(table) for table in _tables(document, domain)]
    return sorted(range(len(tables)), key=tables.__getitem__)


def member_requests(document: BatchDocument, domain: Domain) -> tuple[dict[str, Any], ...]:
    """Return what each table of the release was asked for: the table, its share, and its batch."""
    whole = form_of(document, domain).digest
    return tuple(
        canonical(member, domain).content | {"share": plain(share), "batch": whole}
        for member, share in zip(document.members, document.shares, strict=True)
    )


def about(document: Asked, domain: Domain, dataset: str = "") -> Subject:
    """The words of what is asked; those of a batch name its data set and title, its tables have their own."""
    if isinstance(document, RequestDocument):
        return subject_of(document, domain, dataset)
    return Subject(title=document.title, dataset=dataset or domain.name, measure="")


def as_asked(release: Release, document: Asked, domain: Domain, dataset: str = "") -> Release:
    """A stored release titled and laid out as this request asks, a batch's tables in its order."""
    if release.subject is None:
        return release
    if isinstance(document, RequestDocument):
        return replace(release, subject=subject_of(document, domain, dataset))
    by_digest = {member.provenance.digest: member for member in release.members}
    members = tuple(
        replace(by_digest[digest(content)], subject=subject_of(member, domain, dataset), status=release.status)
        for member, content in zip(document.members, member_requests(document, domain), strict=True)
    )
    return replace(release, subject=about(document, domain, dataset)).with_members(members)
