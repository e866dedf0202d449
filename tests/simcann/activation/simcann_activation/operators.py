"""Chooses which aten operators run by the CPU's kernels, and which stay torch_npu's own.

Allocation, copies, views, resizing and reading a scalar stay genuine. Composite operators that
torch_npu overrides get PyTorch's own composition back; so do autograd formulas.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

KEEP_PREFIXES = (
    "empty",
    "new_empty",
    "set_",
    "view",
    "resize",
    "npu_",
    "_npu_",
    "as_strided",
    "unsafe_empty",
)
KEEP = frozenset(
    "_local_scalar_dense _reshape_alias is_pinned _pin_memory record_stream get_npu_format "
    "get_storage_size copy_memory_ is_set_to copy_ unfold flatten_dense_tensors _to_sparse "
    "_to_sparse.sparse_dim".split()
)
STOCK = frozenset(("_to_copy", "clone"))  # empty and copy_, which stay torch_npu's


def _kept(name: str) -> bool:
    return name in KEEP or name.startswith(KEEP_PREFIXES)


def install() -> Any:
    """Install all kernels; return the extension module."""
    import torch

    from simcann_activation import table

    importlib.import_module("torch_npu")
    # PyTorch's meta kernels in Python come before those in C++, which queued operators ask for
    # their shapes, and take a hundred times as long
    meta = importlib.import_module("torch._meta_registrations")
    meta._meta_lib_dont_use_me_use_register_meta._destroy()
    sys.path.insert(0, os.environ["SIMCANN_LIBRARIES"])
    try:
        module = importlib.import_module("simcann_operators")
    finally:
        sys.path.pop(0)

    def registered(key: str) -> set[str]:
        names = torch._C._dispatch_get_registrations_for_dispatch_key(key)
        return {name[6:] for name in names if name.startswith("aten::")}

    npu, cpu = registered("PrivateUse1"), registered("CPU")
    autograd_npu, autograd = registered("AutogradPrivateUse1"), registered("Autograd")
    implicit = registered("CompositeImplicitAutograd")
    explicit = registered("CompositeExplicitAutograd")
    composed = {name for name in npu & implicit if name not in cpu and not _kept(name)}
    stock = STOCK & explicit
    strict = os.environ.get("SIMCANN_STRICT", "1") != "0"
    if strict:
        # what is made of others has no kernel of its own, and gets one for the table's sake
        tabled = {*table.rows(), *table.LIMITS}
        named = {name for name in implicit | explicit if name.split(".")[0].rstrip("_") in tabled}
        named -= npu | cpu
        composed |= named & implicit
        stock |= named - implicit
    module.install(
        sorted(
            name
            for name in npu | cpu
            if (name in cpu or name in explicit)
            and not _kept(name)
            and name not in composed
            and name not in stock
        )
    )
    for names, key, source in (
        (composed, "PrivateUse1", "CompositeImplicitAutograd"),
        (composed - autograd_npu, "AutogradPrivateUse1", "CompositeImplicitAutograd"),
        (stock, "PrivateUse1", "CompositeExplicitAutograd"),
        ((autograd_npu & autograd) - implicit, "AutogradPrivateUse1", "Autograd"),
        (autograd_npu & implicit, "AutogradPrivateUse1", "CompositeImplicitAutograd"),
    ):
        module.install_stock(sorted(names), key, source)
    if strict:
        for operator, (refused, fallback) in table.rows().items():
            module.refuse(operator, sorted(refused), sorted(fallback))
        for operator, limits in table.LIMITS.items():
            module.limit(operator, *limits)
        _refuse_dlpack(torch)
    return module


def _refuse_dlpack(torch: Any) -> None:
    """``from_dlpack`` is documented as not supported; no operator, so it is replaced."""
    genuine = torch.from_dlpack

    def from_dlpack(source: Any, **options: Any) -> Any:
        if isinstance(source, torch.Tensor) and source.device.type == "npu":
            raise RuntimeError("from_dlpack of npu tensors is not supported (simulated)")
        return genuine(source, **options)

    torch.from_dlpack = torch.utils.dlpack.from_dlpack = from_dlpack
