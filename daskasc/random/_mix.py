"""The hash of SplitMix64, in Python: constants and one word."""

from __future__ import annotations

MASK = 2**64 - 1
# shift, then multiplier, of each step
STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


def mixed(z: int) -> int:
    """Hash of a number below 2**64: one word."""
    for shift, multiplier in STEPS:
        z = ((z ^ (z >> shift)) * multiplier) & MASK
    return z
