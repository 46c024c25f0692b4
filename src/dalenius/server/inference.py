"""Inference on a release for the HTTP interface: every question that the registry finds and a server can bound.

The keys of a request are the parameters that the question declares; a key that it does not read is refused. Another
release is named by its ledger entry, and read as whoever asks may read it. Questions that simulate take a bounded
number of replicates, and at most two run at a time in each worker.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from dalenius.core.estimate import plain_values
from dalenius.core.release import Release
from dalenius.errors import DocumentError, RequestError, TooLarge, UnknownName
from dalenius.inference.question import REQUIRED, InferenceQuestion, Parameter, every_question
from dalenius.server.errors import TooManyRequests

_MOST_SIMULATED = 5_000_000
_MOST_REPLICATES = 9_999
_PATIENCE = 3.0
_AT_ONCE = threading.BoundedSemaphore(2)
_Text = Annotated[str, Field(max_length=200)]
_Names = Annotated[tuple[_Text, ...], Field(max_length=20)]
_Labels = Annotated[tuple[_Text, ...], Field(max_length=1000)]
_Cells = Annotated[dict[str, _Labels], Field(max_length=20)]
_Entry = Annotated[str, Field(max_length=64, pattern="^[0-9a-f]{1,64}$")]
_Numbers = Annotated[tuple[float, ...], Field(max_length=20_000)]


def questions() -> Mapping[str, InferenceQuestion]:
    return {name: question for name, question in every_question().items() if question.served_cells}


def find(name: str) -> InferenceQuestion:
    served = questions()
    UnknownName.check("method", name, served)
    return served[name]


def described(question: InferenceQuestion) -> dict[str, Any]:
    """What a question tells, on what it stands, and the schema of its parameters."""
    return {
        "name": question.name,
        "help": question.help,
        "assumes": list(question.assumes),
        "served_cells": question.served_cells,
        "parameters": _model(question).model_json_schema()["properties"],
    }


def infer(release: Release, name: str, written: Mapping[str, Any], read: Callable[[str], Release]) -> dict[str, Any]:
    """Ask one question of the first table, or of the table over the named axes; `read` gives a release by its entry."""
    question = find(name)
    arguments = _read(question, written)
    others = [each.name for each in question.parameters if each.is_release and arguments[each.name] is not None]
    arguments |= {name: read(arguments[name]) for name in others}
    asked = [release, *(arguments[name] for name in others)]
    _check_size(question, asked, arguments)
    _check_axes(question, asked, arguments)
    if not _AT_ONCE.acquire(timeout=_PATIENCE):
        raise TooManyRequests("The server is computing for others; ask again in a moment.", retry_after=2)
    try:
        answer = question.answer(release, **arguments)
    except (ValueError, ArithmeticError, LookupError, TypeError) as error:
        raise RequestError(f"{name} cannot be computed from this table ({type(error).__name__}).") from None
    finally:
        _AT_ONCE.release()
    return {"method": name, "result": plain_values(answer.to_dict())}


def _read(question: InferenceQuestion, written: Mapping[str, Any]) -> dict[str, Any]:
    try:
        values = _model(question).model_validate(dict(written))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(["body", *(str(step) for step in first["loc"])])[:200]
        raise DocumentError(f"{place}: {first['msg'][:200]}.", place=place) from None
    return {parameter.name: getattr(values, parameter.key) for parameter in question.parameters}


def _model(question: InferenceQuestion) -> type[BaseModel]:
    fields: dict[str, Any] = {each.key: (_type(each), _field(each)) for each in question.parameters}
    return create_model(question.name, __config__=ConfigDict(extra="forbid", frozen=True), **fields)


def _field(parameter: Parameter) -> Any:
    hint = parameter.hint
    limits = {"ge": hint.least, "le": hint.most} if parameter.type in (int, float) else {}
    default = ... if parameter.default is REQUIRED else parameter.default
    if parameter.is_selection and default is not ...:
        default = dict(default)
    return Field(default, description=hint.help, **limits)  # type: ignore[call-overload]


def _type(parameter: Parameter) -> Any:
    """A type that bounds what a caller may send."""
    if parameter.is_selection:
        return _Cells
    if parameter.is_release:
        return _Entry | None
    if parameter.hint.choices:
        return Literal[parameter.hint.choices]
    if parameter.is_several:
        return _Names if get_args(parameter.type)[0] is str else _Numbers
    if parameter.type in (str, str | None):
        return Annotated[parameter.type, Field(max_length=1000)]
    return parameter.type


def _check_size(question: InferenceQuestion, asked: Sequence[Release], given: Mapping[str, Any]) -> None:
    size, replicates = max(release.table.space.size for release in asked), given.get("replicates", 0)
    if (
        size > question.served_cells
        or replicates > _MOST_REPLICATES
        or (question.is_simulated and size * replicates > _MOST_SIMULATED)
    ):
        raise TooLarge(
            f"The server computes {question.name} on at most {question.served_cells:,} cells, with at most"
            f" {_MOST_REPLICATES:,} replicates, and simulates at most {_MOST_SIMULATED:,} cells; ask for fewer"
            " replicates, or download the release and use the library.",
            limit=question.served_cells,
        )


def _check_axes(question: InferenceQuestion, asked: Sequence[Release], given: Mapping[str, Any]) -> None:
    axes = {axis.name for release in asked for table in release.tables for axis in table.space.axes}
    for parameter in question.parameters:
        is_axes = parameter.type == tuple[str, ...]
        for name in given[parameter.name] if parameter.is_selection or is_axes else ():
            UnknownName.check("axis", name, axes)
