"""An array that is a NumPy array and its twin on the card; every operator runs on both.

Python control flow (``if x.sum() > 0``, ``float(x)``, loops over ``int(n)``) follows NumPy's side,
so that both sides run the same operators; a disagreement is noted like any other drift.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from daskasc.array import AscendArray, _dispatch
from daskasc.drift._calls import Form
from daskasc.drift._tree import leaves
from daskasc.drift._write import function_name

_METHODS = frozenset(
    "all any argmax argmin argpartition argsort astype byteswap choose clip compress conj "
    "conjugate copy cumprod cumsum diagonal dot dump dumps fill flatten item max mean min nonzero "
    "partition prod put ravel repeat reshape resize round searchsorted setflags sort squeeze std "
    "sum swapaxes take tobytes tofile tolist trace transpose var view".split()
)
_WRITING_METHODS = frozenset("fill partition put resize sort".split())
_ATTRIBUTES = frozenset("T mT real imag".split())
_OF_HOST = frozenset("dtype flags itemsize nbytes ndim shape size strides device".split())
_PRODUCTS = frozenset(("matmul", "vecdot", "matvec", "vecmat"))


class Pair:
    """Array of both sides; made by :class:`~daskasc.drift._recorder.Recorder`."""

    __slots__ = ("__weakref__", "_card", "_clean", "_host", "_recorder")
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 200.0

    _host: Any
    _card: Any
    _clean: bool
    _recorder: Any

    def __getattr__(self, name: str) -> Any:
        if name in _OF_HOST:
            return getattr(self._host, name)
        if name in _ATTRIBUTES:
            return self._recorder.run(
                f"ndarray.{name}", operator.attrgetter(name), (self,), {}, Form("attribute", name)
            )
        if name in _METHODS:
            return self._method(name)
        raise AttributeError(f"arrays under daskasc.drift.compare have no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("real", "imag", "shape"):
            self._assign(name, value)
        else:
            object.__setattr__(self, name, value)

    def _assign(self, name: str, value: Any) -> None:
        def assign(array: Any, wanted: Any) -> None:
            setattr(array, name, wanted)

        form = Form("function", f"setattr_{name}")
        self._recorder.run(
            f"ndarray.{name}", assign, (self, value), {}, form, writes=True, target=self
        )

    def _method(self, name: str) -> Callable[..., Any]:
        def call(array: Any, *args: Any, **kwargs: Any) -> Any:
            return getattr(array, name)(*args, **kwargs)

        def method(*args: Any, **kwargs: Any) -> Any:
            writes = name in _WRITING_METHODS
            return self._recorder.run(
                f"ndarray.{name}",
                call,
                (self, *args),
                kwargs,
                Form("method", name),
                writes=writes or kwargs.get("out") is not None,
                target=self if writes else None,
            )

        return method

    # -- protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        for value in (*inputs, *(out or ())):
            if hasattr(type(value), "__array_ufunc__") and not _is_known(value):
                return NotImplemented
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        if out is not None and len(out) == 1:
            kwargs["out"] = out[0]
        suffix = "" if method == "__call__" else f".{method}"
        return self._recorder.run(
            f"{_dispatch.name_of(ufunc)}{suffix}",
            function,
            inputs,
            kwargs,
            Form("function", f"{function_name(ufunc)}{suffix}"),
            elementwise=method in ("__call__", "outer") and ufunc.__name__ not in _PRODUCTS,
            writes=out is not None or method == "at",
            target=inputs[0] if method == "at" else None,
        )

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not all(issubclass(kind, Pair | np.ndarray | AscendArray) for kind in types):
            return NotImplemented
        target = None
        if func in _dispatch.IN_PLACE:
            target = args[0] if args else next(iter(kwargs.values()))
            target = target if isinstance(target, Pair) else None
        return self._recorder.run(
            _dispatch.name_of(func),
            func,
            args,
            # with like= NumPy strips the reference, and no argument may be an array
            kwargs if _holds_pair((args, kwargs)) else {**kwargs, "like": self},
            Form("function", function_name(func)),
            writes=target is not None or "out" in kwargs or kwargs.get("copy") is False,
            target=target,
        )

    def __daskasc_scipy__(
        self, name: str, on_card: Any, scipys: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a function of daskasc.scipy: SciPy's own on NumPy's side."""

        def function(*args: Any, **kwargs: Any) -> Any:
            given = leaves((args, kwargs))
            chosen = on_card if any(isinstance(v, AscendArray) for v in given) else scipys
            return chosen(*args, **kwargs)

        return self._recorder.run(
            name,
            function,
            args,
            kwargs,
            Form("function", name),
            # a second array may be the one that results are written to
            writes=sum(isinstance(leaf, Pair) for leaf in leaves((args, kwargs))) > 1,
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        def convert(array: Any) -> Any:
            return array.copy() if isinstance(array, np.ndarray | np.generic) else array.__array__()

        found = self._recorder.run("numpy.asarray", convert, (self,), {}, _ASARRAY)
        host = np.asarray(found._host if isinstance(found, Pair) else found)
        return host if dtype is None else host.astype(dtype)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return np

    # -- conversions to Python

    def __bool__(self) -> bool:
        return bool(self._convert(bool))

    def __float__(self) -> float:
        return float(self._convert(float))

    def __int__(self) -> int:
        return int(self._convert(int))

    def __complex__(self) -> complex:
        return complex(self._convert(complex))

    def __index__(self) -> int:
        return int(self._convert(operator.index))

    def _convert(self, kind: Callable[[Any], Any]) -> Any:
        name = kind.__name__
        return self._recorder.run(name, kind, (self,), {}, Form("function", name))

    def __format__(self, spec: str) -> str:
        return format(self._host, spec)

    def __repr__(self) -> str:
        return f"{self._host!r} (under daskasc.drift.compare)"

    # -- containers

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Iterator[Any]:
        if not self._host.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self._host)))

    def __contains__(self, value: Any) -> bool:
        form = Form("function", "operator.contains")
        return bool(
            self._recorder.run("operator.contains", operator.contains, (self, value), {}, form)
        )

    def __getitem__(self, index: Any) -> Any:
        return self._recorder.run(
            "ndarray.__getitem__", operator.getitem, (self, index), {}, Form("index", "")
        )

    def __setitem__(self, index: Any, value: Any) -> None:
        self._recorder.run(
            "ndarray.__setitem__",
            operator.setitem,
            (self, index, value),
            {},
            Form("assign", ""),
            writes=True,
            target=self,
        )

    def __copy__(self) -> Any:
        return self._method("copy")()

    def __deepcopy__(self, memo: Any) -> Any:
        return self._method("copy")()


_ASARRAY = Form("function", "np.asarray")


def _is_known(value: Any) -> bool:
    return isinstance(value, Pair | np.ndarray | np.generic | AscendArray)


def _holds_pair(nest: Any) -> bool:
    return any(isinstance(leaf, Pair) for leaf in leaves(nest))


_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
_COMPARISONS = frozenset("eq ne lt le gt ge".split())
_UNARY = {"neg": "-", "pos": "+", "invert": "~"}


def _binary(word: str, symbol: str, reflected: bool) -> Callable[[Any, Any], Any]:
    function = getattr(operator, f"__{word}__")
    form = Form("binary", symbol)

    def method(self: Any, other: Any) -> Any:
        if not _accepts(other):
            return NotImplemented
        args = (other, self) if reflected else (self, other)
        return self._recorder.run(
            f"operator.{word}", function, args, {}, form, elementwise=word != "matmul"
        )

    return method


def _in_place(word: str, symbol: str) -> Callable[[Any, Any], Any]:
    function = getattr(operator, f"__i{word}__")
    form = Form("in place", f"{symbol}=")

    def method(self: Any, other: Any) -> Any:
        if not _accepts(other):
            return NotImplemented
        return self._recorder.run(
            f"operator.i{word}",
            function,
            (self, other),
            {},
            form,
            elementwise=word != "matmul",
            writes=True,
        )

    return method


def _unary(word: str, form: Form) -> Callable[[Any], Any]:
    function = getattr(operator, f"__{word}__")

    def method(self: Any) -> Any:
        return self._recorder.run(f"operator.{word}", function, (self,), {}, form, elementwise=True)

    return method


def _divmod(reflected: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not _accepts(other):
            return NotImplemented
        args = (other, self) if reflected else (self, other)
        return self._recorder.run(
            "divmod", divmod, args, {}, Form("function", "divmod"), elementwise=True
        )

    return method


def _accepts(value: Any) -> bool:
    return _is_known(value) or not hasattr(type(value), "__array_ufunc__")


for _word, _symbol in _SYMBOLS.items():
    setattr(Pair, f"__{_word}__", _binary(_word, _symbol, False))
    if _word not in _COMPARISONS:
        setattr(Pair, f"__r{_word}__", _binary(_word, _symbol, True))
        setattr(Pair, f"__i{_word}__", _in_place(_word, _symbol))
for _word, _symbol in _UNARY.items():
    setattr(Pair, f"__{_word}__", _unary(_word, Form("unary", _symbol)))
_FURTHER: dict[str, Any] = {
    "__abs__": _unary("abs", Form("function", "abs")),
    "__divmod__": _divmod(False),
    "__rdivmod__": _divmod(True),
}
for _word, _method in _FURTHER.items():
    setattr(Pair, _word, _method)
