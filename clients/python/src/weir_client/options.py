"""How a client is set up, each value checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import httpx

from .hooks import Hooks

Fail = Literal["open", "closed"]
"""What a check is answered with while Weir is out of reach: `open` lets pass, `closed` denies."""

TIMEOUT_MS = 2_000
TIMEOUT_MS_MAX = 2**31 - 1
RETRIES_MAX = 10
BATCH_MS_MAX = 10_000
KEY_BYTES_MAX = 128
UNITS_MAX = 2**53 - 1


@dataclass(frozen=True)
class Settings:
    """The options of a client, checked and complete."""

    base: httpx.URL
    token: str
    fail: Fail
    timeout_ms: int
    retries: int
    batch_ms: int | None
    on: Hooks


@dataclass(frozen=True)
class CallOptions:
    """What one call may say otherwise; None for what the client says."""

    timeout_ms: int | None = None
    retries: int | None = None
    idempotency_key: str | None = None

    @property
    def are_none(self) -> bool:
        """Whether the call says nothing."""
        return self == CallOptions()


def settings(
    url: str,
    token: str,
    fail: Fail,
    timeout_ms: int,
    retries: int,
    batch_ms: int | None,
    on: Hooks,
) -> Settings:
    """Checks the options; raises a `ValueError` that names the one at fault."""
    # Visible ASCII is all that a header field takes: another token would be an error of each call.
    if not token or not all("!" <= one <= "~" for one in token):
        raise ValueError("token: a text of visible ASCII is needed")
    if fail not in ("open", "closed"):
        raise ValueError('fail: "open" or "closed" is needed')
    if batch_ms is not None:
        whole("batch_ms", batch_ms, 0, BATCH_MS_MAX)
    timeout(timeout_ms)
    tries(retries)
    return Settings(_base(url), token, fail, timeout_ms, retries, batch_ms, on)


def timeout(ms: int) -> int:
    """A checked time-out of a call."""
    return whole("timeout_ms", ms, 1, TIMEOUT_MS_MAX)


def tries(count: int) -> int:
    """A checked number of retries."""
    return whole("retries", count, 0, RETRIES_MAX)


def key(text: str) -> str:
    """A checked idempotency key."""
    if 0 < len(text) <= KEY_BYTES_MAX and all(" " <= one <= "~" for one in text):
        return text
    raise ValueError(f"idempotency_key: 1 to {KEY_BYTES_MAX} characters of printable ASCII are needed")


def whole(name: str, value: int, least: int, most: int) -> int:
    """A whole number between two bounds, both included.

    >>> whole("retries", 3, 0, 10)
    3
    """
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise ValueError(f"{name}: a whole number from {least} to {most} is needed, not {value!r}")


def _base(url: str) -> httpx.URL:
    try:
        base = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise ValueError(f"url: {error}") from error
    if base.scheme not in ("https", "http") or not base.host:
        raise ValueError("url: https: or http: and a host are needed")
    # A name and a password would be sent in the token's place.
    if base.userinfo:
        raise ValueError("url: neither a name nor a password may be in it")
    return base.copy_with(path=base.path.rstrip("/") + "/", query=None, fragment=None)
