"""By how many per cent a released number changed."""

from dalenius.inference.compared import change
from dalenius.inference.questions._comparison import comparison

CHANGE = comparison("change", change, "Change from the first number to the second, in per cent of the first.")
