"""Order of elements in memory: ``order=`` arguments and the ``flags`` of an array.

Orders are NumPy's: C (last axis fastest), F (first axis fastest), A (F if the array is only
F-contiguous, else C), K (as the array lies). torch's strides can express them all.
"""

from __future__ import annotations

from typing import Any

from daskasc.array._dtypes import torch
from daskasc.array._readonly import is_read_only, stands_for

# flag -> NumPy's other names for it
_NAMES = {
    "C_CONTIGUOUS": ("C", "CONTIGUOUS"),
    "F_CONTIGUOUS": ("F", "FORTRAN"),
    "OWNDATA": ("O",),
    "WRITEABLE": ("W",),
    "ALIGNED": ("A",),
    "WRITEBACKIFCOPY": ("X",),
    "FNC": (),
    "FORC": (),
    "BEHAVED": ("B",),
    "CARRAY": ("CA",),
    "FARRAY": ("FA",),
}
_FULL = {short: name for name, others in _NAMES.items() for short in (name, *others)}
# NumPy's public numbers of the flags
_NUMBERS = {
    "C_CONTIGUOUS": 0x1,
    "F_CONTIGUOUS": 0x2,
    "OWNDATA": 0x4,
    "ALIGNED": 0x100,
    "WRITEABLE": 0x400,
}


def order_of(order: Any, allowed: str = "CFAK") -> str:
    """Upper-case letter of an order; None is the first allowed one.

    Raises
    ------
    ValueError
        NumPy does not know the order, or not here.
    """
    letter = allowed[0] if order is None else str(order).upper()
    if letter in tuple("CFAK") and letter not in allowed:
        raise ValueError("only 'C' or 'F' order is permitted")
    if letter not in tuple(allowed):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return letter


def turned(tensor: Any) -> Any:
    """View with the axes reversed."""
    return tensor.permute(tuple(reversed(range(tensor.ndim))))


def is_f(tensor: Any) -> bool:
    """Whether the first axis is the fastest and there are no gaps."""
    return bool(turned(tensor).is_contiguous())


def resolved(tensor: Any, order: str) -> str:
    """C or F for A; other orders as they are."""
    if order != "A":
        return order
    return "F" if is_f(tensor) and not tensor.is_contiguous() else "C"


def new(shape: tuple[int, ...], dtype: Any, order: Any, place: Any) -> Any:
    """Uninitialised tensor in order C or F."""
    if order_of(order, "CF") == "C":
        return torch.empty(shape, dtype=dtype, device=place)
    return turned(torch.empty(shape[::-1], dtype=dtype, device=place))


def new_like(tensor: Any, shape: tuple[int, ...], dtype: Any, order: Any) -> Any:
    """Uninitialised tensor on the same device, in the order of `tensor` for K and A."""
    letter = resolved(tensor, order_of("K" if order is None else order))
    if letter == "K":
        if shape == tuple(tensor.shape):
            return torch.empty_like(tensor, dtype=dtype)
        letter = "F" if len(shape) == tensor.ndim and resolved(tensor, "A") == "F" else "C"
    return new(shape, dtype, letter, tensor.device)


def clone(tensor: Any, order: Any) -> Any:
    """Copy in an order."""
    letter = resolved(tensor, order_of(order))
    if letter == "K":
        return tensor.clone()
    if letter == "C":
        return tensor.clone(memory_format=torch.contiguous_format)
    return turned(turned(tensor).clone(memory_format=torch.contiguous_format))


def fits(tensor: Any, order: Any) -> bool:
    """Whether a tensor has an order already."""
    letter = resolved(tensor, order_of("K" if order is None else order))
    if letter != "K" and stands_for(tensor) is not None:
        return False  # NumPy's view has gaps
    return letter == "K" or (is_f(tensor) if letter == "F" else bool(tensor.is_contiguous()))


def arranged(tensor: Any, order: Any) -> Any:
    """The tensor itself if it has the order, else a copy that has."""
    return tensor if fits(tensor, order) else clone(tensor, order)


class Flags:
    """``ndarray.flags`` of an array on the card: by name, by NumPy's short name, as attributes.

    ``writeable`` is False for arrays that are copies where NumPy would give a view, and for views
    of them. It cannot be changed: a card has no read-only memory, and views would not know.
    """

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, name: str) -> bool:
        full = _FULL.get(name)
        if full is None:
            raise KeyError("Unknown flag")
        return self._value(full)

    def __getattr__(self, name: str) -> bool:
        full = _FULL.get(name.upper()) if name.islower() and len(name) > 2 else None
        if full is None:
            raise AttributeError(f"flags have no attribute {name!r}")
        return self._value(full)

    def __setitem__(self, name: str, value: Any) -> None:
        full = _FULL.get(name)
        if full is None:
            raise KeyError("Unknown flag")
        self._set(full, bool(value))

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_array":
            object.__setattr__(self, name, value)
            return
        getattr(self, name)
        self._set(_FULL[name.upper()], bool(value))

    def _value(self, name: str) -> bool:
        array = self._array
        tensor = array.tensor
        if name == "C_CONTIGUOUS":
            return bool(tensor.is_contiguous())
        if name == "F_CONTIGUOUS":
            return is_f(tensor)
        if name == "OWNDATA":
            return not (tensor._is_view() or is_read_only(tensor))
        if name in ("WRITEABLE", "BEHAVED"):
            return not is_read_only(tensor)
        c, f = bool(tensor.is_contiguous()), is_f(tensor)
        values = {
            "ALIGNED": True,
            "WRITEBACKIFCOPY": False,
            "FNC": f and not c,
            "FORC": f or c,
            "CARRAY": c and self._value("WRITEABLE"),
            "FARRAY": f and not c and self._value("WRITEABLE"),
        }
        return values[name]

    def _set(self, name: str, value: bool) -> None:
        if value == self._value(name):
            return
        if name == "WRITEABLE":
            raise ValueError(
                "cannot set WRITEABLE flag of an array on a card: its memory cannot be protected, "
                "and a copy in the place of a view stays one. Use .copy()"
            )
        raise ValueError(f"flag {name} of an array on a card cannot be set")

    @property
    def num(self) -> int:
        """NumPy's number of the flags."""
        return sum(number for name, number in _NUMBERS.items() if self._value(name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and self.num == other.num

    def __hash__(self) -> int:
        return hash(self.num)

    def __repr__(self) -> str:
        shown = list(_NAMES)[:6]
        return "\n".join(f"  {name} : {self._value(name)}" for name in shown) + "\n"
