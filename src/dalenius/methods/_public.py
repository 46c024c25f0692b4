"""Tables under a guarantee that leaves publicly known attributes out: what they may not be."""

from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import Unsupported
from dalenius.spec.question import Question


def refuse_public_alone(question: Question, sensitivity: Sensitivity) -> Sensitivity:
    """The sensitivity, or a refusal where it is zero: such numbers would be exact, and nothing would be charged for
    them.

    That everybody can look an attribute up does not make the custodian's file a source for it: a record that is wrong
    there, or missing, would show. So they are taken from where they are public, or asked for under differential
    privacy.
    """
    if sensitivity.l1 > 0:
        return sensitivity
    sources = {name: question.domain.variable(name).public_source for name in question.neighbours.public}
    raise Unsupported(
        "These numbers follow from publicly known attributes alone, so that this guarantee would release them without "
        f"noise. Take them from where they are public ({'; '.join(f'{n}: {s}' for n, s in sources.items())}), or ask "
        "under differential privacy.",
        definition=question.definition.name,
        public=list(sources),
    )
