"""[privacy.noise]: what a request says of the noise that it names, checked by the noise's own model.

A mechanism, or a measurement that is noise of its own, states its keys; nothing here knows one by name.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from dalenius.core import registry
from dalenius.core.contracts import Stated, TableNoise
from dalenius.errors import DocumentError
from dalenius.spec.document import Part, refusal

# Texts beyond this stand in the canonical form by their digest.
_LONGEST = 200


def kinds_of_noise() -> dict[str, type[Part]]:
    """The names under which [privacy] mechanism takes parameters, with their keys."""
    laws, steps = registry.every("mechanisms"), registry.every("measurements")
    additive = {name: m.Parameters for name, m in laws.items() if isinstance(m, Stated)}
    return additive | {name: m.Parameters for name, m in steps.items() if isinstance(m, TableNoise)}


def parameters_of(
    mechanism: str | None, noise: Mapping[str, Any], kinds: Mapping[str, type[Part]] | None = None
) -> Part | None:
    """The parameters as the noise's own model reads them; None where nothing is stated.

    `kinds` are the models by name: those of a measure, or of all mechanisms if left out.
    """
    if not noise:
        return None
    if mechanism is None:
        raise DocumentError("[privacy.noise] states parameters of a mechanism that the request does not name.")
    kinds = kinds_of_noise() if kinds is None else kinds
    if mechanism not in kinds:
        readers = f"is read by {', '.join(sorted(kinds))}" if kinds else "is not read here"
        raise DocumentError(
            f"The mechanism {mechanism!r} takes no parameters; [privacy.noise] {readers}.", received=mechanism
        )
    from pydantic import ValidationError

    try:
        return kinds[mechanism].model_validate(dict(noise))
    except ValidationError as error:
        raise refusal(f"[privacy.noise] of {mechanism}", error) from None


def described(parameters: Part) -> dict[str, Any]:
    """Plain content for the canonical form: exact numbers as text, long texts by their digest."""
    content = parameters.model_dump(mode="json", exclude_defaults=True)
    return {
        key: f"sha256:{hashlib.sha256(value.encode()).hexdigest()}"
        if isinstance(value, str) and len(value) > _LONGEST
        else value
        for key, value in content.items()
    }
