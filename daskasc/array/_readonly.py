"""Arrays that refuse to be written into, and the views of them.

Two kinds: copies that stand for a view which torch's strides cannot express (a negative step), and
views that are read-only in NumPy too (``broadcast_to``, ``diagonal``, sliding windows). The mark is
on the tensor at the root of all views, which torch keeps alive with them::

    a --> a[1:] --> a[1:].T             root a, not marked
    freeze(a.diagonal()) --> [:2]       a root of its own on a's memory, marked

so an index, a transpose or a reshape without a copy is refused like the marked array itself, and
whatever has memory of its own can be written. Views as another dtype have no root in torch: who
makes one hands the mark on with :func:`like`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

_MARK = "_daskasc_read_only"
_ORIGIN = "_daskasc_origin"


def _root(tensor: Any) -> Any:
    base = tensor._base
    return tensor if base is None else base


def is_read_only(tensor: Any) -> bool:
    """Whether writing into a tensor is to be refused."""
    return hasattr(_root(tensor), _MARK)


def freeze(tensor: Any, strides: tuple[int, ...] | None = None) -> Any:
    """Tensor on the same memory that, with all views of it, is read-only.

    Parameters
    ----------
    tensor : torch.Tensor
    strides : tuple of int, optional
        Bytes between elements of NumPy's view, where the tensor is a copy that stands for one; ()
        if they are not known.
    """
    frozen = tensor.data
    setattr(frozen, _MARK, strides)
    return frozen


def stand_in(
    copy: Any, source: Any, view: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]
) -> Any:
    """Read-only tensor for a copy that stands for NumPy's ``view(source)``."""
    strides = _numpys_strides(source)
    known = strides or not source.ndim
    return freeze(copy, view(laid_out(source, strides)).strides if known else ())


def reversed_copy(copy: Any, source: Any, view: Any, axes: tuple[int, ...]) -> Any:
    """Read-only tensor for a copy that stands for `view`, a view of `source`, with axes reversed.

    It remembers where it came from while `source` is alive, for in-place operators.
    """
    strides = _numpys_strides(view)
    frozen = freeze(copy, tuple(-n if i in axes else n for i, n in enumerate(strides)))
    if not is_read_only(source):
        geometry = tuple(view.shape), view.stride(), view.storage_offset()
        setattr(frozen, _ORIGIN, (weakref.ref(source), geometry, axes))
    return frozen


def origin(tensor: Any) -> tuple[Any, tuple[int, ...]] | None:
    """View that a reversed copy stands for, and its reversed axes; None if it is not known."""
    found = getattr(tensor, _ORIGIN, None)
    if found is None or (source := found[0]()) is None:
        return None
    return source.as_strided(*found[1]), found[2]


def like(tensor: Any, source: Any) -> Any:
    """`tensor`, a view of `source` that torch does not know as one, read-only where that is."""
    return freeze(tensor, ()) if is_read_only(source) else tensor


def laid_out(tensor: Any, strides: tuple[int, ...] | None = None) -> np.ndarray[Any, Any]:
    """NumPy array at a tensor's address: for its layout alone, the elements must not be touched.

    Parameters
    ----------
    tensor : torch.Tensor
    strides : tuple of int, optional
        Bytes between elements along each axis; by default the tensor's.
    """
    return np.asarray(_Address(tensor, strides))


def _numpys_strides(tensor: Any) -> tuple[int, ...]:
    """Bytes between elements that a tensor has in NumPy; () if they are not known."""
    root = _root(tensor)
    strides: tuple[int, ...] | None = getattr(root, _MARK, None)
    if strides is None:
        size = tensor.element_size()
        return tuple(n * size for n in tensor.stride())
    return strides if tensor is root else ()


def stands_for(tensor: Any) -> np.ndarray[Any, Any] | None:
    """NumPy's view, as by :func:`laid_out`, that a tensor is the copy of; None if there is none."""
    strides = getattr(tensor, _MARK, None)
    return laid_out(tensor, strides) if strides else None


def copies(tensor: Any, shape: Any, order: Any) -> bool:
    """Whether NumPy copies for another shape, because `tensor` stands for a view with gaps."""
    view = stands_for(tensor)
    if view is None:
        return False
    try:
        view.reshape(shape, order=order, copy=False)
    except ValueError:
        return True
    except TypeError:  # NumPy 2.0 cannot say; the result stays read-only
        return False
    return False


class _Address:
    """What ``numpy.asarray`` asks for."""

    def __init__(self, tensor: Any, strides: tuple[int, ...] | None) -> None:
        size = tensor.element_size()
        self.__array_interface__ = {
            "version": 3,
            "data": (tensor.data_ptr() or 1, True),
            "shape": tuple(tensor.shape),
            "strides": tuple(n * size for n in tensor.stride()) if strides is None else strides,
            "typestr": f"|V{size}",
        }
