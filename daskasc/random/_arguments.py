"""Arguments of a draw: checked by NumPy's own code, broadcast, brought to the card.

NumPy's generator checks its parameters before it draws, so it is asked for no numbers at all:
conditions, order, types and wording of the errors are its own. Of parameters on the card only
their extremes come down (and whether there is a NaN), which its checks cannot tell from all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskasc import device
from daskasc.array._dispatch import is_array
from daskasc.array._dtypes import result, sortable, torch, unsortable
from daskasc.random._words import Source, shape_of

# never seen by anyone: it draws nothing, or numbers that are thrown away
NUMPYS = np.random.Generator(np.random.PCG64(0))
Shape = tuple[int, ...]


def scalar_types(value: Any) -> bool:
    """Whether a parameter is a number on the host."""
    return isinstance(value, bool | int | float | np.number | np.bool_)


def parameters(
    source: Source, name: str, values: tuple[Any, ...], size: Any, check: bool = True
) -> tuple[Shape, list[Any]]:
    """Check and broadcast the parameters of a distribution.

    Parameters
    ----------
    source : Source
    name : str
        Method of NumPy's generator that checks them.
    values : tuple of array_like
    size : None, int or tuple of int
    check : bool
        False where the caller checks what is on the card; numbers and host arrays still are.

    Returns
    -------
    shape : tuple of int
        Of the result.
    parameters : list
        Numbers, NumPy arrays and arrays on the card, none broadcast.
    """
    given = values
    values = tuple(
        value if scalar_types(value) or is_array(value) else np.asarray(value) for value in values
    )
    on_card = any(map(is_array, values))
    method = getattr(NUMPYS, name)
    if not on_card:
        common = np.broadcast_shapes(*(np.shape(value) for value in values))
        method(*given, size=(0, *common))
    else:
        common = np.broadcast_shapes(*(np.shape(value) for value in values))
        if check:
            method(*(extremes(source, value) for value in values), size=(0, 3))
    shape = common if size is None else shape_of(size)
    if common and np.broadcast_shapes(common, shape) != shape:
        raise ValueError(
            f"Output size {shape} is not compatible with broadcast dimensions of inputs {common}."
        )
    return shape, list(values)


def extremes(source: Source, value: Any) -> Any:
    """Least and greatest element and a NaN, if there is one, as NumPy array of three."""
    if scalar_types(value):
        return value
    if not is_array(value):
        flat = np.asarray(value).reshape(-1)
    else:
        tensor = value._t.reshape(-1)
        if tensor.is_complex() or not tensor.numel():
            return np.ones(3, value.dtype)
        if not tensor.is_floating_point():
            ordered = sortable(tensor)
            ends = torch.stack([ordered.min(), ordered.max()])
            flat = _down(unsortable(ends, tensor.dtype))
        else:
            tensor = tensor.float() if tensor.dtype.itemsize == 2 else tensor
            bad = torch.isnan(tensor)
            low = torch.where(bad, torch.inf, tensor).min()
            high = torch.where(bad, -torch.inf, tensor).max()
            flat = _down(torch.stack([low, high, torch.where(bad.any(), torch.nan, high)]))
    if not flat.size:
        return np.ones(3, flat.dtype)
    if flat.dtype.kind not in "biuf":
        return np.resize(flat, 3)
    return np.array([np.fmin.reduce(flat), np.fmax.reduce(flat), flat.max()])


def _down(tensor: Any) -> np.ndarray[Any, Any]:
    return device.current().download(tensor)


def float_dtype(source: Source, dtype: Any) -> Any:
    """Torch dtype of float draws; NumPy's default follows the promotion policy.

    The default itself, ``numpy.float64``, counts as not given; ``"float64"`` is kept.
    """
    wanted = np.dtype(dtype)
    return source.floats(result(wanted, explicit=dtype is not np.float64))


def into(out: Any, tensor: Any) -> Any:
    """Store a draw in `out` and return it."""
    out._write(tensor)
    return out


def output(name: str, out: Any, dtype: Any, size: Any) -> Shape | None:
    """Shape of an `out` argument that fits, None without one; NumPy's errors."""
    if out is None:
        return None
    if not is_array(out):
        raise TypeError(
            f"out is {type(out).__name__}; numbers drawn on the card can only be stored in an "
            "AscendArray"
        )
    wanted = np.dtype(dtype)
    if out.dtype != wanted:
        raise TypeError(
            f"Supplied output array has the wrong type. Expected {wanted}, got {out.dtype}"
        )
    if not out._t.is_contiguous():
        raise ValueError("Supplied output array is not contiguous, writable or aligned.")
    shape: Shape = out.shape
    if size is not None and shape_of(size) != shape:
        raise ValueError("size must match out.shape when used together")
    return shape


def tensors(source: Source, values: list[Any], dtype: Any) -> list[Any]:
    """Tensors of parameters in the dtype of the computation."""
    return [source.tensor(value, dtype) for value in values]
