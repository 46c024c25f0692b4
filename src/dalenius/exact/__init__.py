"""Exact arithmetic below the gate: enclosures, losses, samplers, and the noise that is made of them."""
