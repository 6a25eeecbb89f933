"""One call over HTTP: its tries, within its deadline."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import httpx

from .error import WeirError, date_ms, json_or_none, no_answer, not_weir, refused
from .hooks import RequestEvent, ResponseEvent, tell
from .options import CallOptions, Settings, key, timeout, tries
from .schedule import pause_ms, share_ms

_T = TypeVar("_T")

SURE_RETRIES = 2
"""What is tried again whatever the options say, because nothing else would happen in its place."""

ANSWER_BYTES_MAX = 4 * 1024 * 1024
"""The longest answer; that to a batch of 1,000 is a tenth of it."""

KEPT_CONNECTIONS_MAX = 100
"""Connections that are kept for the next request."""


@dataclass(frozen=True)
class Call(Generic[_T]):
    """What is sent."""

    path: str
    """Such as `/v1/check`."""
    body: str
    """JSON."""
    again: Literal["key", "nature", "never"]
    """Why it may be tried again: a `key` makes Weir charge it once, by `nature` the second time changes nothing, `never` says
    that it may not."""
    read: Callable[[object], _T | None]
    """The answer in a value; None for what is not one of Weir's."""


@dataclass(frozen=True)
class Answered(Generic[_T]):
    """An answer."""

    value: _T
    headers: Mapping[str, str]

    @property
    def date_ms(self) -> float | None:
        """Weir's clock when the answer was given, in epoch milliseconds."""
        return date_ms(self.headers.get("date"))


@dataclass(frozen=True)
class Connection:
    """What a call goes over."""

    settings: Settings
    http: httpx.AsyncClient


def connect(settings: Settings, transport: httpx.AsyncBaseTransport | None) -> Connection:
    """A connection that nothing has been sent over."""
    # Deadlines are those of a whole call, and hold whatever the parts of it take.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS_MAX)
    http = httpx.AsyncClient(transport=transport, timeout=None, limits=limits, follow_redirects=False)
    return Connection(settings, http)


async def send(over: Connection, call: Call[_T], options: CallOptions = CallOptions()) -> Answered[_T]:
    """Sends a call until it is answered. Raises a `WeirError`."""
    settings = over.settings
    may_take_ms = timeout(settings.timeout_ms if options.timeout_ms is None else options.timeout_ms)
    deadline = time.monotonic() + may_take_ms / 1_000
    more = _retries(settings, call, options)
    idempotency_key = _key(call, options, more)
    failed = 0
    while True:
        left_ms = (deadline - time.monotonic()) * 1_000
        outcome = await _attempt(over, call, idempotency_key, share_ms(left_ms, more - failed), failed + 1)
        if not isinstance(outcome, WeirError):
            return outcome
        failed += 1
        pause = pause_ms(failed, outcome.retry_after_ms, random.random()) / 1_000
        in_time = time.monotonic() + pause < deadline
        if not outcome.unreachable or failed > more or not in_time:
            raise outcome
        await asyncio.sleep(pause)


def _retries(settings: Settings, call: Call[_T], options: CallOptions) -> int:
    if call.again == "never":
        return 0
    wanted = tries(settings.retries if options.retries is None else options.retries)
    return max(wanted, SURE_RETRIES) if call.again == "nature" else wanted


def _key(call: Call[_T], options: CallOptions, more: int) -> str | None:
    if call.again != "key":
        return None
    if options.idempotency_key is not None:
        return key(options.idempotency_key)
    return secrets.token_hex(16) if more > 0 else None


async def _attempt(
    over: Connection, call: Call[_T], idempotency_key: str | None, may_take_ms: float, number: int
) -> Answered[_T] | WeirError:
    """One try: an answer, or what went wrong."""
    headers = {"content-type": "application/json"}
    if idempotency_key is not None:
        headers["idempotency-key"] = idempotency_key
    on = over.settings.on
    request = RequestEvent(call.path, number, headers, call.body)
    tell(on.request, request)
    start = time.monotonic()
    status, outcome = await _exchange(over, call, request, may_take_ms)
    error = outcome if isinstance(outcome, WeirError) else None
    tell(on.response, ResponseEvent(request, status, (time.monotonic() - start) * 1_000, error))
    return outcome


async def _exchange(
    over: Connection, call: Call[_T], request: RequestEvent, may_take_ms: float
) -> tuple[int, Answered[_T] | WeirError]:
    try:
        response, text = await asyncio.wait_for(_post(over, request), may_take_ms / 1_000)
    except asyncio.TimeoutError:
        return 0, no_answer(None)
    except Exception as cause:
        # Whatever it is: a closed client and a field that cannot be sent are no answers, either, and nobody waits for ever.
        return 0, no_answer(cause)
    return response.status_code, _read(call, response, text)


async def _post(over: Connection, request: RequestEvent) -> tuple[httpx.Response, str]:
    # Two lists, as a hook may have named the token's field otherwise.
    headers = [(name, value) for name, value in request.headers.items() if name.lower() != "authorization"]
    headers.append(("authorization", f"Bearer {over.settings.token}"))
    url = over.settings.base.join(request.path.removeprefix("/"))
    body = request.body.encode()
    parts: list[bytes] = []
    async with over.http.stream("POST", url, content=body, headers=headers) as response:
        async for part in response.aiter_bytes():
            parts.append(part)
            if sum(map(len, parts)) > ANSWER_BYTES_MAX:
                raise ValueError(f"the answer is longer than {ANSWER_BYTES_MAX} bytes")
    return response, b"".join(parts).decode(errors="replace")


def _read(call: Call[_T], response: httpx.Response, text: str) -> Answered[_T] | WeirError:
    if not response.is_success:
        return refused(response.status_code, response.headers, text, time.time() * 1_000)
    value = call.read(json_or_none(text))
    return not_weir(response.status_code, text) if value is None else Answered(value, response.headers)
