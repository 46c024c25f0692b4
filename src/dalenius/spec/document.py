"""What all documents share: frozen models, exact numbers, and refusals that name the nearest known key."""

from collections.abc import Mapping
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from dalenius.core.rationals import plain, rational
from dalenius.errors import DaleniusError, DocumentError, ParameterError
from dalenius.spec.coding import canonical_text

# What a request asks for that names no measure.
DEFAULT_MEASURE = "count"
# What is asked first of a number, where there is nothing to count by.
DEFAULT_MEASURE_OF_NUMBERS = "mean"


def exact(value: object) -> Fraction:
    """The rational that a document's number or decimal text stands for."""
    if isinstance(value, Decimal):
        value = str(value) if value.is_finite() else float(value)
    try:
        return rational(value)
    except ParameterError as error:
        raise ValueError(error.message.replace("value must", "must", 1)) from None


def whole(value: object) -> int:
    """An integer; 4.0 and "4" are not accepted for it, nor is true."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"must be a whole number; received {value!r:.80}")
    return value


def category(value: object) -> str:
    """A category as written, in canonical text: 1, 1.0 and "1" are the same."""
    text = canonical_text(value) if isinstance(value, str | bool | int | float | Decimal) else None
    if text is None:
        raise ValueError(f"a category must be text, a number, true or false; received {value!r:.80}")
    return text


_NUMBER_SCHEMA = {"anyOf": [{"type": "number"}, {"type": "string", "description": "decimal or fraction"}]}
_CATEGORY_SCHEMA = {"type": ["string", "integer", "number", "boolean"]}

Exact = Annotated[
    Fraction, BeforeValidator(exact), PlainSerializer(plain, return_type=str), WithJsonSchema(_NUMBER_SCHEMA)
]
Whole = Annotated[int, BeforeValidator(whole), WithJsonSchema({"type": "integer"})]
Category = Annotated[str, BeforeValidator(category), WithJsonSchema(_CATEGORY_SCHEMA)]
Name = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]*$")]
Text = Annotated[str, StringConstraints(strict=True, max_length=10_000)]


def usual(default: Any, about: str, **rules: Any) -> Any:
    """A key of a document that may be left out, with what it means; `dict` stands for an empty table."""
    value: dict[str, Any] = {"default_factory": dict} if default is dict else {"default": default}
    return Field(description=about, **value, **rules)


def flag(about: str) -> Any:
    """A key that is true or false, and false where it is left out."""
    return usual(False, about, strict=True)


class Part(BaseModel):
    """A section of a document: frozen, and without keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    section: ClassVar[str] = "the document"
    # Keys of a method that name variables, and whether what it is taken of may be a variable of categories.
    naming: ClassVar[tuple[str, ...]] = ()
    takes_categories: ClassVar[bool] = False

    def __init_subclass__(cls, *, section: str = "", **others: Any) -> None:
        """Take the name of the section, for refusals, where the class is declared."""
        super().__init_subclass__(**others)
        cls.section = section or cls.section

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            keys = [field.alias or name for name, field in cls.model_fields.items()]
            for key in value:
                if key not in keys:
                    raise unknown_key(str(key), keys, cls.section)
        return value


class Document(Part):
    kind: ClassVar[str] = "document"

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """From plain Python values; every refusal is a `DocumentError` or its kin."""
        if not isinstance(content, Mapping):
            raise DocumentError(f"A {cls.kind} must be a table of keys; received {type(content).__name__}.")
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise refusal(cls.kind, error) from None

    def to_dict(self) -> dict[str, Any]:
        """Plain values with exact numbers as text, without what was left at its default."""
        return self.model_dump(mode="json", exclude_defaults=True, by_alias=True)


def unknown_key(key: str, known: list[str], section: str) -> DocumentError:
    """A refusal that says which key was probably meant."""
    # A key may be as long as a document; what is compared and repeated is not.
    key = key if len(key) <= 200 else f"{key[:200]}…"
    close = get_close_matches(key, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return DocumentError(
        f"There is no key {key!r} in {section}.{hint} Known keys: {', '.join(known)}.", received=key, known=known
    )


def refusal(kind: str, error: ValidationError) -> DaleniusError:
    """One complaint of the schema, in one sentence."""
    # Where several forms are allowed, the complaint that went deepest is about the form that was meant.
    first = max(error.errors(include_url=False), key=lambda complaint: len(complaint["loc"]))
    place = ".".join(str(step) for step in first["loc"] if not _is_form(step)) or "the document"
    message = _plain_words(first["type"], first.get("ctx", {}), first["msg"])
    received = "" if "received" in message or first["type"] == "missing" else f"; received {first['input']!r:.80}"
    return DocumentError(f"{place} in the {kind}: {message}{received}.", place=place)


_WORDS = {
    "tuple_type": 'must be a list, such as ["a", "b"]',
    "dict_type": "must be a table of keys",
    "model_type": "must be a table of keys",
    "model_attributes_type": "must be a table of keys",
    "string_type": "must be text in quotation marks",
    "bool_type": "must be true or false",
    "missing": "is missing",
    "string_pattern_mismatch": "must not hold control characters",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "too_long": "must have at most {max_length} entries",
    "string_too_long": "must have at most {max_length} characters",
}


def _plain_words(kind: str, context: Mapping[str, Any], message: str) -> str:
    """A complaint of the schema in the words of a document's author."""
    if kind in ("string_too_short", "too_short"):
        least = int(context.get("min_length", 1))
        return "must not be empty" if least == 1 else f"must have at least {least} entries"
    if kind in _WORDS:
        return _WORDS[kind].format(**context)
    return message.removeprefix("Value error, ").rstrip(".")


def _is_form(step: int | str) -> bool:
    """Whether a step of a place names one of several allowed forms, not a key of the document."""
    return isinstance(step, str) and (step.endswith("Part") or "[" in step or "-str" in step)
