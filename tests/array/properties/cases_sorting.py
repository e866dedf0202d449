"""Sorting, partitions and searches in sorted values."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.array.properties.cases_sums import method
from tests.array.properties.strategies import ALL, COMMON, REALS, Call, Case, arrays, axis, shapes

# axes of at least one: sorts of arrays without axes are an error in some functions only
AXED = shapes(1, 3, 0, 5)


@st.composite
def along(draw: st.DrawFn, values: Any, none: bool = True, **options: Any) -> Call:
    """Calls with an array, ``axis=`` (one in eight out of bounds) and further options."""
    array = draw(values)
    ndim = array.host.ndim
    kwargs = {"axis": draw(axis(ndim, none)) if draw(st.integers(0, 7)) else ndim + 1}
    for name, option in options.items():
        kwargs[name] = draw(option)
    return Call((array,), kwargs)


@st.composite
def at(draw: st.DrawFn, values: Any) -> Call:
    """Calls of a partition: the place, one or several, now and then out of bounds."""
    array = draw(values)
    shape = array.host.shape
    number = draw(axis(len(shape)))
    length = array.host.size if number is None else shape[number]
    place = st.integers(-length, length - 1) if length else st.just(0)
    kth: Any = draw(place | st.lists(place, min_size=1, max_size=2))
    if draw(st.integers(0, 9)) == 0:
        kth = max(length, 1)
    return Call((array, kth, number), {})


def partitioned(function: Any, places: bool) -> Any:
    """What a partition guarantees: the kth values, and the sorted values on either side."""

    def call(array: Any, kth: Any, number: Any) -> Any:
        found = function(array, kth, number)
        flat = array.reshape(-1) if number is None else array
        along = 0 if number is None else number
        values = np.take_along_axis(flat, found, along) if places else found
        length = values.shape[along]
        parts = []
        for place in kth if isinstance(kth, list) else [kth]:
            cut = [slice(None)] * values.ndim
            for piece in (slice(None, place % max(length, 1)), slice(place % max(length, 1), None)):
                cut[along] = piece
                parts.append(np.sort(values[tuple(cut)], axis=along))
        return parts

    return call


@st.composite
def several_keys(draw: st.DrawFn) -> Call:
    """Calls of lexsort: keys of one shape, as a tuple."""
    shape = draw(shapes(1, 2, 0, 5))
    count = draw(st.integers(1, 3))
    keys = tuple(draw(arrays(ALL, shape)) for _ in range(count))
    return Call((keys,), {"axis": draw(axis(len(shape), none=False))})


@st.composite
def searched(draw: st.DrawFn) -> Call:
    """Calls of searchsorted, in sorted values or with a sorter."""
    dtypes = draw(st.sampled_from((COMMON, REALS)))
    values = draw(arrays(dtypes, shapes(1, 1, 0, 6), strided=False))
    wanted = draw(arrays(dtypes, shapes(0, 2, 0, 4)))
    kwargs: dict[str, Any] = {"side": draw(st.sampled_from(("left", "right")))}
    if draw(st.booleans()):
        kwargs["sorter"] = np.argsort(values.base, kind="stable")
    else:
        values = values._replace(base=np.sort(values.base))
    return Call((values, wanted), kwargs)


def in_place(array: Any, **kwargs: Any) -> Any:
    """The array after its method sort."""
    own = array.copy()
    own.sort(**kwargs)
    return own


KINDS = st.sampled_from((None, "quicksort", "stable", "mergesort", "heapsort"))
# whether 0.0 or -0.0 comes first is up to NumPy's vector units

CASES: dict[str, Case] = {
    "sort": Case(np.sort, along(arrays(ALL, AXED), kind=KINDS), zeros=False),
    "sort[stable]": Case(np.sort, along(arrays(ALL, AXED), stable=st.booleans()), zeros=False),
    "sort[method]": Case(in_place, along(arrays(ALL, AXED), False, kind=KINDS), zeros=False),
    "argsort": Case(np.argsort, along(arrays(ALL, AXED), kind=st.sampled_from(("stable",)))),
    "argsort[method]": Case(method("argsort"), along(arrays(ALL, AXED), stable=st.just(True))),
    "argsort[unstable]": Case(
        lambda a, axis: np.take_along_axis(a, np.argsort(a, axis=axis), axis),
        along(arrays(ALL, AXED)),
        zeros=False,
    ),
    "partition": Case(partitioned(np.partition, False), at(arrays(REALS, AXED)), zeros=False),
    "argpartition": Case(partitioned(np.argpartition, True), at(arrays(REALS, AXED)), zeros=False),
    "lexsort": Case(np.lexsort, several_keys()),
    "searchsorted": Case(np.searchsorted, searched()),
    "searchsorted[method]": Case(method("searchsorted"), searched()),
    "sort_complex": Case(np.sort_complex, st.tuples(arrays(ALL, AXED)), zeros=False),
    "nonzero": Case(np.nonzero, st.tuples(arrays(ALL, AXED))),
    "nonzero[method]": Case(method("nonzero"), st.tuples(arrays(ALL, AXED))),
    "argwhere": Case(np.argwhere, st.tuples(arrays(ALL))),
    "flatnonzero": Case(np.flatnonzero, st.tuples(arrays(ALL))),
}
