"""How an array on a card crosses between processes: as host bytes, never as a device index.

An :class:`~daskasc.array.AscendArray` pickles to a call of :func:`rebuild` with its bytes on the
host. What the call gives depends on the process that unpickles:

==============  =======================================  =====================================
the array was   unpickled by a process with a card       by a process without a card
==============  =======================================  =====================================
on a card       array on that process's card             NumPy array (a result for the user)
on no card      array on that process's card             array if torch is here already, else
                                                         a :class:`HostChunk` placeholder
==============  =======================================  =====================================

The last case is a client that embeds arrays in a graph: the scheduler unpickles the graph, must
not import torch for it, and pickles it again for the workers. This module imports no torch.
The array package is looked up by name when it is needed, as pickle itself would do.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from daskasc import device

_ARRAY_PACKAGE = "daskasc.array"


class HostChunk:
    """Placeholder for an array in a process that has neither a card nor torch.

    It computes nothing; it knows its size, and pickles to what it was made of.
    """

    __slots__ = ("_host",)

    def __init__(self, host: np.ndarray[Any, Any]) -> None:
        self._host = host

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._host.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the array."""
        return self._host.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._host.ndim

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self._host.nbytes

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """Return the elements as a NumPy array."""
        return self._host

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, (self._host, False)

    def __repr__(self) -> str:
        return f"HostChunk(shape={self.shape}, dtype={self.dtype})"


def rebuild(host: np.ndarray[Any, Any], from_card: bool) -> Any:
    """Make of an unpickled array what this process can use; see the module's table.

    Parameters
    ----------
    host : ndarray
        The elements.
    from_card : bool
        Whether the process that pickled the array owned a card.
    """
    if device.has_card():
        return importlib.import_module(_ARRAY_PACKAGE).from_numpy(host)
    if from_card:
        return host
    if "torch" in sys.modules:
        return importlib.import_module(_ARRAY_PACKAGE).from_numpy(host)
    return HostChunk(host)


# the name that the pickles carry
_rebuild = rebuild
