"""The table of NumPy functions, and the way over the host for what is not in it.

``TABLE`` maps a NumPy function to its implementation on the card. Modules of this package fill it
with :func:`implements`; breadth is more rows, never more branches. A function outside the table,
or one whose implementation raises :class:`NeedsHost` (an operator and dtype without a kernel),
is computed on the host: arguments come down, NumPy computes, results go up again. Each such call
is counted, and obeys ``daskasc.fallback``.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import dask.config
import numpy as np

from daskasc import _callers, config, device
from daskasc.array import _guard, _masks
from daskasc.array._guard import MissingKernel as MissingKernel
from daskasc.array._guard import NeedsHost as NeedsHost
from daskasc.device import observer
from daskasc.errors import HostFallbackError, HostFallbackWarning, UnsupportedDTypeError

F = TypeVar("F", bound=Callable[..., Any])

TABLE: dict[Any, Callable[..., Any]] = {}
# functions that write into their first argument
IN_PLACE: set[Any] = {
    np.copyto,
    np.fill_diagonal,
    np.place,
    np.put,
    np.put_along_axis,
    np.putmask,
}
# what the functions do with arrays of times; filled with implements_for_times
TIMES: dict[Any, Callable[..., Any]] = {}
_said: set[str] = set()
_settings = dask.config.config
_lock = threading.Lock()


NO_NUMBERS = (
    "an array of times is no array of numbers; take the integers by .view('int64'), or a NumPy "
    "array by .asnumpy()"
)


class MeetsTimes(NeedsHost, UnsupportedDTypeError):
    """Raised by what knows numbers only, at an array or a dtype of times; asks for `TIMES`."""


def implements(*functions: Any) -> Callable[[F], F]:
    """Register an implementation of one or several NumPy functions."""

    def register(implementation: F) -> F:
        for function in functions:
            TABLE[function] = implementation
        return implementation

    return register


def implements_for_times(*functions: Any) -> Callable[[F], F]:
    """Register what one or several NumPy functions do where times take part."""

    def register(implementation: F) -> F:
        for function in functions:
            TIMES[function] = implementation
        return implementation

    return register


def implements_if_there(*names: str) -> Callable[[F], F]:
    """Register an implementation of functions that not every supported NumPy has."""
    return implements(*(getattr(np, name) for name in names if hasattr(np, name)))


def call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a NumPy function on the card, or on the host where the card has no form of it."""
    # read at each call, hence without dask.config.get's parsing
    if _settings["daskasc"].get("promotion") != "numpy":
        return by_policy(_watched, function, args, kwargs)
    return _watched(function, args, kwargs)


def by_policy(run: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Result of `run` under the promotion policy; set by the module of the policy."""
    raise NotImplementedError


def _watched(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if (who := observer.active) is not None:
        return who.run(name_of(function), _call, (function, args, kwargs), {})
    return _call(function, args, kwargs)


def _call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if "device" in kwargs:
        kwargs = _on_this_device(**kwargs)
    implementation = TABLE.get(function)
    why: NeedsHost | None = None
    if implementation is not None:
        try:
            if device.current().restricts:
                written = args[0] if args and function in IN_PLACE and is_array(args[0]) else None
                return _guard.run(implementation, args, kwargs, written)
            return implementation(*args, **kwargs)
        except MeetsTimes:
            return with_times(function, args, kwargs)
        except UnsupportedDTypeError:
            # text, say, that is to be assigned to times
            if not any(is_array(value) and value.dtype.kind in "mM" for value in args):
                raise
            return with_times(function, args, kwargs)
        except NeedsHost as reason:
            why = _guard.bare(reason)
        except NotImplementedError as error:
            if not lacks_kernel(error):
                raise
        except RuntimeError as error:
            raise_numpys(error, args)
            raise
    return on_host(name_of(function), function, args, kwargs, why)


def with_times(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a NumPy function some of whose arguments are times (or ask for times)."""
    if (who := observer.active) is not None:
        return who.run(name_of(function), _with_times, (function, args, kwargs), {})
    return _with_times(function, args, kwargs)


def _with_times(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if "device" in kwargs:
        kwargs = _on_this_device(**kwargs)
    implementation = TIMES.get(function)
    why: NeedsHost | None = None
    if implementation is not None:
        try:
            return _guard.run(implementation, args, kwargs)
        except NeedsHost as reason:
            why = _guard.bare(reason)
    return on_host(name_of(function), function, args, kwargs, why)


def check_device(wanted: Any) -> None:
    """Raise ValueError unless `wanted` is None or this process's device, as ``x.device`` says."""
    if wanted is None:
        return
    place = device.current().torch_device
    name = f"{place.type}:{place.index or 0}"
    if str(wanted) not in (str(place), name):
        own = str(place) if place.type == "cpu" else name
        raise ValueError(f"device is {str(wanted)!r}; this process has {own!r} only")


def _on_this_device(*, device: Any, **kwargs: Any) -> dict[str, Any]:
    """Keyword arguments without a device, which has to be this process's."""
    check_device(device)
    return kwargs


def lacks_kernel(error: NotImplementedError) -> bool:
    """Whether torch means that a dtype has no kernel, by its wording."""
    return "not implemented for" in str(error) or "not support" in str(error)


def raise_numpys(error: RuntimeError, operands: Any) -> None:
    """Raise NumPy's ValueError in the place of torch's error about shapes that do not broadcast."""
    if "must match the size of tensor" not in str(error):
        return
    shapes = [tuple(value.shape) for value in operands if hasattr(value, "shape")]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(map(str, shapes)).replace(", ", ",")
        raise ValueError(
            f"operands could not be broadcast together with shapes {listed} "
        ) from None
    raise ValueError(f"operands could not be broadcast together: {error}") from None


def name_of(function: Any) -> str:
    """Name under which a function is counted and said."""
    if isinstance(function, np.ufunc):
        return f"{_library_of(function)}.{function.__name__}"
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module}.{getattr(function, '__name__', function)}"


def _library_of(ufunc: np.ufunc) -> str:
    # not imported for the question: SciPy's ufuncs exist only where SciPy is
    for module in ("scipy.special", "scipy.special._ufuncs"):
        theirs = getattr(sys.modules.get(module), ufunc.__name__, None)
        # SciPy may wrap them (SCIPY_ARRAY_API)
        if getattr(theirs, "__wrapped__", theirs) is ufunc:
            return "scipy.special"
    return "numpy"


def on_host(
    name: str,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    why: Exception | None = None,
) -> Any:
    """Compute with NumPy on the host, counted and said, and bring arrays back to the card.

    `why` is what an implementation on the card gave up for; a missing kernel is named.

    Raises
    ------
    HostFallbackError
        Configuration forbids it (``daskasc.fallback: error``).
    """
    mode = _mode(why)
    down = _Down()
    if mode == "error":
        down.only_describe = True
        shapes = down.describe((args, kwargs))
        raise HostFallbackError(
            f"{name} has no form on the card for {shapes or 'these arguments'}{_reason(why)}, and "
            "daskasc.fallback is 'error'; use another function, or set it to 'warn'"
        )
    out = kwargs.get("out")
    targets = out if isinstance(out, tuple) else (out,)
    for target in targets:
        _check_target(target)
    host_args, host_kwargs = down(args), down(kwargs)
    if any(target is not None and target.dtype.kind == "V" for target in targets):
        del host_kwargs["out"]  # bfloat16: NumPy's rules of casting do not know it
    device.counters.record_fallback(name, down.nbytes)
    if mode == "warn" and _first_time(name):
        warnings.warn(
            f"{name} is computed on the host{_reason(why)}; results of dtypes that a card knows "
            "go back to it (said once a function; daskasc.device.counters.fallbacks() lists all)",
            HostFallbackWarning,
            stacklevel=_callers.stacklevel(),
        )
    with np.errstate(all="ignore"):
        result = function(*host_args, **host_kwargs)
    if function in IN_PLACE and args and is_array(args[0]):
        args[0][...] = host_args[0]
        return result
    if out is not None:
        return into(out, _up(result))
    for given, host in zip(args, host_args, strict=True):
        if result is host and is_array(given):  # an out= by place, returned by NumPy
            return into(given, _up(result))
    return _up(result)


def _mode(why: Exception | None) -> str:
    """What the user wants done; the tests on cards with gaps ask for the reason as well."""
    return config.fallback()


def _reason(why: Exception | None) -> str:
    return f" ({why})" if isinstance(why, MissingKernel) else ""


def into(out: Any, result: Any) -> Any:
    """Copy results into `out` (an array or a tuple of arrays and Nones) and return it."""
    if isinstance(out, tuple):
        if len(out) == 1:
            return into(out[0], result)
        parts = result if isinstance(result, tuple) else (result,)
        return tuple(
            part if target is None else into(target, part)
            for target, part in zip(out, parts, strict=True)
        )
    if out is None:
        return result
    _check_target(out)
    if out.shape != result.shape and np.broadcast_shapes(out.shape, result.shape) != out.shape:
        raise ValueError(f"out has shape {out.shape}; the result has shape {result.shape}")
    out._accept(result)
    return out


def target_of(out: Any) -> Any:
    """``out=`` as the array that it has to be; NumPy also takes a tuple of one."""
    wanted = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    _check_target(wanted)
    return wanted


def _check_target(out: Any) -> None:
    if out is not None and not is_array(out):
        raise TypeError(
            f"out is {type(out).__name__}; a result on the card can only be stored in an "
            "AscendArray. Call .asnumpy() on the result instead"
        )


def is_array(value: Any) -> bool:
    """Whether a value is an AscendArray (this module lies below the class)."""
    return getattr(type(value), "__ascend_array__", False)


def _first_time(name: str) -> bool:
    with _lock:
        if name in _said:
            return False
        _said.add(name)
        return True


def forget_warnings() -> None:
    """Warn again for functions that were said before (for tests)."""
    with _lock:
        _said.clear()


class _Down:
    """Replace arrays by host copies in nested arguments, adding up their bytes."""

    def __init__(self) -> None:
        self.nbytes = 0
        self.only_describe = False

    def __call__(self, value: Any) -> Any:
        if is_array(value):
            self.nbytes += value.nbytes
            return value.asnumpy()
        if type(value) in (list, tuple):
            return type(value)(map(self, value))
        if type(value) is dict:
            return {key: self(item) for key, item in value.items()}
        return value

    def describe(self, value: Any) -> str:
        if is_array(value):
            return f"{value.dtype}{list(value.shape)}"
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list | tuple):
            return ", ".join(text for text in map(self.describe, value) if text)
        return ""


def _up(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        array: Any = value if _masks.is_masked(value) else np.asarray(value)
        try:
            return from_host(array)
        except UnsupportedDTypeError:
            return value  # strings, objects, masks: not for cards, and visible by their type
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_up, value))
    if type(value) in (list, tuple):
        return type(value)(map(_up, value))
    return value


def from_host(array: np.ndarray[Any, Any]) -> Any:
    """AscendArray of a NumPy array; set by the module of the class."""
    raise NotImplementedError
