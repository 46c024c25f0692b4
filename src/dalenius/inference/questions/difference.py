"""By how much two released numbers differ."""

from dalenius.inference.compared import difference
from dalenius.inference.questions._comparison import comparison

DIFFERENCE = comparison(
    "difference", difference, "First number minus the second: counts, totals, means, shares or quantiles."
)
