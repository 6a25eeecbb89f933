"""An event loop in a thread of its own, for callers that have none."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

_C = TypeVar("_C")
_T = TypeVar("_T")


class Background(Generic[_C]):
    """Something that lives on an event loop, and the thread that runs the loop: both begin with the first call, and again in a
    forked process, as neither a thread nor its connections are its own."""

    def __init__(
        self, make: Callable[[], _C], close: Callable[[_C], Coroutine[Any, Any, object]]
    ) -> None:
        # Once here, so that options at fault are told where they are written.
        self._made: _C | None = make()
        self._make = make
        self._close = close
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        _ALL.add(self)

    def run(self, call: Callable[[_C], Coroutine[Any, Any, _T]]) -> _T:
        """Runs a call on the loop, and waits for what comes of it. A call that is given up, by Ctrl-C, is cancelled."""
        loop, made = self._started()
        running = asyncio.run_coroutine_threadsafe(call(made), loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    def close(self) -> None:
        """Ends what lives on the loop, and the loop. The next call begins anew."""
        with self._lock:
            loop, made = self._loop, self._made
            self._loop, self._made = None, None
        if loop is not None and made is not None:
            asyncio.run_coroutine_threadsafe(self._close(made), loop).result()
            loop.call_soon_threadsafe(loop.stop)

    def _started(self) -> tuple[asyncio.AbstractEventLoop, _C]:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(target=_serve, args=(self._loop,), name="weir", daemon=True)
                thread.start()
            return self._loop, self._made

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._loop, self._made = None, None


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


_ALL: weakref.WeakSet[Background[Any]] = weakref.WeakSet()


def _after_fork() -> None:
    for one in list(_ALL):
        one._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
