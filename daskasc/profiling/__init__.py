"""Accounting of a block of code: operators, fallbacks, copies and peak memory.

:func:`profile` is also ``daskasc.profile``. Importing this package imports no torch; the block
itself does, because it is about arrays on a card.
"""

from __future__ import annotations

from daskasc.profiling._profile import Profile, profile

__all__ = ["Profile", "profile"]
