"""A middleware for applications that speak ASGI: Starlette, FastAPI, Django, Quart, Litestar."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from .aio import AsyncWeir
from .answer import Decision
from .question import Question

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Asks = Callable[[Scope], "Question | None | Awaitable[Question | None]"]
"""What a request asks of Weir, by its head alone: who it is for, what it charges, how much. None lets it pass unasked."""

_NO_CAPACITY = frozenset({"overloaded", "unavailable", "unreachable"})
"""Denials that say nothing of the tenant."""

_DRAFT = "https://iana.org/assignments/http-problem-types#"


class WeirMiddleware:
    """Asks Weir before the application sees a request. A denial is 429 with `Retry-After`, or 503 where nobody has capacity, as
    a problem (RFC 9457); every answer carries the rate-limit fields of Weir's. A guard's slot is kept until the answer is
    complete. The decision is in `scope["weir"]`. The body is never read. What is no HTTP request passes."""

    def __init__(self, app: App, weir: AsyncWeir, asks: Asks) -> None:
        self._app = app
        self._weir = weir
        self._asks = asks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        question = await self._question(scope) if scope["type"] == "http" else None
        if question is None:
            return await self._app(scope, receive, send)
        slot = await self._weir.held(question)
        decision = slot.decision
        if not decision.allowed:
            return await _deny(decision, send)
        scope["weir"] = decision
        try:
            await self._app(scope, receive, _with_fields(decision, send))
        finally:
            await slot.release()

    async def _question(self, scope: Scope) -> Question | None:
        asked = self._asks(scope)
        return await asked if inspect.isawaitable(asked) else asked


def _with_fields(decision: Decision, send: Send) -> Send:
    fields = _fields(decision)
    names = {name for name, _ in fields}

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            # Of two words on one limit, Weir's is the true one.
            kept = [(name, value) for name, value in message.get("headers", ()) if name.lower() not in names]
            message = {**message, "headers": [*kept, *fields]}
        await send(message)

    return sent


async def _deny(decision: Decision, send: Send) -> None:
    status, body = problem(decision)
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", b"%d" % len(body))]
    after_s = retry_after_s(decision.retry_after_ms)
    if after_s is not None:
        headers.append((b"retry-after", b"%d" % after_s))
    await send({"type": "http.response.start", "status": status, "headers": headers + _fields(decision)})
    await send({"type": "http.response.body", "body": body})


def _fields(decision: Decision) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in decision.headers.items()]


def retry_after_s(after_ms: int | None) -> int | None:
    """Seconds of a `Retry-After`: never 0, which would invite a request that is denied again; None for never.

    >>> retry_after_s(1_200), retry_after_s(0), retry_after_s(None)
    (2, 1, None)
    """
    return None if after_ms is None else max(1, -(-after_ms // 1_000))


def problem(decision: Decision) -> tuple[int, bytes]:
    """The status and the problem of a denial, as Weir's gateway words them."""
    status = 503 if decision.reason in _NO_CAPACITY else 429
    kind, title = {
        429: ("quota-exceeded", "Request cannot be satisfied as assigned quota has been exceeded"),
        503: ("temporary-reduced-capacity", "Request cannot be satisfied due to temporary server capacity constraints"),
    }[status]
    told: dict[str, object] = {
        "type": _DRAFT + kind,
        "title": title,
        "status": status,
        "detail": _detail(decision),
        "retry_after_ms": decision.retry_after_ms,
    }
    if decision.binding:
        told["violated-policies"] = [decision.binding]
    if decision.decision:
        told["decision"] = decision.decision
    return status, json.dumps(told).encode()


def _detail(decision: Decision) -> str:
    name = decision.binding
    details = {
        "over_share": f"The tenant has used its share of {name}.",
        "cap_reached": f"{name} is used up until its window ends.",
        "concurrency": f"As many calls of {name} are running as may.",
        "overloaded": f"{name} has no capacity left for the tenant now.",
        "unavailable": f"{name} cannot be decided now.",
        "unreachable": "Whether the request may pass cannot be decided now.",
        "never": f"The request costs more than {name} ever admits.",
    }
    return details.get(decision.reason, f"{name} is exceeded.")
