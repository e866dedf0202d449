"""Entry point of torch's group ``torch.backends``: runs at the end of ``import torch``.

Present on the path of a simulated process only (see ``python -m tests.simcann``). It lets the
genuine torch_npu start on the stub libraries, then puts CPU kernels behind its operators.
"""

from __future__ import annotations

from typing import Any

_active: Any = None


def activate() -> None:
    """Install the kernels, once a process."""
    global _active
    if _active is None:
        from simcann_activation import operators

        _active = operators.install()
