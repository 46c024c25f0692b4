"""Settings for the verification of inference: laws, null tables, and a real residual plan."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.domain import Axis, Categories, Domain, Variable
from dalenius.core.law import Additive
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Provenance, Release, Value
from dalenius.core.sealed import Sealed
from dalenius.inference.observation import from_values
from dalenius.inference.observe import Seen, observe
from dalenius.plans.margins.plan import plan_list

PROVENANCE = Provenance(
    dataset="simulated",
    population="simulated",
    version="1",
    definition="none",
    budget={},
    neighbours={},
    cost={},
    mechanism="",
    strategy="",
    evidence={},
    software="verify",
    request={},
    digest="",
    is_tainted=True,
)


def laplace(epsilon: str, bound: int | None = None) -> Additive:
    """Discrete Laplace noise, truncated at `bound` if given."""
    if bound is None:
        return Additive(registry.get("mechanisms", "discrete_laplace")(rate=Fraction(epsilon)))
    return Additive(registry.get("mechanisms", "truncated_laplace")(rate=Fraction(epsilon), limit=bound))


def gaussian(variance: int) -> Additive:
    """Discrete Gaussian noise."""
    return Additive(registry.get("mechanisms", "discrete_gaussian")(sigma_squared=Fraction(variance)))


@dataclass(frozen=True)
class Setting:
    """A null table (margins spread by a factor e between first and last label) and how it is measured."""

    name: str
    shape: tuple[int, int]
    mean: float
    law: Additive | None

    @property
    def means(self) -> np.ndarray:
        """Cell means under independence."""
        rows = np.exp(np.linspace(-0.5, 0.5, self.shape[0]))[:, None]
        columns = np.exp(np.linspace(-0.5, 0.5, self.shape[1]))[None, :]
        table = rows * columns
        return np.asarray(table * (self.mean / table.mean()))

    def template(self) -> Seen:
        """An observation of this shape and law; its values are replaced by simulated ones."""
        if self.law is not None:
            return from_values(np.rint(self.means).astype(np.int64), self.law)
        return observe(residual_release(np.rint(self.means).astype(np.int64), rho="1/50"), "a", "b")


def residual_release(counts: np.ndarray, rho: str) -> Release:
    """Table, margins and total of a two-way table, measured by the residual strategy."""
    variables, axes = {}, []
    for name, width in zip("ab", counts.shape, strict=True):
        labels = tuple(f"{name}{k}" for k in range(width))
        categories = Categories(labels=labels, missing=labels[0], unseen=labels[0])
        variables[name] = Variable(name=name, domain=categories)
        axes.append(Axis(variable=name, labels=labels, codes=tuple(range(width))))
    domain = Domain(name="t", population="p", version="1", variables=variables, neighbours=Neighbours())
    definition = registry.get("definitions", "zero_concentrated")()
    budget = Budget.of("zero_concentrated", rho=rho)
    plan = plan_list(domain, tuple(axes), [("a", "b"), ("a",), ("b",), ()], (), budget, definition, strategy="residual")
    rng, blocks = RecordedRandomness("verify"), []
    for step in plan.measurements:
        exact = []
        for query in step.needs:
            assert isinstance(query, TableQuery)
            kept = ["ab".index(a.variable) for a in query.space.axes]
            gone = tuple(i for i in range(2) if i not in kept)
            exact.append(Sealed(counts.sum(axis=gone).ravel().astype(np.int64)))
        outcome = step.run(tuple(exact), step.draw(rng), rng)
        assert isinstance(outcome, Value)
        blocks.append(step.block(outcome))
    return Release(blocks=tuple(blocks), tables=plan.assemble(tuple(blocks)), law=plan.law, provenance=PROVENANCE)


SETTINGS = (
    Setting("2x2 Laplace 2, mean 5", (2, 2), 5, laplace("2")),
    Setting("2x2 Laplace 1, mean 20", (2, 2), 20, laplace("1")),
    Setting("2x2 Laplace 0.1, mean 400", (2, 2), 400, laplace("0.1")),
    Setting("3x3 truncated Laplace 0.5 at 10, mean 10", (3, 3), 10, laplace("0.5", 10)),
    Setting("4x4 Laplace 0.5, mean 7.4", (4, 4), 7.4, laplace("0.5")),
    Setting("4x4 Laplace 0.2, mean 12", (4, 4), 12, laplace("0.2")),
    Setting("4x4 Laplace 0.2, mean 55", (4, 4), 55, laplace("0.2")),
    Setting("5x5 Gaussian variance 25, mean 30", (5, 5), 30, gaussian(25)),
    Setting("6x6 Gaussian variance 50, mean 5", (6, 6), 5, gaussian(50)),
    Setting("10x10 truncated Laplace 0.1 at 10, mean 50", (10, 10), 50, laplace("0.1", 10)),
    Setting("10x10 Laplace 0.5, mean 50", (10, 10), 50, laplace("0.5")),
    Setting("10x10 Laplace 0.1, mean 5", (10, 10), 5, laplace("0.1")),
    Setting("5x4 residual rho 0.02, mean 60", (5, 4), 60, None),
)
