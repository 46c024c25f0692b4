"""A statistic with its request route, a strategy for margins and an engine, as somebody would add them: for tests that plant them."""

STATISTIC = '''
    """Sum of squares of a numeric variable in each cell."""

    from dataclasses import dataclass

    from dalenius.core.query import Aggregate, Power, RowFunction, TableQuery
    from dalenius.statistics._moves import bounded_sum
    from dalenius.statistics._example import Example, cells, group, number

    __all__ = ["Energy"]


    @dataclass(frozen=True)
    class Energy:
        """A row moves one cell by a square of at most the largest one."""

        space: object
        where: tuple
        name: str
        largest: int

        @property
        def query(self):
            return TableQuery(
                space=self.space, where=self.where, function=RowFunction.of(Power(self.name, exponent=2))
            )

        def sensitivity(self, neighbours):
            return bounded_sum(neighbours, cells=self.space.size, low=0, high=self.largest**2)

        @classmethod
        def examples(cls):
            """Two cells, numbers of both signs, and rows that drop out."""
            statistic = cls(cells("a", "b"), (), "x", 3)
            rows = (("a", -3), ("b", 2), ("b", -3), ("a", None))
            return (Example(statistic=statistic, variables=group("a", "b") | number(-3, 2), rows=rows, is_tight=False),)
'''

METHOD = '''
    """Sum of squares of a numeric variable in each cell."""

    from dalenius.core.neighbours import Scope
    from dalenius.measurements.noisy import Noisy
    from dalenius.plans.priced import additive_preview, priced, shown_as
    from dalenius.spec.document import Part
    from dalenius.spec.method import Method, Words
    from dalenius.statistics.energy import Energy

    __all__ = ["EnergyMethod"]


    class EnergyMethod(Method):
        """Noisy sums of squares."""

        name = "energy"
        words = {
            "en": Words(title="Energy of {of}", preview="Off by ± {error}.", caption="± is the error."),
            "de": Words(title="Energie von {of}", preview="Weicht um ± {error} ab.", caption="± ist der Fehler."),
        }
        examples = (
            {
                "table": {"rows": ["sex"], "measure": "energy", "of": "income"},
                "privacy": {"definition": "pure", "epsilon": 1},
            },
        )

        @staticmethod
        def plan(question):
            bounds = question.bounds
            statistic = Energy(
                question.space, question.where, question.of, max(abs(bounds.low), abs(bounds.high))
            )
            mechanism = question.choose(statistic.sensitivity(question.neighbours))
            measurement = Noisy("energy", statistic, mechanism, bounds.step**2)
            return priced(
                question,
                (measurement,),
                shown_as("energy"),
                mechanism=mechanism.name,
                strategy="table",
                preview=additive_preview(question, measurement.law),
            )
'''

STRATEGY = '''
    """Every margin by itself, the last with as much as the others together."""

    from dalenius.plans.margins.measured import measured

    __all__ = ["LastStrategy"]


    class LastStrategy:
        """Half of the budget for the last margin."""

        name = "last"
        plainness = 9

        @staticmethod
        def option(setting, allotment):
            *others, last = setting.parts
            shares = {part: 0.5 / len(others) for part in others} | {last: 0.5}
            return measured(setting, allotment, "last", shares)
'''

ENGINE = """
    import json

    from dalenius.engines._choice import engine_for

    __all__ = ["ColumnsFile"]


    class ColumnsFile:
        turn = 0
        suffixes = ()

        @classmethod
        def accepts(cls, data):
            return str(data).endswith(".columns")

        @classmethod
        def open(cls, domain, data, secret=b"", *, table="", delimiter=",", others=None):
            rows = json.loads(data.read_text())
            return engine_for(rows).open(domain, rows, secret, others=others)
"""
