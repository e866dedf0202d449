"""The observer of a process: one recorder that passes what it is told to the active profiles.

Each thread has its own stack of running calls, so a call knows the one it is part of. A profile
gets the calls that began after it did and ended before it does, from every thread. The recorder
is installed while any profile is active and taken out with the last one.
"""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING, Any

from daskasc import array, device  # array's tables have to be there before they are watched
from daskasc._callers import caller
from daskasc.profiling._events import Call, Copy
from daskasc.profiling._inner import watching

if TYPE_CHECKING:
    from daskasc.profiling._profile import Profile

# NumPy gives views (for some arguments at least)
_VIEWS = frozenset(
    f"numpy.{name}"
    for name in "array_split asarray atleast_1d atleast_2d atleast_3d broadcast_arrays "
    "broadcast_to diagonal dsplit expand_dims flip fliplr flipud hsplit imag matrix_transpose "
    "moveaxis permute_dims ravel real reshape rollaxis rot90 split squeeze swapaxes transpose "
    "unstack vsplit".split()
)
_MAKES_COPIES = frozenset(("astype", "copy", "setitem", "store", "numpy.copyto", "numpy.astype"))
_CROSSINGS = frozenset(("upload", "download", "item"))
_DIRECTIONS = {
    "host_to_device_bytes": "host_to_device",
    "device_to_host_bytes": "device_to_host",
}


class Recorder:
    """Implements ``device.observer.Observer`` for the profiles in ``profiles``."""

    def __init__(self) -> None:
        self.profiles: tuple[Profile, ...] = ()
        self._stacks = threading.local()
        self._numbers = itertools.count(1)

    def install(self) -> None:
        """Be told of every call from now on."""
        device.observer.install(self)

    def remove(self) -> None:
        """Be told of nothing more; operators go their fast path again."""
        device.observer.install(None)

    def _stack(self) -> list[Call]:
        try:
            return self._stacks.calls
        except AttributeError:
            self._stacks.calls = []
            return self._stacks.calls

    def _thread(self) -> int:
        """Number of the running thread, which no later one gets as it may its identifier."""
        try:
            return self._stacks.number
        except AttributeError:
            self._stacks.number = next(self._numbers)
            return self._stacks.number

    def run(self, name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function and note it as a call of `name`.

        A call that hands itself on under its own name is one call.
        """
        profiles = self.profiles
        stack = self._stack()
        if stack and stack[-1].name == name:
            return function(*args, **kwargs)
        arrays = list(_arrays((args, kwargs)))
        call = Call(
            name=name,
            thread=self._thread(),
            parent=stack[-1] if stack else None,
            start=0,
            nbytes=sum(map(_nbytes, arrays)),
            operands=tuple(map(_describe, arrays)),
            own=all(other.name != name for other in stack),
        )
        waits = any(profile.synchronize for profile in profiles)
        watches = not stack and any(profile.inner_copies for profile in profiles)
        stack.append(call)
        call.start = time.perf_counter_ns()
        try:
            if watches:
                result = self._watched(function, args, kwargs)
            else:
                result = function(*args, **kwargs)
            if waits:
                device.current().synchronize()
        except BaseException as error:
            call.end = time.perf_counter_ns()
            call.error = type(error).__name__
            raise
        else:
            call.end = time.perf_counter_ns()
            results = list(_arrays(result))
            call.results = tuple(map(_describe, results))
            call.nbytes += sum(map(_nbytes, results))
            self._find_hidden(call, arrays, results)
            return result
        finally:
            stack.pop()
            if call.parent is not None:
                call.parent.inner += call.duration
                call.parent.hid |= call.hid
            for profile in profiles:
                profile.take_call(call)

    def _watched(self, function: Any, args: Any, kwargs: Any) -> Any:
        self._stacks.watched = True
        try:
            with watching(self._note_hidden):
                return function(*args, **kwargs)
        finally:
            self._stacks.watched = False

    def moved(self, counter: str, n: int) -> None:
        """Note a copy between host and card."""
        direction = _DIRECTIONS.get(counter)
        if direction is None:
            return
        stack = self._stack()
        if stack and not stack[-1].operands:
            stack[-1].nbytes += n  # an upload, or one element: no array goes in
        self._note(direction, self._name(), n)

    def fell_back(self, name: str, nbytes: int) -> None:
        """Note a function computed on the host."""
        stack = self._stack()
        if stack:
            stack[-1].fallback = True
        self._note("fallback", name, nbytes)

    def converted(self, reason: str, nbytes: int) -> None:
        """Note a copy that is made inside a call."""
        if not getattr(self._stacks, "watched", False):  # then torch tells of it
            self._note_hidden(reason, nbytes)

    def _note_hidden(self, reason: str, nbytes: int) -> None:
        stack = self._stack()
        if any(call.name in _MAKES_COPIES for call in stack):
            return
        if stack:
            stack[-1].hid = True
        self._note("hidden", f"{self._name()} ({reason})", nbytes)

    def _find_hidden(self, call: Call, operands: list[Any], results: list[Any]) -> None:
        if call.hid or not operands or not results:
            return
        refused = any(not result.flags.writeable for result in results)
        if call.name not in _VIEWS and not refused:
            return
        shared = {_address(array) for array in operands}
        copied = [r for r in results if r.size and _address(r) not in shared]
        if copied:
            call.hid = True
            nbytes = sum(map(_nbytes, copied))
            self._note("hidden", f"{call.name} (a copy, not a view)", nbytes)

    def _name(self) -> str:
        """Name of the innermost call that does more than crossing between host and card."""
        stack = self._stack()
        for call in reversed(stack):
            if call.name not in _CROSSINGS:
                return call.name
        return stack[-1].name if stack else ""

    def _note(self, kind: str, name: str, nbytes: int) -> None:
        copy = Copy(kind, name, caller(), nbytes, time.perf_counter_ns(), self._thread())
        for profile in self.profiles:
            profile.take_copy(copy)


def _arrays(value: Any) -> Any:
    if isinstance(value, array.AscendArray):
        yield value
    elif type(value) in (tuple, list):
        for item in value:
            yield from _arrays(item)
    elif type(value) is dict:
        for item in value.values():
            yield from _arrays(item)
    elif isinstance(value, tuple):  # named tuples of results
        for item in value:
            yield from _arrays(item)


def _nbytes(value: Any) -> int:
    return int(value.nbytes)


def _describe(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}"


def _address(value: Any) -> int:
    return int(value.tensor.untyped_storage().data_ptr())
