"""Every exception and warning that a user of daskasc can see.

Each message names what was found, the limit that it broke and what to do about it. All classes
take one message string, so they survive pickling between worker, scheduler and client.
"""

from __future__ import annotations

from typing import Any, Self


class DaskascError(Exception):
    """Base of all errors of daskasc."""


class ConfigurationError(DaskascError, ValueError):
    """An option or configuration value is unknown, malformed or contradicts another one."""


class InputError(DaskascError, ValueError):
    """Data named by the user (a store, a variable, an axis) is missing, damaged or unusable."""


class DeviceError(DaskascError, RuntimeError):
    """A card, or the software below it, failed."""


class DeviceUnavailableError(DeviceError):
    """The wanted kind of card cannot be used in this process (driver, CANN or torch missing)."""


class OutOfDeviceMemoryError(DeviceError, MemoryError):
    """A card's memory does not hold what was asked for, after spilling and one retry."""


class ProjectedMemoryError(DaskascError, RuntimeError, MemoryError):
    """A planned graph cannot run: one of its tasks needs more memory than a card has."""


class UnsupportedDTypeError(DaskascError, TypeError):
    """A dtype that has no representation on the card."""


class MissingLibraryError(DaskascError, ImportError):
    """A function needs a library that is not installed."""


class ProfileStateError(DaskascError, RuntimeError):
    """A profile was asked for results before its block ended, or was begun twice."""


class HostConversionError(DaskascError, TypeError):
    """A chunk on a card was about to be turned into a NumPy array implicitly."""


class HostFallbackError(DaskascError, TypeError):
    """A function has no form on the card, and configuration forbids computing it on the host."""


class CollectiveError(DaskascError, RuntimeError):
    """A collective operation over the cards did not complete."""


class CollectiveMismatchError(CollectiveError):
    """The cards were about to enter different collectives; nothing was exchanged."""


class CollectiveTimeoutError(CollectiveError, TimeoutError):
    """A collective, or the forming of its group, took longer than its limit."""

    def __new__(cls, *args: Any) -> Self:
        """Of its bases' this is the one that fits its memory; tblib calls it by name."""
        return TimeoutError.__new__(cls, *args)


class GroupChangedError(CollectiveError):
    """The group of cards changed (a card was lost or came back) while a collective waited."""


class PlacementError(DaskascError, RuntimeError):
    """Chunks are planned for cards that this cluster does not have."""


class HostFallbackWarning(UserWarning):
    """A function was computed on the host, because it has no form on the card."""


class HostCopyWarning(UserWarning):
    """A chunk was implicitly copied from a card to the host."""


class PrecisionWarning(UserWarning):
    """A result has another precision than NumPy's (promotion policy ``device``)."""
