"""Views, copies that stand for views, and read-only views: no write is ever lost."""

import threading

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from daskasc import array as dar
from daskasc.array import from_numpy


def numbers(dtype="f8"):
    return np.arange(12).astype(dtype).reshape(3, 4)


def times():
    return numbers("i8").view("M8[s]")


COPIES = {
    "negative step": lambda a: a[::-1],
    "of a part": lambda a: a[:, 1:][::-1],
    "two axes": lambda a: a[::-2, ::-1],
    "flip": np.flip,
    "flipud": np.flipud,
    "fliplr": np.fliplr,
    "rot90": np.rot90,
    "flip of a flip": lambda a: a[::-1][::-1],
}
READ_ONLY = {
    "broadcast_to": lambda a: np.broadcast_to(a, (3, *a.shape)),
    "diagonal": np.diagonal,
    "diag": np.diag,
    "linalg.diagonal": np.linalg.diagonal,
    "windows": lambda a: sliding_window_view(a, 2, axis=0),
    "imag": lambda a: a.imag,
}
# every one a view in NumPy
VIEWS = {
    "itself": lambda a: a,
    "row": lambda a: a[:1],
    "last": lambda a: a[..., :1],
    "T": lambda a: a.T,
    "transpose": lambda a: np.transpose(a),
    "view": lambda a: a.view(),
    "dtype": lambda a: a.view("i8"),
    "ellipsis": lambda a: a[...],
    "newaxis": lambda a: a[None],
    "split": lambda a: np.array_split(a, 2)[0],
    "expand_dims": lambda a: np.expand_dims(a, 0),
    "squeeze": lambda a: np.squeeze(a[None]),
    "moveaxis": lambda a: np.moveaxis(a, 0, -1),
    "swapaxes": lambda a: a.swapaxes(0, -1),
    "iteration": lambda a: next(iter(a[None])),
    "atleast_3d": np.atleast_3d,
    "reshape": lambda a: a.reshape(a.shape),
    "real": lambda a: a.real,
}
WRITES = {
    "setitem": lambda v: v.__setitem__(Ellipsis, 7),
    "index array": lambda v: v.__setitem__(np.array([0]), 7),
    "fill": lambda v: v.fill(7),
    "copyto": lambda v: np.copyto(v, v.copy()),
    "put": lambda v: np.put(v, [0], [7]),
    "sort": lambda v: v.sort(),
    "partition": lambda v: v.partition(0),
}


@pytest.mark.parametrize("make", [*COPIES.values(), *READ_ONLY.values()], ids=[*COPIES, *READ_ONLY])
@pytest.mark.parametrize("given", [numbers("f8"), numbers("u8"), times()], ids=["f8", "u8", "M8"])
def test_views_of_what_cannot_be_written_refuse_every_write(make, given):
    original = from_numpy(given)
    try:
        make(given)
    except TypeError:
        pytest.skip("NumPy has no such view of this dtype")
    made = make(original)
    for name, view in VIEWS.items():
        if name == "real" and given.dtype.kind == "M":
            continue
        try:
            seen = view(made)
        except ValueError as error:
            assert "contiguous" in str(error)  # noqa: PT017, no view as another dtype
            continue
        assert not seen.flags.writeable, name
        for write in WRITES.values():
            with pytest.raises(ValueError, match="read-only"):
                write(seen)
    np.testing.assert_array_equal(original.asnumpy(), given)


def test_operators_out_at_and_setters_refuse():
    a = from_numpy(numbers())
    row = a[::-1][0]
    with pytest.raises(ValueError, match="read-only"):
        row += 1
    with pytest.raises(ValueError, match="read-only"):
        np.add(row, 1, out=row)
    with pytest.raises(ValueError, match="read-only"):
        np.sum(a, axis=0, out=row)
    with pytest.raises(ValueError, match="read-only"):
        np.add.at(row, [0], 1)
    with pytest.raises(ValueError, match="read-only"):
        row.flat[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        row.copy_from(np.zeros(4))
    with pytest.raises(ValueError, match="read-only"):
        row.setfield(0, "f4")
    with pytest.raises(ValueError, match="read-only"):
        row.byteswap(inplace=True)
    with pytest.raises(ValueError, match="read-only"):
        np.put_along_axis(row, np.array([0]), 1, 0)
    with pytest.raises(ValueError, match="read-only"):
        np.fill_diagonal(a[::-1].T, 0)
    z = from_numpy(numbers("c16"))
    for part in ("real", "imag"):
        with pytest.raises(ValueError, match="read-only"):
            setattr(z[::-1], part, 7)
        with pytest.raises(ValueError, match="read-only"):
            getattr(np, part)(z[::-1])[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        dar.asarray(a[::-1].tensor)[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        row.flags.writeable = True
    for part in (row, a[::-1]):
        with pytest.raises(ValueError, match="does not own its data"):
            part.resize(2)
    np.testing.assert_array_equal(a.asnumpy(), numbers())


def _plus(a):
    a[::-1] += 1


def _times_itself(a):
    a[::-1] *= a


def _both_axes(a):
    a[::-2, ::-1] += a[::2]


def _bare(a):
    b = a[1:, ::-1]
    b += 1
    b *= b
    a[:] = a - b[:1]


def _after_a_change(a):
    b = a[::-1]
    a[0] = 100
    b -= 3
    assert (b == a[::-1]).all()


def _by_a_column(a):
    a[:, 2][::-1] //= 2


@pytest.mark.parametrize(
    "write", [_plus, _times_itself, _both_axes, _bare, _after_a_change, _by_a_column]
)
@pytest.mark.parametrize("dtype", ["f8", "i4", "u8", "c8"])
def test_operators_in_place_on_a_reversed_copy_reach_the_original(write, dtype):
    host, card = numbers(dtype), from_numpy(numbers(dtype))
    try:
        write(host)
    except TypeError as error:
        with pytest.raises(type(error)):
            write(card)
    else:
        write(card)
    np.testing.assert_array_equal(card.asnumpy(), host)


def test_operators_in_place_that_fail_change_nothing():
    a = from_numpy(numbers("i4"))
    with pytest.raises(TypeError, match="same_kind"):
        a[::-1] += 0.5
    with pytest.raises(ValueError, match="broadcast"):
        a[::-1] += np.ones((2, 3, 4), "i4")
    np.testing.assert_array_equal(a.asnumpy(), numbers("i4"))


def test_operators_in_place_refuse_where_the_original_is_gone_or_read_only():
    gone = from_numpy(numbers())[::-1]
    fixed = np.diagonal(from_numpy(numbers()))[::-1]
    twice = from_numpy(numbers())[::-1][::-1]
    for made in (gone, fixed, twice, np.flip(from_numpy(numbers()))):
        with pytest.raises(ValueError, match="read-only"):
            made += 1


def test_other_threads_refuse_too():
    found = []
    row = from_numpy(numbers())[::-1][0]

    def write():
        try:
            row[0] = 1
        except ValueError as error:
            found.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert len(found) == 1


@pytest.mark.parametrize(
    "copy",
    [
        lambda a: a[::-1] + 1,
        lambda a: a[::-1].copy(),
        lambda a: a[::-1][[0, 1]],
        lambda a: a[::-1][a[::-1] > 3],
        lambda a: a[::-1].flatten(),
        lambda a: a[::-1].ravel(),
        lambda a: a[:, ::-1].ravel("F"),
        lambda a: a[::-1].reshape(-1),
        lambda a: a[:, ::-1].reshape(6, 2),
        lambda a: a[0, ::-1].ravel(),
        lambda a: np.rot90(a).ravel(),
        lambda a: np.ascontiguousarray(a[::-1], like=a),
        lambda a: np.asfortranarray(a[::-1], like=a),
        lambda a: a[::-1].astype("f4"),
        lambda a: a[::-1].astype("f8", order="C", copy=False),
        lambda a: np.sort(a[::-1]),
        lambda a: np.where(a > 3, a, a[::-1]),
        lambda a: np.diagonal(a).copy(),
        lambda a: np.broadcast_to(a, (2, 3, 4)).reshape(-1),
        lambda a: np.concatenate([a[::-1]]),
        lambda a: a[::-1].round(),
        lambda a: +a[::-1],
    ],
)
def test_results_that_numpy_copies_can_be_written(copy):
    host, original = numbers(), from_numpy(numbers())
    expected, made = copy(host), copy(original)
    np.testing.assert_array_equal(made.asnumpy(), expected)
    assert made.flags.writeable
    expected[0] = made[0] = 77
    np.testing.assert_array_equal(made.asnumpy(), expected)
    np.testing.assert_array_equal(original.asnumpy(), host)


def test_a_reshape_that_numpy_does_not_copy_is_read_only():
    a = from_numpy(numbers())
    for made in (a[::-1].reshape(3, 2, 2), a[0, ::-1].reshape(2, 2), np.flip(a).reshape(-1)):
        with pytest.raises(ValueError, match="read-only"):
            made[0] = 1


def test_broadcast_arrays_spreads_read_only_and_hands_on_what_fits():
    a, host = from_numpy(numbers()), numbers()
    spread = np.broadcast_arrays(a, a[0])
    np.broadcast_arrays(host, host[0])[0][0, 0] = spread[0][0, 0] = 9
    np.testing.assert_array_equal(a.asnumpy(), host)
    with pytest.raises(ValueError, match="read-only"):
        spread[1][0, 0] = 9


def test_windows_that_can_be_written_are_refused():
    with pytest.raises(ValueError, match="writeable=True"):
        sliding_window_view(from_numpy(np.arange(5.0)), 3, writeable=True)


def _own_places(p):
    p[p] = 0


def _in_place(p):
    p[p] += 1


def _reversed(p):
    p[p] = p[::-1]


def _parts(p):
    p[p[5:]] = p[:5]


def _rows(p):
    rows = p.reshape(5, 2)
    rows[rows[:, 0] % 5, rows[:, 1] % 2] = rows[::-1, 0]


@pytest.mark.parametrize(
    "write",
    [
        _own_places,
        _in_place,
        _reversed,
        _parts,
        _rows,
        lambda p: np.put(p, p, 7),
        lambda p: np.put(p, p[::-1], p),
        lambda p: np.put_along_axis(p, p, 5, 0),
        lambda p: np.put_along_axis(p.reshape(2, 5), p.reshape(2, 5) % 5, p.reshape(2, 5), 1),
        lambda p: np.add.at(p, p, p),
        lambda p: np.take(p, p, out=p),
        lambda p: np.putmask(p, p, p[:3]),
        lambda p: np.copyto(p, p[::-1], where=p > 3),
    ],
)
def test_indices_in_the_memory_that_is_written(write):
    host = np.array([2, 0, 1, 9, 4, 3, 7, 8, 5, 6])
    card = from_numpy(host)
    write(host)
    write(card)
    np.testing.assert_array_equal(card.asnumpy(), host)


def test_masks_in_the_memory_that_is_written():
    host = np.array([[True, False], [False, True]])
    card = from_numpy(host)
    for m in (host, card):
        m[m] = False
        m[~m[0]] = m[::-1]
        m[m[0]] = np.array([False, True])
    np.testing.assert_array_equal(card.asnumpy(), host)


PAIRS = {
    "interleaved": lambda v: (v[::2], v[1::2]),
    "halves": lambda v: (v[:6], v[6:]),
    "overlap": lambda v: (v[:7], v[6:]),
    "itself": lambda v: (v, v),
    "rows and columns": lambda v: (v.reshape(3, 4)[1], v.reshape(3, 4)[:, 1]),
    "columns": lambda v: (v.reshape(3, 4)[:, 0], v.reshape(3, 4)[:, 1]),
    "nothing": lambda v: (v[:0], v),
    "copy": lambda v: (v, v.copy()),
    "diagonal": lambda v: (np.diagonal(v.reshape(3, 4)), v[5:6]),
    "bytes": lambda v: (v.view("i4")[1::2], v.view("i4")[::2]),
}


@pytest.mark.parametrize("question", [np.shares_memory, np.may_share_memory])
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("dtype", ["f8", "M8[s]"])
def test_sharing_is_numpys(question, pair, dtype):
    host = np.arange(12).astype(dtype)
    assert question(*pair(from_numpy(host))) is question(*pair(host))


def test_nothing_is_shared_with_the_host():
    host = np.arange(12.0)
    assert not np.shares_memory(from_numpy(host), host)
