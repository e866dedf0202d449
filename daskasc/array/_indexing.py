"""NumPy indexing on tensors: reading and writing.

An index is split into two parts, as NumPy defines it::

    x[2, ::-1, None, [1, 3], :, mask]
      |   |     |     |      |   |
      |   basic: slices and None, done first, as views (a negative step as a flipped copy)
      advanced: integer arrays, masks (through nonzero), and integers next to them; broadcast
                together. Their axes go where the first of them was if they are adjacent, in
                front otherwise

Integers alone are basic. Masks never reach torch: boolean ``index_put_`` is documented to have
crashed a context on Atlas A2; nonzero and an integer ``index_put_`` are the safe way. Indices are
checked against their axis before a kernel sees them, because a device would read elsewhere.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _dispatch, _duplicates, _guard, _index_copy, _masks, _readonly
from daskasc.array._dtypes import NUMPY, TWINS, cast, torch, twin
from daskasc.array._index_bounds import NO_INDEX, check_broadcast, check_int, checked_index
from daskasc.array._nesting import check_depth, check_element
from daskasc.array._storage import tensor_of, wrap
from daskasc.array._values import value_for


class _Plan:
    """An index taken apart for one tensor."""

    __slots__ = ("advanced", "copies_scalar", "flips", "view")

    def __init__(self) -> None:
        self.view: Any = None  # after the basic part, unflipped
        self.flips: list[int] = []  # axes of the view that have to be reversed
        self.advanced: list[Any] = []  # per axis of the view: index tensor or None
        self.copies_scalar = False  # every axis taken by an integer, without an Ellipsis


def getitem(tensor: Any, index: Any) -> Any:
    """Tensor ``tensor[index]``; read-only if it is a copy where NumPy would give a view."""
    kind = type(index)
    if kind is int and tensor.ndim:
        check_int(index, tensor.shape[0], 0)
        view = tensor[index]
        return view if view.ndim else view.clone()
    # plain forward slices and integers mean the same to torch
    if (kind is slice and _is_forward(index)) or (
        kind is tuple
        and all(type(i) is int or (type(i) is slice and _is_forward(i)) for i in index)
    ):
        try:
            view = tensor[index]
            return view if view.ndim else view.clone()
        except IndexError:
            pass  # torch's, of dimensions; the general way below raises NumPy's
    if _dispatch.is_array(index) and (found := _under_mask(tensor, _as_entry(index))) is not None:
        return found
    plan = _plan(tensor, index)
    view = plan.view
    if plan.flips:
        view = flip(view, plan.flips)
    if plan.advanced:
        return gather(view, plan.advanced)
    if plan.flips:
        return _readonly.reversed_copy(view, tensor, plan.view, tuple(plan.flips))
    return view.clone() if plan.copies_scalar else view


def _under_mask(tensor: Any, mask: Any) -> Any:
    """Elements, or rows, where a mask of the leading axes' shape is True; None if it is no such."""
    if mask.dtype is not torch.bool:
        return None
    covered, shape = mask.shape, tensor.shape
    width = len(covered)
    if not width or (covered != shape and covered != shape[:width]):
        return None
    if len(shape) == 1 and tensor.dtype not in TWINS and not device.current().restricts:
        return tensor.index_select(0, mask.nonzero().squeeze_(1))  # what gather comes to
    if width > 1:
        tensor, mask = tensor.flatten(0, width - 1), mask.flatten()
    return gather(tensor, [mask.nonzero().view(-1), *(None,) * (tensor.ndim - 1)])


def _is_forward(entry: slice) -> bool:
    step = entry.step
    return (
        (step is None or (type(step) is int and step > 0))
        and (entry.start is None or type(entry.start) is int)
        and (entry.stop is None or type(entry.stop) is int)
    )


@_guard.guarded
def setitem(tensor: Any, index: Any, value: Any) -> None:
    """Write ``tensor[index] = value``."""
    if _is_full_mask(tensor, index):
        if isinstance(value, list | tuple):
            value = wrap(_value(value, tensor))
        if getattr(value, "ndim", 0) > 1:
            raise TypeError(
                "boolean array indexing assignment requires a 0 or 1-dimensional input; got one "
                f"with {value.ndim} dimensions"
            )
    mask = _whole_mask(tensor, index)
    if mask is not None and _fill_mask(tensor, mask, value):
        return
    try:
        plan = _plan(tensor, index)
    except IndexError:
        _check_fits(tensor, index, value)
        raise
    if not plan.advanced:
        if plan.copies_scalar:
            check_element(value, NUMPY[tensor.dtype])
        check_depth(value, plan.view.ndim)
        source = _value(value, tensor)
        if plan.flips:
            source = flip(_broadcast(_trim(source, plan.view.shape), plan.view.shape), plan.flips)
        store(plan.view, source)
        return
    if plan.flips:
        # torch has no view of it: written into a reversed copy, which is then reversed back
        view = flip(plan.view, plan.flips)
        _scatter(view, plan.advanced, _value(value, tensor), True)
        plan.view.copy_(flip(view, plan.flips))
        return
    _scatter(plan.view, plan.advanced, _value(value, tensor), not _is_mask_only(tensor, index))


def _check_fits(tensor: Any, index: Any, value: Any) -> None:
    """Raise ValueError where a value does not fit integer arrays that are out of bounds."""
    if not getattr(value, "ndim", type(value) in (list, tuple)):
        return
    plan = _plan(tensor, index, bounds=False)
    if plan.advanced:
        shape = _result_shape(plan.view, plan.advanced)
        _broadcast(_trim(_value(value, tensor), shape), shape)


def _scatter(view: Any, advanced: list[Any], source: Any, repeats: bool) -> None:
    """Write at integer index tensors, which may name places several times if `repeats`."""
    shape = _result_shape(view, advanced)
    source = _broadcast(_trim(source, shape), shape)
    source = _apart(source, view)
    if source.numel() > 1 and repeats:
        source = _duplicates.last_wins(view, advanced, source)
    advanced = [entry if entry is None else _apart(entry, view) for entry in advanced]
    # index_put_ has no kernels for the wide unsigned dtypes; their twins move the same bits
    view, source = twin(view), twin(source)
    if device.current().restricts:
        values = _broadcast(source, _result_shape(view, advanced))
        if _index_copy.copy_at(view, advanced, values):
            return
    torch.ops.aten.index_put_(view, advanced, source)


def _is_mask_only(tensor: Any, index: Any) -> bool:
    """Whether the index is one mask, whose places are all different."""
    return _whole_mask(tensor, index) is not None


def _apart(tensor: Any, target: Any) -> Any:
    """The tensor, or a copy where writing into `target` might change it."""
    shared = tensor.untyped_storage().data_ptr() == target.untyped_storage().data_ptr()
    return tensor.clone() if shared and tensor.numel() else tensor


def store(target: Any, source: Any) -> None:
    """Copy `source` into `target`, broadcasting, safe where both share memory."""
    source = cast(_trim(source, target.shape), target.dtype)
    if source is not target:
        source = _apart(source, target)
    target.copy_(_broadcast(source, target.shape))


@_guard.guarded
def gather(tensor: Any, advanced: list[Any]) -> Any:
    """Elements at integer index tensors, one entry an axis, None for a whole axis."""
    places = [axis for axis, entry in enumerate(advanced) if entry is not None]
    if len(places) == 1:
        axis = places[0]
        entry = advanced[axis]
        # measured: index_select is faster, except along the last of several axes
        if entry.ndim == 1 and (axis < tensor.ndim - 1 or tensor.ndim == 1):
            signed = TWINS.get(tensor.dtype)
            if signed is None:
                return tensor.index_select(axis, entry)
            return tensor.view(signed).index_select(axis, entry).view(tensor.dtype)
    return torch.ops.aten.index(tensor, advanced)


# -- taking an index apart


def _plan(tensor: Any, index: Any, bounds: bool = True) -> _Plan:
    entries, parted = _expand(tensor, index)
    any_array = any(_is_advanced(entry) for entry in entries)
    plan = _Plan()
    view = tensor
    axis = 0  # of the view built so far
    source_axis = 0  # of the original, for messages
    advanced: list[Any] = []
    for entry in entries:
        if entry is None:
            view = view.unsqueeze(axis)
            advanced.append(None)
            axis += 1
            continue
        if isinstance(entry, slice):
            view, flipped = _slice(view, axis, entry)
            if flipped:
                plan.flips.append(axis)
            advanced.append(None)
        elif _is_advanced(entry):
            if isinstance(entry, _Flag):
                view = view.unsqueeze(axis)
                advanced.append(entry.as_index(tensor.device))
                axis += 1
                continue
            if bounds:
                entry = checked_index(entry, view.shape[axis], source_axis, tensor.device)
            advanced.append(entry)
        else:
            number = check_int(entry, view.shape[axis], source_axis)
            if not any_array:
                view = view.select(axis, number)
                source_axis += 1
                continue
            advanced.append(torch.full((), number, dtype=torch.int64, device=tensor.device))
        axis += 1
        source_axis += 1
    plan.view = view
    if any_array:
        check_broadcast(advanced)
        plan.advanced = advanced
        sides = [] if parted is None else [advanced[:parted], advanced[parted:]]
        if sides and all(any(e is not None for e in side) for side in sides):
            # torch would take them as adjacent; as the first axes theirs come first
            order = sorted(range(view.ndim), key=lambda i: advanced[i] is None)
            plan.view = view.permute(order)
            plan.advanced = [advanced[i] for i in order]
            plan.flips = [order.index(i) for i in plan.flips]
    plan.copies_scalar = view.ndim == 0 and not _has_ellipsis(index) and not any_array
    return plan


class _Flag:
    """A scalar True or False as an index: a new axis of length 1 or 0."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def as_index(self, place: Any) -> Any:
        return torch.zeros((1,) if self.value else (0,), dtype=torch.int64, device=place)


def _has_ellipsis(index: Any) -> bool:
    return index is Ellipsis or (type(index) is tuple and any(i is Ellipsis for i in index))


def _is_advanced(entry: Any) -> bool:
    return isinstance(entry, torch.Tensor | np.ndarray | _Flag)


def _expand(tensor: Any, index: Any) -> tuple[list[Any], int | None]:
    """One entry an axis (None apart): masks become index arrays, an Ellipsis full slices.

    Also the place of an Ellipsis that stands for no axis: to NumPy, index arrays on either side of
    it are not adjacent.
    """
    items = index if type(index) is tuple else (index,)
    entries: list[Any] = []
    used = 0
    ellipsis_at = -1
    pending: list[tuple[int, Any]] = []  # masks are resolved once the Ellipsis is known
    for item in items:
        if item is None:
            entries.append(None)
        elif item is Ellipsis:
            if ellipsis_at >= 0:
                raise IndexError("an index can only have a single ellipsis ('...')")
            ellipsis_at = len(entries)
        elif isinstance(item, slice):
            entries.append(item)
            used += 1
        elif isinstance(item, bool | np.bool_):
            entries.append(_Flag(bool(item)))
        else:
            entry = _as_entry(item)
            if _is_mask(entry):
                if entry.ndim == 0:
                    entries.append(_Flag(bool(entry)))
                    continue
                pending.append((len(entries), entry))
                entries.extend([entry] * entry.ndim)
                used += entry.ndim
            else:
                entries.append(entry)
                used += 1
    if used > tensor.ndim:
        raise IndexError(
            f"too many indices for array: array is {tensor.ndim}-dimensional, "
            f"but {used} were indexed"
        )
    missing = tensor.ndim - used
    at = len(entries) if ellipsis_at < 0 else ellipsis_at
    entries[at:at] = [slice(None)] * missing
    for place, mask in pending:
        start = place + (missing if place >= at else 0)
        first_axis = sum(1 for e in entries[:start] if e is not None and not isinstance(e, _Flag))
        wanted = tuple(tensor.shape[first_axis : first_axis + mask.ndim])
        # as NumPy, which does not look at axes of length 0
        if any(n and n != length for n, length in zip(mask.shape, wanted, strict=True)):
            raise IndexError(
                f"boolean index did not match indexed array: its shape is {tuple(mask.shape)}, "
                f"the axes it indexes have {wanted}"
            )
        entries[start : start + mask.ndim] = _positions(mask)
    return entries, ellipsis_at if ellipsis_at >= 0 and not missing else None


def _positions(mask: Any) -> list[Any]:
    if isinstance(mask, np.ndarray):
        return list(mask.nonzero())
    return list(mask.nonzero().unbind(1))


def _is_mask(entry: Any) -> bool:
    if isinstance(entry, np.ndarray):
        return entry.dtype == np.bool_
    return isinstance(entry, torch.Tensor) and entry.dtype is torch.bool


def _as_entry(item: Any) -> Any:
    """Integer, host array or tensor."""
    if _dispatch.is_array(item):
        try:
            return item._t
        except _dispatch.MeetsTimes:
            raise IndexError(NO_INDEX) from None
    if isinstance(item, list | tuple):
        if any(_dispatch.is_array(part) for part in item):
            return tensor_of(item)
        item = np.asarray(_masks.plain(item))
        if not item.size:
            item = item.astype(np.intp)
    if isinstance(item, np.ndarray):
        item = _masks.plain(item)
        if item.dtype.kind not in "iub":
            raise IndexError(NO_INDEX)
        return item
    try:
        return operator.index(item)
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer "
            f"or boolean arrays are valid indices; got {type(item).__name__}"
        ) from None


def _slice(view: Any, axis: int, entry: slice) -> tuple[Any, bool]:
    length = view.shape[axis]
    start, stop, step = entry.indices(length)
    count = len(range(start, stop, step))
    if count == length and step == 1:
        return view, False
    if not count:
        return view.narrow(axis, 0, 0), False
    if step < 0:
        start, step = start + (count - 1) * step, -step
        return _narrow(view, axis, start, count, step), count > 1
    return _narrow(view, axis, start, count, step), False


def _narrow(view: Any, axis: int, start: int, count: int, step: int) -> Any:
    taken = slice(start, start + (count - 1) * step + 1, step)
    index = (slice(None),) * axis + (taken,)
    return view[index]


# -- writing


def _is_full_mask(tensor: Any, index: Any) -> bool:
    """Whether the index is nothing but a mask of the tensor's own number of axes."""
    if type(index) is tuple and len(index) == 1:
        index = index[0]
    if _dispatch.is_array(index):
        index = _as_entry(index)
    if isinstance(index, bool | np.bool_):
        return bool(tensor.ndim == 0)
    return _is_mask(index) and bool(index.ndim == tensor.ndim)


def _whole_mask(tensor: Any, index: Any) -> Any:
    """Return the mask where the index is nothing but a mask over leading axes."""
    if type(index) is tuple and len(index) == 1:
        index = index[0]
    if _dispatch.is_array(index):
        index = _as_entry(index)
    if (
        not _is_mask(index)
        or not index.ndim
        or tuple(index.shape) != tuple(tensor.shape[: index.ndim])
    ):
        return None
    return index if isinstance(index, torch.Tensor) else tensor_of(index)


def _fill_mask(tensor: Any, mask: Any, value: Any) -> bool:
    """Write one scalar under a mask, without nonzero; False if the value is no scalar."""
    source = _value(value, tensor)
    if source.ndim:
        return False
    shaped = mask.reshape(mask.shape + (1,) * (tensor.ndim - mask.ndim))
    tensor.copy_(torch.where(shaped, source, tensor))
    return True


def _value(value: Any, tensor: Any) -> Any:
    return value_for(value, tensor.dtype).to(tensor.device)


def flip(tensor: Any, axes: list[int] | tuple[int, ...]) -> Any:
    """Copy with axes reversed."""
    signed = TWINS.get(tensor.dtype)
    if signed is None:
        return tensor.flip(axes)
    return tensor.view(signed).flip(axes).view(tensor.dtype)


def _result_shape(view: Any, advanced: list[Any]) -> tuple[int, ...]:
    places = [i for i, entry in enumerate(advanced) if entry is not None]
    middle = np.broadcast_shapes(*(tuple(advanced[i].shape) for i in places))
    whole = [view.shape[i] for i in range(view.ndim) if i not in places]
    adjacent = places == list(range(places[0], places[-1] + 1))
    at = places[0] if adjacent else 0
    return (*whole[:at], *middle, *whole[at:])


def _trim(source: Any, shape: Any) -> Any:
    """Drop leading axes of length 1 that the target does not have, as NumPy does."""
    while source.ndim > len(shape) and source.shape[0] == 1:
        source = source[0]
    return source


def _broadcast(source: Any, shape: Any) -> Any:
    try:
        return source.expand(shape)
    except RuntimeError:
        raise ValueError(
            f"could not broadcast input array from shape {tuple(source.shape)} into shape "
            f"{tuple(shape)}"
        ) from None
