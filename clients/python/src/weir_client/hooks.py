"""What an application hears of each request: for traces, logs and metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from .error import WeirError


@dataclass(frozen=True)
class RequestEvent:
    """A request that is about to leave."""

    path: str
    """Where to, such as `/v1/check`."""
    attempt: int
    """Which try it is, from 1."""
    headers: dict[str, str]
    """What it is sent with, the token left out. What is added here is sent, too: `headers["traceparent"] = ...`."""
    body: str
    """The body: JSON."""


@dataclass(frozen=True)
class ResponseEvent:
    """What came of it."""

    request: RequestEvent
    """The request, the same object that `request` was given."""
    status: int
    """The HTTP status; 0 when there was no answer."""
    duration_ms: float
    """How long it took, in milliseconds."""
    error: WeirError | None = None
    """What went wrong, if anything. A denial is no error."""


@dataclass(frozen=True)
class Hooks:
    """The hooks. They are called in place: slow ones slow the request. What they raise is dropped."""

    request: Callable[[RequestEvent], object] | None = None
    response: Callable[[ResponseEvent], object] | None = None


_E = TypeVar("_E")


def tell(hook: Callable[[_E], object] | None, event: _E) -> None:
    """Calls a hook; an observer never breaks what it observes."""
    try:
        if hook is not None:
            hook(event)
    except Exception:
        # Nobody to tell.
        pass
