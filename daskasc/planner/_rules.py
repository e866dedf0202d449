"""What one step of a task makes and needs, told by its function: rules, as data where possible.

A step is a call of one function inside a task. A rule gives the size of its result and the memory
that it takes besides arguments and result (*scratch*). Functions are known by name. Of a function
that is not known the result has the size that dask noted for its array, and its scratch is guessed:
as much as its largest argument or its result.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from daskasc.planner._calls import UPLOADS, Call, Rule, Step, name_of, result_of, total, unwrap
from daskasc.planner._own_rules import OWN_RULES
from daskasc.planner._place import Placed
from daskasc.planner._reductions import COMPOSED
from daskasc.planner._sizes import Size, array_size

_MODULES_OF_OPERATORS = ("operator", "_operator")
# a user's function may bear any name
_KNOWN_PACKAGES = ("dask", "daskasc", "numpy", "xarray", "_operator", "operator", "builtins", "")

# dask's functions that reduce one chunk: how many arrays the partial result has, and the scratch
# in multiples of the chunk (float64 moments work on the differences and their powers; without
# float64 sums are formed of blocks of 16)
_CHUNK_REDUCTIONS: dict[str, tuple[int, float]] = {
    **dict.fromkeys(("sum", "prod", "min", "max", "any", "all", "chunk_min", "chunk_max"), (1, 0)),
    **dict.fromkeys(("nansum", "nanprod", "nanmin", "nanmax"), (1, 1.25)),
    **dict.fromkeys(("_nanmin_skip", "_nanmax_skip"), (1, 1.25)),
    "mean_chunk": (2, 0.25),
    "moment_chunk": (3, 2.375),
}
# of the dtype of what they are taken of
_EXTREMES = ("min", "max", "chunk_min", "chunk_max", "_nanmin_skip", "_nanmax_skip")
_GETTERS = ("getter", "getter_nofancy", "getter_inline", "getitem")
_VIEWS = (
    "transpose",
    "expand_dims",
    "squeeze",
    "swapaxes",
    "moveaxis",
    "rollaxis",
    "broadcast_to",
    "real",
    "_trim",
)
_JOINS = (
    "concatenate3",
    "concatenate_shaped",
    "concatenate_axes",
    "_concatenate2",
    "concatenate",
    "stack",
    "block",
)
_GATHERS = ("finalize", "_dask_finalize", "_dask_postcompute", "_identity_cast")
_DOWNLOADS = ("_download", "asnumpy")
_NO_DATA = ("deposit", "barrier", "settle")
_ELEMENTWISE = (
    "astype",
    "cumprod",
    "where",
    "copy",
    "_sqrt",
    "clip",
    "conj",
    "round",
    "isnull",
    "notnull",
)


def step(
    function: Any, arguments: Sequence[Any], inputs: Sequence[Size], known: Size | None, **kw: Any
) -> Step:
    """Apply the rule of a function.

    Parameters
    ----------
    function : callable
        As it stands in the task.
    arguments : sequence
        Positional arguments; a :class:`Size` for each that is another step's result.
    inputs : sequence of Size
        Results of other steps among the arguments, however nested.
    known : Size or None
        What is noted of the result's array.
    **kw
        Keyword arguments.
    """
    base, bound = unwrap(function)
    if "enforce_dtype_function" in kw:
        base, bound = unwrap(kw["enforce_dtype_function"])
    keywords = {**bound, **kw}
    name = name_of(base)
    package = str(getattr(base, "__module__", None) or "").partition(".")[0]
    call = Call(name, arguments, inputs, known, keywords, package)
    if isinstance(base, Placed):
        return _view(call)
    composed = isinstance(base, COMPOSED)
    rule = None if composed or package not in _KNOWN_PACKAGES else _RULES.get(name)
    if rule is None and (isinstance(base, np.ufunc) or _is_operator(base)):
        rule = _elementwise
    if rule is None:
        rule = _flox(base) or _unknown
    return rule(call)


def _is_operator(function: Any) -> bool:
    return getattr(function, "__module__", None) in _MODULES_OF_OPERATORS


def _unknown(call: Call) -> Step:
    out = call.result
    largest = call.largest
    guess = max(largest, out.on_card) if call.inputs else 0
    # made of host values, it has to come to the card
    uploaded = out.on_card if call.inputs and not any(value.card for value in call.inputs) else 0
    return Step(out, guess=guess, uploaded=uploaded, doubtful="keepdims" in call.keywords)


def _told(call: Call) -> Step:
    """A function of one array that ``map_blocks`` tells where the block lies."""
    function = call.arguments[0]
    function = function.source if isinstance(function, Size) else function
    arrays = [
        number
        for number, value in enumerate(call.arguments)
        if isinstance(value, Size) and value.shape is not None
    ]
    if function is None or len(arrays) != 1:
        return _unknown(call)
    found = step(function, [call.arguments[arrays[0]]], call.inputs, call.known)
    return found if found.view is None else replace(found, view=arrays[found.view])


def _elementwise(call: Call) -> Step:
    return Step(call.result)


def _broadcast(call: Call) -> Step:
    """A constant array of dask: one element in host memory, shown many times."""
    out = call.result
    return Step(Size(out.itemsize, out.shape, out.itemsize, card=False))


def _no_data(call: Call) -> Step:
    return Step(Size(0))


def _get(call: Call) -> Step:
    whole = call.arguments[0] if call.arguments else None
    if not isinstance(whole, Size) or whole.source is not None:
        source = whole.source if isinstance(whole, Size) else whole
        out = result_of(call.known, ())
        return _read(source, out)
    index = call.arguments[1] if len(call.arguments) > 1 else None
    if isinstance(index, Size):  # chosen by a mask or numbers
        return Step(Size(whole.nbytes, None, whole.itemsize, whole.card))
    out = call.result
    if call.known is None or call.known.nbytes is None:
        out = _sliced(whole, index)
    if out.nbytes is None or whole.nbytes is None:
        return Step(out)
    # dask's own function copies small parts, so that they do not keep the whole
    copied = call.package == "dask" and call.name == "getitem" and 2 * out.nbytes <= whole.nbytes
    return Step(out) if copied or not _is_basic(index) else _part(whole, out)


def _part(whole: Size, out: Size) -> Step:
    """What lies in the memory of the first argument."""
    out = Size(out.nbytes, out.shape, out.itemsize, whole.card, keeps=whole.kept)
    return Step(out, view=0)


def _is_basic(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return all(part is None or isinstance(part, (slice, int, np.integer)) for part in parts)


def _sliced(whole: Size, index: Any) -> Size:
    """Size of a part given by slices and numbers; at most the whole elsewhere."""
    parts = index if isinstance(index, tuple) else (index,)
    if whole.shape is None or len(parts) != len(whole.shape) or not _is_basic(index):
        return Size(whole.nbytes, None, whole.itemsize, whole.card)
    shape = [
        len(range(*part.indices(length)))
        for part, length in zip(parts, whole.shape, strict=True)
        if isinstance(part, slice)
    ]
    return array_size(tuple(shape), whole.itemsize, whole.card)


def _read(source: Any, out: Size) -> Step:
    """Reading from a store: what is decoded has the stored type, unpacked it may be larger."""
    if isinstance(source, np.ndarray):
        return Step(out, uploaded=out.on_card)
    stored = getattr(source, "stored", None)
    itemsize = np.dtype(stored).itemsize if isinstance(stored, str) else out.itemsize
    amount = 0 if out.shape is None else math.prod(out.shape) * itemsize
    scratch = 0
    if out.card and getattr(source, "packing", None) is not None:
        scratch = amount + 2 * (out.nbytes or 0)
    return Step(out, scratch, read=amount, uploaded=amount if out.card else 0)


def _view(call: Call) -> Step:
    out = call.result
    whole = call.first
    return Step(out) if whole is None else _part(whole, out)


def _cumulated(call: Call) -> Step:
    """Sums that begin with -0.0: which elements are another, and the places of the first ones."""
    out = call.result
    shape = out.shape or ()
    axis = call.keywords.get("axis")
    length = 1
    if isinstance(axis, int) and -len(shape) <= axis < len(shape):
        length = max(shape[axis], 1)
    lines = math.prod(shape) // length
    return Step(out, scratch=int(call.card) * (6 * math.prod(shape) + 24 * lines))


def _imaginary(call: Call) -> Step:
    """The imaginary parts of complex numbers lie among them, others are zeros."""
    whole = call.first
    return _view(call) if whole and whole.itemsize > call.result.itemsize else Step(call.result)


def _join(call: Call) -> Step:
    out = call.result
    if out.nbytes is None and call.inputs:
        unknown = any(value.nbytes is None for value in call.inputs)
        nbytes = None if unknown else total(call.inputs)
        out = Size(nbytes, None, call.inputs[0].itemsize, out.card)
    # dask joins along one axis after the other, also where there is one chunk along it
    flat = out.shape is not None and len(out.shape) < 2
    one_axis = flat or call.name in ("concatenate", "stack")
    return Step(out, scratch=0 if one_axis else out.on_card)


def _gather(call: Call) -> Step:
    if any(value.nbytes is None for value in call.inputs):
        return Step(Size(None, None, 0, call.card))
    out = Size(total(call.inputs), None, 0, call.card)
    # results of one chunk are copied, several are concatenated axis by axis
    return Step(out, scratch=out.on_card if len(call.inputs) > 1 else 0)


def _upload(call: Call) -> Step:
    out = call.result
    if any(value.card for value in call.inputs):
        return Step(out)
    return Step(out, uploaded=out.on_card)


def _download(call: Call) -> Step:
    if call.known is None:
        return Step(Size(total(call.inputs) if call.inputs else None))
    return Step(Size(call.known.nbytes, call.known.shape, call.known.itemsize, card=False))


def _reduce_chunk(call: Call) -> Step:
    arrays, scratch = _CHUNK_REDUCTIONS[call.name]
    whole = call.first
    axis = call.keywords.get("axis")
    if whole is None or whole.shape is None or not isinstance(axis, tuple):
        return _unknown(call)
    dtype = call.keywords.get("dtype")
    itemsize = max(whole.itemsize, 8) if dtype is None else np.dtype(dtype).itemsize
    if call.name in _EXTREMES:
        itemsize = whole.itemsize
    if arrays > 1:
        itemsize = max(itemsize, 8)
        scratch *= max(1.0, itemsize / max(whole.itemsize, 1)) if call.name == "moment_chunk" else 1
    if name_of(unwrap(call.keywords.get("sum"))[0]).startswith("nan"):
        scratch += 1.25  # a copy with the missing values filled, and a mask
    shape = tuple(1 if i in axis else length for i, length in enumerate(whole.shape))
    one = array_size(shape, itemsize, call.card)
    out = Size((one.nbytes or 0) * arrays, shape, itemsize, one.card)
    return Step(out, scratch=int(scratch * whole.on_card) + (out.on_card if arrays > 1 else 0))


def _arg_leaf(call: Call) -> Step:
    """Extremes of a chunk and their places."""
    out = call.result
    largest = call.largest
    if out.shape is None:
        return _unknown(call)
    itemsize = 8 + max((value.itemsize for value in call.inputs), default=8)
    both = Size(math.prod(out.shape) * itemsize, out.shape, itemsize, out.card)
    return Step(both, scratch=both.on_card, guess=largest + largest // 4)


def _flox(function: Any) -> Rule | None:
    stages = (function.first, *function.funcs) if isinstance(function, COMPOSED) else (function,)
    bases = [unwrap(stage) for stage in stages]
    for base, bound in bases:
        if str(getattr(base, "__module__", "")).startswith("flox"):
            return functools.partial(_grouped, name_of(base), bound)
    return None


def _grouped(stage: str, bound: dict[str, Any], call: Call) -> Step:
    """Flox's stages: dictionaries of one array for each intermediate, its last axis the groups."""
    values = {**bound, **call.keywords}
    card = call.card
    largest = call.largest
    # partial results are concatenated, one intermediate after the other
    joined = sum(value.on_card for value in call.inputs)
    if stage == "_aggregate" and call.known is not None:
        return Step(call.result, scratch=largest, guess=largest + joined)
    source = max(call.inputs, key=lambda value: value.nbytes or 0, default=Size(None))
    if source.nbytes is None:
        return Step(Size(None, None, 0, card))
    functions = values.get("func") or getattr(values.get("agg"), "chunk", ()) or ()
    arrays = max(1, len(functions) if isinstance(functions, (list, tuple)) else 1)
    groups = values.get("unique_groups")
    if groups is None and values.get("reindex"):
        groups = values.get("expected_groups")
    if stage == "chunk_reduce" and source.shape:
        along = source.shape[-1] if groups is None else len(groups)
        nbytes = math.prod(source.shape[:-1]) * along * max(8, source.itemsize) * arrays
        shape: tuple[int, ...] | None = (*source.shape[:-1], along)
        return Step(Size(nbytes, shape, 8, card), scratch=2 * largest)
    if stage == "reindex_intermediates" and source.shape and groups is not None:
        nbytes = math.prod(source.shape[:-1]) * len(groups) * 8 * arrays
        return Step(Size(nbytes, (*source.shape[:-1], len(groups)), 8, card), scratch=largest)
    same = Size(source.nbytes, source.shape, source.itemsize, card)
    return Step(same, scratch=largest, guess=largest + joined)


_RULES: dict[str, Rule] = {
    **dict.fromkeys(_CHUNK_REDUCTIONS, _reduce_chunk),
    **dict.fromkeys(_GETTERS, _get),
    **dict.fromkeys(_VIEWS, _view),
    **dict.fromkeys(_JOINS, _join),
    **dict.fromkeys(_GATHERS, _gather),
    **dict.fromkeys(UPLOADS, _upload),
    **dict.fromkeys(_DOWNLOADS, _download),
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **dict.fromkeys(_NO_DATA, _no_data),
    "_broadcast_trick_inner": _broadcast,
    "_pass_extra_kwargs": _told,
    "arg_leaf": _arg_leaf,
    "cumsum": _cumulated,
    "imag": _imaginary,
    **OWN_RULES,
}
