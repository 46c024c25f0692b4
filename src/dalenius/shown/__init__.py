"""What results look like where people work: found by the registry, so that `core` need not know it."""
