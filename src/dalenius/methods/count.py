"""Number of records in each cell: signed, unbiased counts by the route of `plans/counts` that a request asks for."""

from dalenius.core.neighbours import Scope
from dalenius.plans.count_route import canonical_count_keys, count_keys, plan_count, routes
from dalenius.spec.method import Method, Words
from dalenius.statistics.count import Count
from dalenius.translation import translated

COUNT = Method(
    name="count",
    plan=plan_count,
    takes_of=False,
    counts_records=True,
    scopes=tuple(scope for scope in Scope if any(scope in route.scopes for route in routes())),
    Parameters=count_keys(),
    words=translated(
        Words(
            title="Number of records",
            preview="Expect each count to be off by at most ± {error} (95 %).",
            caption="± is the margin of error from privacy noise, {level}.",
        )
    ),
    examples=tuple(example for route in reversed(routes()) for example in route.examples),
    canonical_keys=canonical_count_keys,
    statistic=lambda question: Count(question.query),
)
