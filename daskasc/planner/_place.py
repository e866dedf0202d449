"""``daskasc.place``: a user's choice of the card that owns each chunk.

The choice is a step of the graph, :class:`Placed`, which hands its chunk on. Dask's optimisation
fuses it with what comes before and after, but cannot drop it; annotations would be dropped. The
owner pass looks for such steps inside tasks.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask._task_spec import GraphNode, Task, _execute_subgraph
from dask.tokenize import tokenize
from dask.typing import Key

from daskasc.errors import InputError
from daskasc.topology import Placement

PREFIX = "placed"
_CHOICES = ("block", "cyclic", "replicate")


@dataclass(frozen=True)
class Placed:
    """Task: a chunk as it is; where it stands in a graph says on which card the task runs."""

    placement: Placement

    def __call__(self, block: Any) -> Any:
        """Hand the chunk on."""
        return block


def place(x: Any, how: Any = "block", axis: int | str | None = None) -> Any:
    """Choose the card that owns each chunk of an array.

    What is computed from the array chunk by chunk runs on the same cards, also after slicing,
    transposing, stacking and ``persist``. Without a cluster of cards the array is as before.

    Parameters
    ----------
    x : dask.array.Array, xarray.DataArray or xarray.Dataset
        Of a Dataset all chunked data variables are placed.
    how : {"block", "cyclic", "replicate"}, array_like of int, or mapping
        ``"block"``: contiguous blocks of chunks, neighbours together; what planned graphs do by
        themselves. ``"cyclic"``: chunks in turn, which balances work that grows along an axis.
        ``"replicate"``: for an array that is small beside those it meets: it does not decide where
        their chunks are computed, and each card that needs it fetches a copy. An array of card
        numbers in the shape of the chunk grid (``x.numblocks``), or a mapping of every grid
        position to a card, gives the owners themselves.
    axis : int or str, optional
        For ``"block"`` and ``"cyclic"``: count the chunks along this axis (a dimension's name with
        xarray), so that chunks that differ only along other axes share a card. By default all
        chunks are counted in C order.

    Returns
    -------
    same type as `x`
        Lazy; no values change.

    Raises
    ------
    InputError
        `x` holds no dask array, or `how` or `axis` does not fit it. A card that the cluster does
        not have is a PlacementError when the graph is planned.

    Examples
    --------
    >>> import dask.array as da
    >>> x = da.ones((8, 8), chunks=(2, 8))
    >>> place(x, "cyclic").chunks == x.chunks
    True
    >>> place(x, [[0], [0], [1], [1]]).dtype
    dtype('float64')
    """
    if isinstance(x, da.Array):
        if isinstance(axis, str):
            raise InputError(f"axis is {axis!r}; a dask array has numbered axes, such as axis=0")
        return _placed(x, how, axis)
    if type(x).__module__.partition(".")[0] == "xarray":
        return _place_labelled(x, how, axis)
    raise InputError(
        f"place takes a dask array or an xarray object, but got {type(x).__name__}; chunk the data "
        "first (dask.array.from_array, .chunk())"
    )


def _place_labelled(x: Any, how: Any, axis: int | str | None) -> Any:
    xarray = importlib.import_module("xarray")
    if isinstance(x, xarray.Dataset):
        moved = {
            name: _place_labelled(variable, how, axis)
            for name, variable in x.data_vars.items()
            if isinstance(variable.variable._data, da.Array)
        }
        if not moved:
            raise InputError("the Dataset has no chunked data variable to place; .chunk() it first")
        return x.assign(moved)
    if not isinstance(x, (xarray.DataArray, xarray.Variable)):
        raise InputError(f"place takes a DataArray or a Dataset, but got {type(x).__name__}")
    variable = x.variable if isinstance(x, xarray.DataArray) else x
    if not isinstance(variable._data, da.Array):
        raise InputError(f"{x.name!r} has no chunks to place; .chunk() it first")
    if isinstance(axis, str):
        if axis not in x.dims:
            raise InputError(f"axis is {axis!r}; {x.name!r} has the dimensions {tuple(x.dims)}")
    number = x.dims.index(axis) if isinstance(axis, str) else axis
    return x.copy(data=_placed(variable._data, how, number))


def _placed(x: da.Array, how: Any, axis: int | None) -> da.Array:
    placement = _placement(x.numblocks, how, axis)
    indices = tuple(range(x.ndim))
    return da.blockwise(
        Placed(placement),
        indices,
        x,
        indices,
        dtype=x.dtype,
        meta=x._meta,
        name=f"{PREFIX}-{placement.how}-{tokenize(x.name, placement)}",
    )


def _placement(numblocks: tuple[int, ...], how: Any, axis: int | None) -> Placement:
    if isinstance(how, str):
        if how not in _CHOICES:
            raise InputError(
                f"how is {how!r}; allowed: {', '.join(_CHOICES)}, an array of card numbers of "
                f"shape {numblocks}, or a mapping of grid positions to cards"
            )
        if axis is None:
            return Placement(how, numblocks)
        ndim = len(numblocks)
        whole = isinstance(axis, (int, np.integer)) and not isinstance(axis, bool)
        if how == "replicate" or not whole or not -ndim <= axis < ndim:
            raise InputError(
                f"axis is {axis!r}; allowed: None"
                + (f", or integers from {-ndim} to {ndim - 1}" if how != "replicate" else "")
            )
        return Placement(how, numblocks, int(axis) % ndim)
    if axis is not None:
        raise InputError(
            "axis goes with how='block' and 'cyclic' only; the cards are given already"
        )
    return Placement("explicit", numblocks, None, _listed(numblocks, how))


def _listed(numblocks: tuple[int, ...], how: Any) -> tuple[int, ...]:
    """Card of each chunk in C order."""
    if isinstance(how, Mapping):
        positions = list(itertools.product(*map(range, numblocks)))
        given = {key if isinstance(key, tuple) else (key,): card for key, card in how.items()}
        missing = [position for position in positions if position not in given]
        other = [key for key in given if key not in set(positions)]
        if missing or other:
            raise InputError(
                f"how gives {len(given)} chunks a card, but the grid of shape {numblocks} has "
                + (f"{missing[0]} too" if missing else f"no {other[0]}")
                + "; give each grid position one"
            )
        how = np.array([given[position] for position in positions]).reshape(numblocks)
    try:
        cards = np.asarray(how)
    except ValueError:  # lists of unequal lengths
        cards = np.asarray(None)
    if cards.shape != numblocks or cards.dtype.kind not in "iu" or (cards < 0).any():
        raise InputError(
            f"how has shape {cards.shape} and dtype {cards.dtype}; card numbers are integers >= 0, "
            f"one a chunk: shape {numblocks}"
        )
    return tuple(int(card) for card in cards.ravel())


def placements(
    key: Key, node: GraphNode, located: Callable[[Key, Key], Key]
) -> Iterator[tuple[Placement, tuple[int, ...]]]:
    """Placements inside a task, each with the grid position of its chunk.

    Parameters
    ----------
    key, node
        The task.
    located : callable
        Grid position of an inner step, see :meth:`daskasc.planner._sizes.Sizes.located`.
    """
    if not isinstance(node, Task) or not isinstance(key, tuple):
        return
    if isinstance(node.func, Placed):
        index = key[1:]
        if all(isinstance(position, int) for position in index):
            yield node.func.placement, index
    elif node.func is _execute_subgraph:
        for name, inner in node.args[0].items():
            yield from placements(located(name, key), inner, located)
