"""``numpy.linalg``, ``numpy.fft`` and the methods of ufuncs against NumPy, the host forbidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import daskasc.array as namespace
from daskasc.array import from_numpy

from .reference import WRONG_REDUCTIONS, assert_same, check, data, finite
from .test_ufuncs import BINARY, FREE_ZEROS

pytestmark = pytest.mark.usefixtures("no_fallback")
L, F = np.linalg, np.fft
RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(3, 3))
TALL = RANDOM.normal(size=(5, 3))
V = RANDOM.normal(size=5)
MATRICES = {
    "f8": A,
    "stack": RANDOM.normal(size=(2, 3, 3)),
    "c16": A + 1j * RANDOM.normal(size=(3, 3)),
    "i8": RANDOM.integers(0, 5, (3, 3)) + 5 * np.eye(3, dtype="i8"),
    "f4": A.astype("f4"),
    "f2": A.astype("f2"),
    "singular": np.zeros((2, 2)),
    "tall": TALL,
    "vector": V,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "inv": L.inv,
    "det": L.det,
    "slogdet": L.slogdet,
    "svdvals": L.svdvals,
    "svd": lambda a: L.svd(a).S,
    "cond": lambda a: (L.cond(a), L.cond(a, -2), L.cond(a, 1), L.cond(a, "fro")),
    "matrix_rank": L.matrix_rank,
    "pinv": L.pinv,
    "matrix_power": lambda a: (L.matrix_power(a, 3), L.matrix_power(a, 0)),
    "matrix_power of inverse": lambda a: L.matrix_power(a, -2),
    "qr": lambda a: np.abs(L.qr(a).R),
    "qr complete": lambda a: np.abs(L.qr(a, "complete").Q),
    "eigvalsh": L.eigvalsh,
    "eigh": lambda a: L.eigh(a).eigenvalues,
    "eigvals": lambda a: np.sort(L.eigvals(a)),
    "eig": lambda a: np.sort(L.eig(a).eigenvalues),
    "trace": L.trace,
    "diagonal": L.diagonal,
    "matrix_transpose": L.matrix_transpose,
    "matrix_norm": L.matrix_norm,
    "vector_norm": lambda a: L.vector_norm(a, axis=0, ord=3),
    "vecdot": lambda a: L.vecdot(a, a),
    "multi_dot": lambda a: L.multi_dot([a, a, a]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_linalg(name: str) -> None:
    for matrix in MATRICES.values():
        check(FUNCTIONS[name], matrix, zeros=False)


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf, 0, 3])
def test_norms(order: Any) -> None:
    for matrix in (A, TALL, V, MATRICES["c16"], MATRICES["i8"]):
        for axis in (None, 0, (1, 0)):
            for keep in (False, True):
                check(lambda a, x=axis, k=keep: L.norm(a, order, axis=x, keepdims=k), matrix)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 3), (0, 2, 2)])
def test_norms_of_nothing(shape: tuple[int, ...]) -> None:
    empty = np.zeros(shape)
    for order in (1, 2, np.inf, "fro", "nuc"):
        # 0 in NumPy 2.4; older ones refuse some of them
        found = L.matrix_norm(from_numpy(empty), ord=order)
        assert_same(np.zeros(shape[:-2]), found)
    for order in (-1, -2, -np.inf):
        check(lambda a, o=order: L.matrix_norm(a, ord=o), empty)
    for order in (0, 1, 2, 3, np.inf):
        assert_same(np.float64(0), L.vector_norm(from_numpy(empty), ord=order))
    check(lambda a: L.vector_norm(a, ord=-np.inf), empty)
    assert_same(np.zeros(3), L.norm(from_numpy(np.zeros((0, 3))), np.inf, axis=0))


def test_norms_with_nan() -> None:
    for order in (1, -1, np.inf, -np.inf):
        check(lambda a, o=order: L.norm(a, o), np.array([[np.nan, 1.0], [2.0, -3.0]]))
        check(lambda a, o=order: L.norm(a, o), np.array([np.nan, -1.0]))


def test_what_products_and_solvers_refuse() -> None:
    cube = np.ones((3, 3, 3))
    for axes in (2, 3, ((0, 0), (1, 1)), ((0, 1), (1,)), (5, 0), -1):
        check(lambda a, x=axes: np.tensordot(a[0], a, x), A)
        check(lambda a, x=axes: np.tensordot(a, a, x), A)
    for axes in ((5,), (-1,), (0, 0), (1,)):
        check(lambda a, b, x=axes: L.tensorsolve(a, b, axes=x), A, V[:3])
    check(L.tensorsolve, A, V)
    check(L.tensorsolve, A, cube)
    check(L.solve, A, np.array(1.0))
    check(L.solve, cube, np.ones((2, 3, 2)))
    for count in (0, 1, 5):
        check(lambda a, n=count: L.tensorinv(a, n), TALL)
    check(lambda a: L.tensorinv(a, 1), np.zeros((0, 0)))
    check(lambda a: L.matrix_rank(a, hermitian=True), TALL)


def test_solvers() -> None:
    positive = A @ A.T
    check(L.cholesky, positive)
    check(lambda a: L.cholesky(a, upper=True), positive)
    check(L.cholesky, -positive)
    check(L.solve, A, V[:3])
    check(L.solve, MATRICES["stack"], A)
    check(L.solve, A, V)
    check(L.lstsq, TALL, V)
    check(L.lstsq, TALL.T.copy(), V[:3])
    check(L.tensorinv, RANDOM.normal(size=(4, 6, 8, 3)))
    check(L.tensorsolve, RANDOM.normal(size=(2, 3, 2, 3)), RANDOM.normal(size=(2, 3)))
    check(lambda a: L.cross(a, a + 1), TALL)
    check(lambda a: L.outer(a, a), V)


def test_namespaces_are_complete() -> None:
    for module, ours in ((L, namespace.linalg), (F, namespace.fft)):
        for name in module.__all__:
            assert getattr(ours, name) is not None
    assert_same(np.asarray(L.norm([3.0, 4.0])), namespace.linalg.norm([3.0, 4.0]))
    assert_same(F.fftfreq(5, 0.1), namespace.fft.fftfreq(5, 0.1))
    assert_same(F.rfftfreq(5), namespace.fft.rfftfreq(5))


@pytest.mark.parametrize("name", "fft ifft rfft irfft hfft ihfft".split())
def test_one_transform(name: str) -> None:
    function = getattr(F, name)
    for array in (TALL, TALL.astype("f4"), MATRICES["i8"], TALL > 0, TALL + 1j):
        if array.dtype.kind == "c" and name in ("rfft", "ihfft"):
            continue
        check(function, array, zeros=False)
        check(lambda a: function(a, n=7, axis=0, norm="ortho"), array, zeros=False)
        check(lambda a: function(a, n=4, norm="forward"), array, zeros=False)
        check(lambda a: function(a, n=0), array)
        check(lambda a: function(a, axis=3), array)
        check(lambda a: function(a, norm="other"), array)


@pytest.mark.parametrize("name", "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split())
def test_several_transforms(name: str) -> None:
    function = getattr(F, name)
    for array in (TALL, TALL.astype("c8")):
        if array.dtype.kind == "c" and name in ("rfft2", "rfftn"):
            continue
        check(function, array, zeros=False)
        check(lambda a: function(a, s=(4, 4), axes=(0, 1)), array, zeros=False)
        check(lambda a: function(a, axes=(1,)), array, zeros=False)
    check(F.fftshift, TALL)


REPEATED: tuple[dict[str, Any], ...] = (
    {"axes": (0, 0)},
    {"axes": (1, 0, 1)},
    {"axes": (0, 1, 0), "s": (4, 3, 6)},
    {"axes": (-1, 1), "s": (-1, 3), "norm": "ortho"},
    {"axes": (-1, -1, 0), "norm": "forward"},
)


@pytest.mark.parametrize("name", "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split())
def test_axes_that_occur_twice_are_transformed_twice(name: str) -> None:
    function = getattr(F, name)
    complex_too = () if name.startswith("rfft") else (TALL + 1j,)
    for array in (TALL, TALL.astype("f4"), MATRICES["i8"], np.ones((2, 0)), *complex_too):
        for options in REPEATED:
            check(lambda a, o=options: function(a, **o), array, zeros=False)
    check(lambda a: function(a, axes=(0, 0)), np.ones((2, 0, 3)))


@pytest.mark.parametrize("name", "fftn ifftn rfftn irfftn fft2 irfft2".split())
def test_axes_and_points_that_numpy_refuses(name: str) -> None:
    function = getattr(F, name)
    check(lambda a: function(a, s=(3, 5), axes=(0,)), V)
    check(lambda a: function(a, axes=(2,)), TALL)
    check(lambda a: function(a, s=(2.0, 3), axes=(0, 1)), TALL)
    check(lambda a: function(a, s=(0, 3), axes=(0, 1)), TALL)
    check(lambda a: function(a, s=(-2, 3), axes=(0, 1)), TALL)
    check(lambda a: function(a, axes=(0, 1)), np.ones((0, 3)))
    check(lambda a: function(a, axes=()), np.arange(3))


@pytest.mark.filterwarnings("ignore:`axes` should not be `None`:DeprecationWarning")
def test_more_points_than_axes() -> None:
    check(lambda a: F.fftn(a, s=(3, 5)), V)
    check(lambda a: F.fftn(a, s=(3, 5, 2)), TALL)
    check(lambda a: F.irfftn(a, s=(4,)), TALL, zeros=False)


@pytest.mark.parametrize("name", "fft ifft rfft irfft hfft ihfft".split())
def test_points_are_an_integer(name: str) -> None:
    for count in (2.0, np.float64(2), "a", [3], np.int8(3), np.array(3)):
        check(lambda a, n=count: getattr(F, name)(a, n=n), V, zeros=False)


def test_shifts() -> None:
    check(F.fftshift, TALL)
    check(lambda a: F.ifftshift(a, axes=0), TALL)


def _at(ufunc: np.ufunc, index: Any, other: Any) -> Callable[..., Any]:
    def run(array: Any) -> Any:
        array = array.copy()
        ufunc.at(array, index, array[other] if isinstance(other, tuple) else other)
        return array

    return run


METHODS: dict[str, Callable[[np.ufunc], Callable[..., Any]]] = {
    "reduce": lambda u: lambda a: u.reduce(a),
    "reduce kept": lambda u: lambda a: u.reduce(a, axis=1, keepdims=True),
    "reduce all": lambda u: lambda a: u.reduce(a, axis=None),
    "reduce nothing": lambda u: lambda a: u.reduce(a[:0]),
    "reduce initial": lambda u: lambda a: u.reduce(a, initial=1),
    "accumulate": lambda u: lambda a: u.accumulate(a, axis=1),
    "reduceat": lambda u: lambda a: u.reduceat(a, [0, 2, 1, 3], axis=1),
    "outer": lambda u: lambda a: u.outer(a, a),
    "at": lambda u: _at(u, ([1, 1, 2, 1], [0, 0, 3, 2]), (0, slice(4))),
}


@pytest.mark.parametrize("name", [n for n in BINARY if n not in ("ldexp", "divmod")])
def test_ufunc_methods(name: str) -> None:
    ufunc = getattr(np, name)
    for dtype in ("f8", "i4", "u1", "?"):
        array = data(dtype) if dtype == "?" else finite(dtype)
        if name in ("power", "float_power", "left_shift"):
            array = abs(array) % 3
        if name in ("floor_divide", "remainder", "fmod", "divide"):
            array = array + (array == 0)
        for method, make in METHODS.items():
            if name == "lcm" and method not in ("reduce", "at"):
                continue  # overflows, differently by the order
            floats = dtype == "f8" or ufunc is np.arctan2
            if ufunc in WRONG_REDUCTIONS and floats and method.startswith("reduce"):
                continue
            check(make(ufunc), array, zeros=name not in FREE_ZEROS)


@pytest.mark.parametrize(
    "host",
    [
        np.array([[2.0, 9], [0, 3]]),
        np.array([[0.0, 7], [1, 0]]),
        np.array([[1.0, 1], [1, 1]]),
        np.array([[[2, 1j], [-1j, -3]]] * 2),
        np.zeros((0, 0)),
        np.eye(3)[:, :2],
    ],
    ids=lambda host: str(host.shape),
)
def test_hermitian_matrices_are_their_lower_triangles(host: Any) -> None:
    def rebuilt(a: Any) -> Any:
        u, s, vh = L.svd(a, hermitian=True)
        return (u * s[..., None, :]) @ vh

    check(lambda a: L.pinv(a, hermitian=True), host, zeros=False)
    check(lambda a: L.matrix_rank(a, hermitian=True), host)
    check(lambda a: L.svd(a, compute_uv=False, hermitian=True), host)
    check(rebuilt, host, zeros=False)


def test_unary_at_applies_as_often_as_named() -> None:
    host = np.arange(4.0)
    card = from_numpy(host)
    np.negative.at(host, [1, 1, 2])
    np.negative.at(card, [1, 1, 2])
    assert_same(host, card)
