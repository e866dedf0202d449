"""Small known inputs of one dtype, on the card or on the host, also in another form."""

from __future__ import annotations

import functools
from typing import Any

from daskasc.device._torch import torch

_SIGNED_INTEGERS = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}
# what moves as values of a wider dtype, because even its bits cannot
_AS_VALUES = {"int8": "int32", "uint8": "int32", "int16": "int32"}


class Inputs:
    """Tensors of a dtype on a device.

    Parameters
    ----------
    dtype : str
        NumPy's name.
    device : torch.device
    form : {"", "bits", "wider", "negated"}
        Remedy of the capability table: tensors of numbers are made in this other form, and
        :meth:`back` turns a result into the ordinary one.
    way : {"", "parts", "values"}
        How ``bits`` move: as integers, as pairs of numbers along one more axis, which masks have
        too, or as integers whose values are in int32.
    """

    def __init__(self, dtype: str, device: Any, form: str = "", way: str = "") -> None:
        self.name = dtype
        self.device = device
        self.dtype = getattr(torch(), dtype)
        self._form = form
        self._in_parts = way == "parts"
        self._by_values = way == "values"

    # -- making

    def _made(self, floats: list[Any], integers: list[Any], booleans: list[Any]) -> Any:
        if self.dtype.is_floating_point or self.dtype.is_complex:
            values = torch().tensor(floats)
            if self.dtype.is_complex:
                values = torch().complex(values, values.flip(0) / 2)
        else:
            values = torch().tensor(booleans if self.name == "bool" else integers)
        return self._there(values.to(self.dtype).to(self.device))

    def _there(self, tensor: Any) -> Any:
        module = torch()
        if self._form == "wider":
            return tensor.to(module.int64)
        if self._form == "negated":
            return -tensor
        if self._form != "bits":
            return tensor
        if self._in_parts:
            parts = module.view_as_real(tensor)
            return parts.view(module.int64) if self.name == "complex128" else parts
        if self.name in _AS_VALUES:
            return tensor.to(getattr(module, _AS_VALUES[self.name]))
        bits = tensor.view(getattr(module, _SIGNED_INTEGERS[tensor.element_size()]))
        return bits.to(module.int32) if self._by_values else bits

    def back(self, found: Any) -> Any:
        """Result of a call in the ordinary form."""
        module = torch()
        if isinstance(found, tuple):
            return (self.back(found[0]), *found[1:])
        if self._form == "negated":
            return -found
        if self._form == "wider" or (self._form == "bits" and self.name in _AS_VALUES):
            return found.to(self.dtype)
        if self._form != "bits":
            return found
        if self._in_parts:
            parts = found.view(module.float64) if self.name == "complex128" else found
            return module.view_as_complex(parts.contiguous())
        if self._by_values:
            found = found.to(getattr(module, _SIGNED_INTEGERS[self.dtype.itemsize]))
        return found.view(self.dtype)

    # -- numbers

    @functools.cached_property
    def x(self) -> Any:
        """Six numbers."""
        floats = [0.5, 0.25, 1.0, 0.75, 0.125, 0.625]
        return self._made(floats, [3, 1, 2, 6, 5, 4], [True, False, True, True, False, True])

    @functools.cached_property
    def y(self) -> Any:
        """Six others, none of them 0."""
        floats = [0.25, 0.5, 0.75, 1.0, 0.5, 0.125]
        return self._made(floats, [1, 2, 3, 1, 2, 2], [True, True, False, True, False, False])

    @functools.cached_property
    def distinct(self) -> Any:
        """Numbers without an equal, so that places are unique."""
        return self.x[:2] if self.name == "bool" else self.x

    @functools.cached_property
    def above(self) -> Any:
        """Numbers that are 1 or more."""
        return self._made([1.0, 2.5, 1.5, 3.0], [3, 1, 2, 6], [True, True, True, True])

    @functools.cached_property
    def long(self) -> Any:
        """Numbers beyond 2**24 where the dtype has them."""
        most = 2**24 if self.name in ("int32", "int64", "uint32", "uint64") else 0
        integers = [most + n for n in (7, 5, 6, 3, 4, 1)]
        return self._made([0.5, 0.25, 1.0, 0.75, 0.125, 0.625], integers, [True, False])

    @functools.cached_property
    def m(self) -> Any:
        """Symmetric matrix (3, 3), far from singular."""
        rows = torch().tensor([[4, 1, 0], [1, 3, 1], [0, 1, 2]])
        return self._there(rows.to(self.dtype).to(self.device))

    @functools.cached_property
    def v(self) -> Any:
        """Vector of three numbers."""
        return self.y[:3]

    @functools.cached_property
    def bounds(self) -> Any:
        """Three numbers that ascend."""
        return self._made([0.25, 0.5, 0.75], [1, 3, 5], [False, True, True])

    @functools.cached_property
    def pairs(self) -> Any:
        """Pairs of numbers (3, 2)."""
        return self.x.reshape(3, 2)

    @property
    def number(self) -> Any:
        """A Python number."""
        if self.dtype.is_complex:
            return 0.5 + 0.25j
        return 0.5 if self.dtype.is_floating_point else self.name == "bool" or 2

    # -- indices and masks

    @functools.cached_property
    def i(self) -> Any:
        """Three places among six."""
        return torch().tensor([4, 0, 2]).to(self.device)

    @functools.cached_property
    def mask(self) -> Any:
        """Booleans of six elements."""
        mask = torch().tensor([True, False, False, True, True, False]).to(self.device)
        return mask.unsqueeze(-1) if self._in_parts else mask

    @property
    def made(self) -> dict[str, Any]:
        """Keywords of functions that make tensors."""
        return {"dtype": self.dtype, "device": self.device}
