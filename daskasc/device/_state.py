"""The card that this process owns.

A worker process attaches once, before its first task. A process without a card (a client, the
threaded scheduler) computes with torch on the host through an unattached backend; results of such
a process are ordinary host memory and are not accounted.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable

from daskasc.device._backend import Backend
from daskasc.device._discovery import resolve
from daskasc.errors import DeviceError

# looked up by name, so that torch_npu is named in one module, imported where it is used
_MODULES = {
    "npu": "daskasc.device._npu",
    "cuda": "daskasc.device._cuda",
    "cpu": "daskasc.device._cpu",
}

_lock = threading.RLock()
_attached: Backend | None = None
_host: Backend | None = None
_listeners: list[Callable[[], None]] = []


def _make(kind: str, card: int | None, memory_limit: int | None, threads: int | None) -> Backend:
    make: Callable[..., Backend] = importlib.import_module(_MODULES[kind]).make
    return make(card, memory_limit=memory_limit, threads=threads)


def attach(
    kind: str, card: int, memory_limit: int | None = None, threads: int | None = None
) -> Backend:
    """Make this process the owner of logical card `card`.

    Parameters
    ----------
    kind : {"auto", "npu", "cuda", "cpu"}
        Kind of the card; the process sees exactly one (see :func:`visibility_env`), index 0.
    card : int
        Number of the card in the cluster; it is a name, not a device index.
    memory_limit : int, optional
        Bytes reported as the card's capacity, at most its real one.
    threads : int, optional
        Threads that torch uses for one operator on the host.

    Raises
    ------
    DeviceError
        The process owns another card already.
    DeviceUnavailableError
        The card or its software cannot be used; the process stays unattached.
    """
    global _attached
    kind = resolve(kind)
    with _lock:
        if _attached is not None:
            if (_attached.kind, _attached.card) == (kind, card):
                return _attached
            raise DeviceError(
                f"this process owns {_attached.kind} card {_attached.card} and cannot take "
                f"{kind} card {card}; use one process a card"
            )
        _attached = _make(kind, card, memory_limit, threads)
        _changed()
        return _attached


def detach() -> None:
    """Give the card up (for tests). Arrays that live on it stay usable."""
    global _attached
    with _lock:
        _attached = None
        _changed()


def attached() -> Backend | None:
    """Return the backend of this process's card, or None."""
    return _attached


def has_card() -> bool:
    """Whether this process owns a card. Imports nothing."""
    return _attached is not None


def current() -> Backend:
    """Backend of this process's card, or the unattached host backend."""
    global _host
    backend = _attached or _host
    if backend is None:
        with _lock:
            if _host is None:
                _host = _make("cpu", None, None, None)
            backend = _host
    return backend


def on_change(listener: Callable[[], None]) -> Callable[[], None]:
    """Call `listener` after each attach and detach; returns a function that stops it.

    For tables built for one kind of card. Listeners run under the lock of this module.
    """
    with _lock:
        _listeners.append(listener)

    def stop() -> None:
        with _lock, contextlib.suppress(ValueError):
            _listeners.remove(listener)

    return stop


def _changed() -> None:
    for listener in _listeners:
        listener()
