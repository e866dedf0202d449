"""Where functions are computed: the capability table, and answers about one function.

What a function may call is read from its source: the torch functions and operators in it and in
what it calls within this package. So an answer is exact where the table has a row for the function
itself, and an upper bound for what is made of others.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskasc import device
from daskasc.array import _elementwise
from daskasc.array._dispatch import TABLE
from daskasc.device import capabilities
from daskasc.device._capabilities import Limit

_REMEDIES = {
    "bits": "moved as integers of the same bytes",
    "wider": "computed in int64",
    "negated": "computed on the negative",
    "": "host",
}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.MatMult: "matmul",
}
# functions of torch's name that are computed by other torch functions here
_MADE_OF_OTHERS = frozenset("nanmean nanquantile nansum quantile std".split())
# marks of an implementation that computes in float64 whatever its operands are
_WIDE = frozenset(("float64", "f8", "double"))
_MODULES = {"numpy": np, "numpy.linalg": np.linalg, "numpy.fft": np.fft}
_ALIASES = {"npu": "ascend-a2", "atlas-a2": "ascend-a2", "ascend": "ascend-a2"}
# above this layer: looked up by name when somebody asks about SciPy
_SCIPY_TABLE = "daskasc.scipy.coverage"
_WORDS = {
    ("card", "device"): "on the card, by torch",
    ("card", "about"): "an answer about arrays on the card; no elements are computed",
    ("card", "composite"): "on the card, by an algorithm over other functions",
    ("parts", "device"): "on the card, in parts on the host",
    ("parts", "composite"): "on the card, in parts on the host",
    ("host", "device"): "on the host, for other dtypes on the card",
    ("host", "composite"): "on the host, for other dtypes on the card",
    ("host", "host"): "on the host",
    ("excluded", "excluded"): "not offered for arrays on a card",
}


@dataclass(frozen=True)
class Support:
    """Answer about one function; its text is for reading.

    Attributes
    ----------
    function : str
        NumPy's or SciPy's name with its module.
    family : str
        The cards that the answer is about.
    kind : {"device", "composite", "about", "host", "excluded"}
        Where it is computed on a card that has every operator, as in the coverage table: by torch,
        by an algorithm over other functions, by NumPy or SciPy, or not at all.
    where : {"card", "parts", "host", "excluded"}
        Where on this family, for the dtype asked about, or for the common ones: ``parts`` if it
        is on the card, but functions that it may call go to the host; ``host`` with a kind of
        ``device`` if the family lacks the function for this dtype.
    own : tuple of Limit
        What the family lacks for the function itself.
    parts : tuple of (str, Limit)
        What it lacks for torch functions that this one may call.
    dtype : str or None
    reason : str
        Why a function is not on the card at all, or for which arguments it is not.
    """

    function: str
    family: str
    kind: str
    where: str
    own: tuple[Limit, ...]
    parts: tuple[tuple[str, Limit], ...]
    dtype: str | None = None
    reason: str = ""

    @property
    def host_dtypes(self) -> tuple[str, ...]:
        """Dtypes for which the function itself is computed on the host."""
        found = {dtype for row in self.own if not row.remedy for dtype in row.missing}
        return tuple(dtype for dtype in capabilities.ALL if dtype in found)

    def __repr__(self) -> str:
        asked = f" of {self.dtype}" if self.dtype else ""
        words = _WORDS[self.where, self.kind]
        lines = [f"{self.function}{asked} on {self.family}: {words}"]
        if self.reason:
            lines.append(f"  {self.reason}")
        lines += [f"  {_REMEDIES[row.remedy]}: {_told(row)}" for row in self.own]
        if self.parts:
            names = dict.fromkeys(name for name, _ in self.parts)
            lines.append(f"  may call, with gaps of their own on this card: {', '.join(names)}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Table:
    """The capability table of a family; its text is for reading."""

    family: str
    limits: tuple[Limit, ...]
    notes: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        if not self.limits:
            return f"{self.family}: no operator is known to lack a dtype"
        lines = [f"{self.family}: everything is computed on the card but", ""]
        for row in self.limits:
            lines += textwrap.wrap(
                f"{', '.join(row.operators.split())}: {', '.join(row.missing)}. "
                f"{_REMEDIES[row.remedy].capitalize()} ({row.source}).",
                100,
                subsequent_indent="    ",
            )
        lines += ["", *(f"{what}: {how}" for what, how in self.notes)]
        return "\n".join(lines)


def support(
    function: Any = None, dtype: Any = None, *, family: str | None = None
) -> Table | Support:
    """Where functions are computed.

    Parameters
    ----------
    function : callable or str, optional
        A function of NumPy or SciPy, or its name (``"linalg.eigh"``, ``"add.reduce"``,
        ``"scipy.ndimage.gaussian_filter"``); by default the whole table.
    dtype : dtype_like, optional
        Of the operands.
    family : str, optional
        ``"ascend-a2"`` (also ``"npu"``, ``"Atlas A2"``), ``"cuda"`` or ``"cpu"``; by default that
        of this process's card.

    Returns
    -------
    Table or Support

    Raises
    ------
    ValueError
        There is no such family.
    AttributeError
        NumPy (or SciPy) has no such function.
    TypeError
        What has this name is a class, a module or a constant.

    Examples
    --------
    >>> support("cumsum", "float64", family="cuda")
    numpy.cumsum of float64 on cuda: on the card, by torch
    """
    family = device.current().family if family is None else _family(family)
    if function is None:
        return Table(family, capabilities.FAMILIES[family], capabilities.NOTES[family])
    name, found = _find(function)
    kind, reason = _kind(name, found)
    wanted = None if dtype is None else np.dtype(dtype).name
    if kind == "device" and not _is_read(found):
        # its source is not one function's: on a card with gaps parts of it may meet one
        where = "parts" if capabilities.FAMILIES[family] else "card"
        return Support(name, family, kind, where, (), (), wanted, reason)
    short = name.removeprefix("numpy.")
    own, parts = _gaps(family, short, found) if kind in ("device", "composite") else ((), ())
    # float32 stands for the common dtypes where none is asked about
    asked = {wanted or "float32"}
    if kind == "composite" or _WIDE & _calls(found):
        asked.add("float64")
    if wanted is not None:
        own = tuple(row for row in own if wanted in row.missing)
        parts = tuple((name, row) for name, row in parts if asked & set(row.missing))
    where = _where(kind, own, parts, wanted or "float32", asked)
    return Support(name, family, kind, where, own, parts, wanted, reason)


def _family(given: str) -> str:
    name = str(given).strip().lower().replace(" ", "-").replace("_", "-")
    name = _ALIASES.get(name, name)
    if name not in capabilities.FAMILIES:
        known = ", ".join(capabilities.FAMILIES)
        aliases = ", ".join(_ALIASES)
        raise ValueError(f"family is {given!r}; known: {known} (named {aliases}, too)")
    return name


def _is_read(function: Any) -> bool:
    """Whether the implementation is a row of this package's tables, so that it can be read."""
    return function in _elementwise.NAMES or function in TABLE


def _gaps(
    family: str, name: str, function: Any
) -> tuple[tuple[Limit, ...], tuple[tuple[str, Limit], ...]]:
    """Rows of a function itself, and of what it may call where no other form exists."""
    calls = _calls(function)
    own: tuple[Limit, ...] = ()
    called = capabilities.torch_name(name) in calls and name not in _MADE_OF_OTHERS
    if isinstance(function, np.ufunc) or "." in name or called:
        own = tuple(capabilities.limits(family, name))
    others = sorted(calls - {name, capabilities.torch_name(name)})
    table = capabilities.lacking(family)
    rows = ((part, row) for part in others for row in table.get(part, {}).values())
    return own, tuple(dict.fromkeys((part, row) for part, row in rows if not row.remedy))


def _where(
    kind: str,
    own: tuple[Limit, ...],
    parts: tuple[tuple[str, Limit], ...],
    dtype: str,
    asked: set[str],
) -> str:
    if kind in ("host", "excluded"):
        return kind
    if any(dtype in row.missing and not row.remedy for row in own):
        return "host"
    return "parts" if any(asked & set(row.missing) for _, row in parts) else "card"


def _told(row: Limit) -> str:
    dtypes = "every dtype" if row.missing == capabilities.ALL else ", ".join(row.missing)
    return f"{dtypes} ({row.source})"


def _find(function: Any) -> tuple[str, Any]:
    """Full name and object of what was asked about."""
    if isinstance(function, str):
        path = function.removeprefix("numpy.").removeprefix("daskasc.").split(".")
        if path[0] == "scipy":
            return ".".join(path), _of_scipy(path)
        found: Any = functools.reduce(getattr, path, np)
        path = ["numpy", *path]
    else:
        found = getattr(function, "__wrapped__", function) if _is_ours(function) else function
        path = _path(function)
    if path[:2] == ["numpy", "ndarray"] and len(path) == 3 and hasattr(np, path[2]):
        path, found = ["numpy", path[2]], getattr(np, path[2])  # a method: the function's answer
    name = ".".join(path)
    if isinstance(found, type) or not callable(found):
        kind = "class" if isinstance(found, type) else type(found).__name__
        raise TypeError(f"{name} is a {kind}, not a function that computes on arrays")
    if path[0] not in ("numpy", "scipy") or path[1] == "ndarray":
        raise TypeError(f"{name} is not a function of NumPy or SciPy; ask about those it calls")
    return name, found


def _is_ours(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("daskasc.array")


def _path(function: Any) -> list[str]:
    """Public name of an object, with its module."""
    name = getattr(function, "__name__", None)
    if name is None:
        return [repr(function)]
    for module, place in _MODULES.items():
        if vars(place).get(name) is function:
            return [*module.split("."), name]
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return [*_path(owner), name]
    if getattr(function, "__objclass__", None) is np.ndarray:
        return ["numpy", "ndarray", name]
    special = sys.modules.get("scipy.special")
    if isinstance(function, np.ufunc) and vars(special or np).get(name) is function:
        return ["scipy", "special", name]
    given = (getattr(function, "__module__", None) or "").removeprefix("daskasc.").split(".")
    if given[0] == "scipy":
        return [*given[:2], name]
    if given[0] in ("array", ""):  # daskasc.array, ufuncs
        given = ["numpy", *given[1:]]
    return [*given, name]


def _of_scipy(path: list[str]) -> Any:
    """SciPy's ufunc, whose kernel is in the table here; the name of everything else."""
    if path[1:2] == ["special"] and len(path) == 3:
        try:
            found = getattr(importlib.import_module("scipy.special"), path[2], None)
        except ModuleNotFoundError:
            return ".".join(path)
        found = getattr(found, "__wrapped__", found)
        if isinstance(found, np.ufunc):
            return found
    return ".".join(path)


def _kind(name: str, function: Any) -> tuple[str, str]:
    # not at the top: it is also a program, which must not be imported before it runs
    from daskasc.array import coverage

    module, _, short = name.rpartition(".")
    if name.startswith("scipy."):
        kind, reason = importlib.import_module(_SCIPY_TABLE).where(name)
        return str(kind), str(reason)
    if module == "numpy":
        row = coverage.rows().get(short)
        if row is not None:
            return row.kind, row.reason
    if _is_read(function):
        return "device", ""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return _kind(module, owner)
    if isinstance(function, np.ufunc) or hasattr(function, "_implementation"):
        return "host", "outside the table of functions; NumPy computes it"
    return "excluded", (
        "not a function that NumPy hands on to other arrays: an array on a card would be converted "
        "implicitly, which raises HostConversionError"
    )


@functools.cache
def _calls(function: Any) -> frozenset[str]:
    """Torch's functions that an implementation, or what it calls in this package, names."""
    if function in _elementwise.NAMES:
        row = _elementwise.NAMES[function]
        rows = (_elementwise.ROWS, _elementwise.FLOAT_ROWS, _elementwise.REAL_ROWS)
        implementations = [table[row] for table in rows if row in table]
    else:
        implementations = [TABLE[function]] if function in TABLE else []
    seen: dict[Any, None] = {}
    names: set[str] = set()
    for implementation in implementations:
        names |= _names(implementation, seen)
    return frozenset(names)


def _names(function: Callable[..., Any], seen: dict[Any, None]) -> set[str]:
    function = inspect.unwrap(function)
    if function in seen:
        return set()
    seen[function] = None
    if not inspect.isfunction(function):
        return {getattr(function, "__name__", "").strip("_")}
    if not function.__module__.startswith("daskasc.array"):
        return set()
    found: set[str] = set()
    for base, name in _attributes(function):
        if base in ("torch", "."):
            found.add(name)
        elif base == "np" and getattr(np, name, None) in TABLE:
            found |= _names(TABLE[getattr(np, name)], seen)
        elif not base and inspect.isfunction(function.__globals__.get(name)):
            found |= _names(function.__globals__[name], seen)
    return found


def _attributes(function: Any) -> Iterator[tuple[str, str]]:
    """Names that a function's source uses, with ``"torch"``, ``"np"``, nothing or ``"."`` before.

    ``"."`` are methods of values, operators between them, and operators asked for by name.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield "", node.id
        elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _OPERATORS:
            yield ".", _OPERATORS[type(node.op)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield ".", capabilities.torch_name(node.value)
            yield ".", node.value
        elif isinstance(node, ast.Attribute):
            chain = [node.attr]
            value: Any = node.value
            while isinstance(value, ast.Attribute):
                chain.append(value.attr)
                value = value.value
            base = value.id if isinstance(value, ast.Name) else ""
            if base in ("torch", "np"):
                yield base, "_".join(reversed(chain))
            yield ".", node.attr
