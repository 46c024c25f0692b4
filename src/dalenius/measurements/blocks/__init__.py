"""Blocks of the data, the models that are fitted in each, and who runs a custodian's own function over them."""
