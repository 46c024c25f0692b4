"""How many times one released number is another."""

from dalenius.inference.compared import ratio
from dalenius.inference.questions._comparison import comparison

RATIO = comparison("ratio", ratio, "First number over the second: counts, totals, means, shares or quantiles.")
