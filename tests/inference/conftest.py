"""Laws and releases made by hand: inference sees documents only, so no data engine is needed."""

import importlib.util
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dalenius.core import registry
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Additive, Law
from dalenius.core.release import Block, Provenance, Release, Table

PROVENANCE = Provenance(
    dataset="made by hand",
    population="none",
    version="1",
    definition="pure",
    budget={},
    neighbours={},
    cost={},
    mechanism="",
    strategy="",
    evidence={},
    software="tests",
    request={},
    digest="0" * 64,
    is_tainted=True,
)

Laplace = Callable[..., Additive]
MakeRelease = Callable[..., Release]


def _laplace(epsilon: str, limit: int | None = None) -> Additive:
    if limit is None:
        return Additive(registry.get("mechanisms", "discrete_laplace")(rate=Fraction(epsilon)))
    return Additive(registry.get("mechanisms", "truncated_laplace")(rate=Fraction(epsilon), limit=limit))


@pytest.fixture(scope="session")
def laplace() -> Laplace:
    """Discrete Laplace noise, truncated where a limit is given."""
    return _laplace


def _release(
    values: object, law: Law, names: str = "ABC", *, zeros: frozenset[tuple[int, ...]] = frozenset(), **changes: object
) -> Release:
    array = np.asarray(values, dtype=np.int64)
    axes = tuple(
        Axis(variable=name, labels=tuple(f"{name.lower()}{k}" for k in range(width)))
        for name, width in zip(names, array.shape, strict=False)
    )
    space = CellSpace(axes, zeros)
    title = " x ".join(a.name for a in axes)
    flat = array.reshape(-1)
    variance = law.variance if isinstance(law, Additive) else float("nan")
    measure = str(changes.pop("measure", "count"))
    shown = changes.pop("shown", flat.astype(np.float64))
    step = float(law.step) if isinstance(law, Additive) else 1.0
    table = Table(
        name=title,
        space=space,
        values=np.asarray(shown, dtype=np.float64).reshape(-1) * step,
        variance=np.full(flat.size, variance),
        measure=measure,
        is_unbiased=not changes.get("adjustments"),
    )
    block = Block(name=title, space=space, values=flat, law=law)
    return Release(blocks=(block,), tables=(table,), law=law, provenance=PROVENANCE, **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def make_release() -> MakeRelease:
    """A release of one table under one law."""
    return _release


@pytest.fixture(scope="session")
def residual_release() -> MakeRelease:
    """Table, margins and total measured by the residual strategy; the helper of `verify`, which is no installed package."""
    path = Path(__file__).parents[2] / "verify" / "_inference.py"
    spec = importlib.util.spec_from_file_location("verify_inference_settings", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    made: MakeRelease = module.residual_release
    return made
