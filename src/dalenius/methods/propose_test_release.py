"""A median, a quantile or the distance of the quartiles by propose-test-release: exact plus noise at a proposed bound,
or no reply.

Usually worse than selection (`measure = "quantiles"`), which needs no bound and always answers.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from dalenius.plans.propose_test_release import plan_propose_test_release
from dalenius.spec.document import Exact, usual
from dalenius.spec.keys import ShareKey
from dalenius.spec.method import FieldKind, FormField, Method, Words, exact_texts, example
from dalenius.translation import texts, translated


class ProposeTestReleaseParameters(ShareKey):
    """Keys of propose-test-release: what is estimated, and the bound that is proposed, or several that are tried in
    turn.
    """

    estimate: Literal["median", "quantile", "interquartile"] = usual("median", "What is estimated.")
    bounds: Exact | tuple[Exact, ...] | None = usual(
        None,
        "How far one record may move the answer, as it is proposed; of several rising numbers the first that passes "
        "its test gives the noise.",
    )


def _canonical(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers as exact texts, and a list of one bound as the bound."""
    canonical = exact_texts(keys, "q", "bounds")
    if isinstance(canonical.get("bounds"), list) and len(canonical["bounds"]) == 1:
        (canonical["bounds"],) = canonical["bounds"]
    return canonical


PROPOSE_TEST_RELEASE = Method(
    name="propose_test_release",
    plan=plan_propose_test_release,
    is_offered=False,
    is_one_number=True,
    Parameters=ProposeTestReleaseParameters,
    form_fields={
        "estimate": FormField(
            kind=FieldKind.CHOICE,
            labels=texts("Which"),
            usual="median",
            first="median",
            choices={
                "median": texts("median"),
                "interquartile": texts("distance of the quartiles"),
                "quantile": texts("another quantile"),
            },
        ),
        "q": FormField(kind=FieldKind.NUMBER, labels=texts("Level of the quantile")),
        "bounds": FormField(
            kind=FieldKind.NUMBERS,
            labels=texts("Proposed bound, or several, tried from the smallest on"),
            is_needed=True,
            part=Fraction(1, 20),
        ),
    },
    words=translated(
        Words(
            title="Order statistic of {of}, after a test",
            preview="If there is a reply, expect it to be off by at most ± {error} (95 %).",
            caption="± is the margin of error from privacy noise, {level}, at the bound that was proposed.",
        )
    ),
    examples=(
        example(measure="propose_test_release", of="income", bounds=20, epsilon=40, delta="1e-3"),
        example(
            measure="propose_test_release", of="income", estimate="interquartile", bounds=38, epsilon=40, delta="1e-3"
        ),
        example(measure="propose_test_release", of="income", bounds=[5, 20, 38], epsilon=40, delta="1e-3"),
    ),
    canonical_keys=_canonical,
)
