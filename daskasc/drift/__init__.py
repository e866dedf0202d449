"""Where a NumPy program goes another way on a card: the first operator, and its smallest input.

:func:`compare` runs a function once on arrays that are both, a NumPy array and its twin on the
card, and compares after every operator. Importing this package imports torch.
"""

from __future__ import annotations

from daskasc.drift._compare import compare
from daskasc.drift._differences import Difference, Tolerance
from daskasc.drift._report import Operator, Report, Reproduction

__all__ = ["Difference", "Operator", "Report", "Reproduction", "Tolerance", "compare"]
