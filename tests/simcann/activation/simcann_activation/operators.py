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

    importlib.import_module("torch_npu")
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
    if os.environ.get("SIMCANN_STRICT", "1") != "0":
        from simcann_activation import table

        for operator, (refused, fallback) in table.rows().items():
            module.refuse(operator, sorted(refused), sorted(fallback))
    return module
