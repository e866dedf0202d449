"""A value that holds arrays on a card, turned into host memory and back.

Arrays may sit anywhere inside a value. Finding them walks containers, instance dictionaries and
slots. Moving them pickles the value with each array replaced by a reference, so any picklable
object works; other large buffers (NumPy arrays) are kept as they are, without a copy.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np

from daskasc import device

# Objects of these packages hold no arrays; walking frames, graphs or loggers would cost time.
_OPAQUE = sys.stdlib_module_names | {"numpy", "pandas", "torch", "dask", "distributed"}
_TRANSPARENT = frozenset({"types", "collections"})


def _array_type() -> type | None:
    # no array can exist before the module was imported; importing it would import torch
    module = sys.modules.get("daskasc.array")
    return getattr(module, "AscendArray", None)


def _children(value: object) -> Iterator[Any]:
    """Objects directly inside `value`: items of a container, attributes of an instance."""
    kind = type(value)
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, (list, tuple, set, frozenset, deque)):
        yield from value
    package = kind.__module__.partition(".")[0]
    if package in _OPAQUE and package not in _TRANSPARENT:
        return
    yield from getattr(value, "__dict__", {}).values()
    for cls in kind.__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield getattr(value, name, None)


def _arrays(value: object, wanted: type) -> Iterator[Any]:
    """Arrays inside `value`, each once."""
    seen: set[int] = set()
    todo = [value]
    while todo:
        item = todo.pop()
        if item is None or isinstance(item, (str, bytes, int, float, complex, type)):
            continue
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, wanted):
            yield item
        else:
            todo.extend(_children(item))


def device_bytes(value: object) -> int:
    """Bytes of card memory that `value` holds; 0 for a value without arrays on a card."""
    wanted = _array_type()
    if wanted is None or isinstance(value, (np.ndarray, np.generic)):
        return 0
    # a broadcast array has more elements than memory
    return sum(
        min(array.nbytes, array.tensor.untyped_storage().nbytes())
        for array in _arrays(value, wanted)
    )


class _Pickler(cloudpickle.Pickler):
    def __init__(self, file: io.BytesIO, wanted: type, buffers: list[pickle.PickleBuffer]) -> None:
        super().__init__(file, protocol=5, buffer_callback=buffers.append)
        self._wanted = wanted
        self._indices: dict[int, int] = {}
        self.arrays: list[np.ndarray[Any, Any]] = []

    def persistent_id(self, obj: object) -> int | None:
        if not isinstance(obj, self._wanted):
            return None
        if id(obj) not in self._indices:
            self._indices[id(obj)] = len(self.arrays)
            self.arrays.append(obj.asnumpy())  # type: ignore[attr-defined]
        return self._indices[id(obj)]


class _Unpickler(pickle.Unpickler):
    def __init__(self, form: HostForm, arrays: list[Any]) -> None:
        assert form.payload is not None
        super().__init__(io.BytesIO(form.payload), buffers=form.buffers)
        self._arrays = arrays

    def persistent_load(self, pid: Any) -> Any:
        return self._arrays[pid]


@dataclass(frozen=True)
class HostForm:
    """A value whose arrays are in host memory; itself picklable, for the way to disk.

    Attributes
    ----------
    arrays : list of numpy.ndarray
        The arrays, in own memory.
    payload : bytes or None
        The pickled rest; None when the value is one array.
    buffers : list
        Large host buffers of the rest.
    device_bytes : int
        Bytes of card memory that the value takes when restored.
    """

    arrays: list[np.ndarray[Any, Any]]
    payload: bytes | None
    buffers: list[pickle.PickleBuffer]
    device_bytes: int

    @classmethod
    def of(cls, value: object, nbytes: int) -> HostForm:
        """Copy a value's arrays to the host.

        Raises
        ------
        Exception
            Whatever pickling the rest of the value raises; `value` is as it was.
        """
        wanted = _array_type()
        assert wanted is not None
        if isinstance(value, wanted):
            return cls([value.asnumpy()], None, [], nbytes)  # type: ignore[attr-defined]
        file = io.BytesIO()
        buffers: list[pickle.PickleBuffer] = []
        pickler = _Pickler(file, wanted, buffers)
        pickler.dump(value)
        return cls(pickler.arrays, file.getvalue(), buffers, nbytes)

    def restore(self) -> Any:
        """Rebuild the value with its arrays on this process's card."""
        from daskasc.array import from_numpy

        device.current().activate_thread()
        arrays = [from_numpy(array) for array in self.arrays]
        return arrays[0] if self.payload is None else _Unpickler(self, arrays).load()

    def __sizeof__(self) -> int:
        rest = len(self.payload or b"") + sum(buffer.raw().nbytes for buffer in self.buffers)
        return sum(array.nbytes for array in self.arrays) + rest
