"""One verb for each measure: `curator.mean("income", by="region", rho=0.1)`. Types for checkers stand in the stub."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from inspect import Parameter, Signature, cleandoc, signature
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from dalenius.core import registry
from dalenius.core.plan import TablePlan
from dalenius.core.registry import module_of
from dalenius.core.release import Release
from dalenius.errors import ParameterError
from dalenius.spec.document import Part
from dalenius.spec.method import Method, takes_weight
from dalenius.spec.table import Amount, Axes, table

# What a verb says in other words, or once for all.
_LEFT_OUT = ("rows", "columns", "layers", "measure", "of", "dataset", "parameters")


class Written(str):
    """A type as a person writes it, which help shows without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


_BY = Parameter("by", Parameter.KEYWORD_ONLY, default=(), annotation=Written("Axes"))
_PLAN = Parameter("plan", Parameter.KEYWORD_ONLY, default=False, annotation=Written("bool"))


class MeasureVerbs:
    """Methods that are made from the measures of the registry, and from those that a policy allows beside them."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._measures():
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

        def verb(*of: str, **keys: Any) -> Release | TablePlan:
            if len(of) > 1:
                raise ParameterError(
                    f"Only the variable stands without a name: curator.{name}({of[0]!r}, by=…, …); received {len(of)} "
                    "such arguments."
                )
            return _ask(self, name, *of, **keys)

        verb.__doc__, verb.__signature__ = document_of(name), signature_of(name)  # type: ignore[attr-defined]
        verb.__name__ = verb.__qualname__ = name
        return verb

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._measures()})

    def _measures(self) -> tuple[str, ...]:
        planner = self.__dict__.get("planner")
        if planner is None:
            return ()
        with planner.allowing():
            return tuple(registry.names("methods"))


def _ask(
    curator: Any, measure: str, of: str | None = None, *, by: Axes = (), plan: bool = False, **keys: Any
) -> Release | TablePlan:
    with curator.planner.allowing():
        request = table(measure=measure, of=of, rows=by, **keys)
    done: Callable[[Any], Release | TablePlan] = curator.plan if plan else curator.release
    return done(request)


@cache
def signature_of(measure: str) -> Signature:
    """The parameters of a verb: the variable, `by`, the measure's own keys, and what every request may say."""
    method: Method = registry.get("methods", measure)
    of = [Parameter("of", Parameter.POSITIONAL_OR_KEYWORD, annotation=Written("str"))] if method.takes_of else []
    own = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=field.default, annotation=written_type(field.annotation))
        for name, field in method.Parameters.model_fields.items()
    ]
    left_out = () if takes_weight(measure) else ("weight",)
    shared = [each for name, each in shared_parameters().items() if name not in left_out]
    return Signature([*of, _BY, *own, *shared, _PLAN], return_annotation=Written("Release | TablePlan"))


@cache
def shared_parameters() -> dict[str, Parameter]:
    """What every verb takes, as `table` does."""
    parameters = signature(table).parameters
    return {
        name: each.replace(annotation=written_type(each.annotation))
        for name, each in parameters.items()
        if name not in _LEFT_OUT
    }


def written_type(annotation: Any) -> Written:
    """The type of a key in Python: numbers of any kind for exact ones, sequences for lists."""
    if annotation == Amount or annotation is Fraction:
        return Written("Amount")
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return written_type(parts[0])
    if origin in (Union, UnionType):
        numbers = get_args(Amount) if set(get_args(Amount)) <= set(parts) else ()
        others = [written_type(part) for part in parts if part not in (*numbers, NoneType)]
        ends = ["None"] if NoneType in parts else []
        return Written(" | ".join(dict.fromkeys([*(["Amount"] if numbers else []), *others, *ends])))
    if origin is Literal:
        return Written(f"Literal[{', '.join(map(repr, parts))}]")
    if origin in (tuple, Sequence):
        inner = dict.fromkeys(written_type(part) for part in parts if part is not Ellipsis)
        return Written(f"Sequence[{' | '.join(inner)}]")
    if origin in (dict, Mapping):
        return Written(f"Mapping[{', '.join(written_type(part) for part in parts)}]")
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return Written("Mapping[str, Any]")
    return Written(annotation.__name__ if isinstance(annotation, type) else "Any")


@cache
def document_of(measure: str) -> str:
    """The docstring of a verb, from its measure's module."""
    method: Method = registry.get("methods", measure)
    module = module_of(f"methods.{measure}") if measure in registry.own("methods") else None
    about = cleandoc((module.__doc__ if module else "") or measure).strip()
    fields = method.Parameters.model_fields.items()
    own = [f"    {name}: {field.description}" if field.description else f"    {name}" for name, field in fields]
    keys = "\n\nOwn keys\n" + "\n".join(own) if own else ""
    return (
        f"{about}\n\nReturns a `Release`, or with `plan=True` a `TablePlan`, which is free and reads no data. `by` "
        "names the variables of the table, in their order. State `rho`, `epsilon` (and `delta`) or `error_at_most`."
        f"{keys}"
    )
