"""What is answered in Weir's place while it is out of reach."""

from __future__ import annotations

import math

from .answer import Decision, Place
from .error import WeirError
from .options import Fail

RETRY_MS = 1_000
"""Milliseconds after which to ask again, where a denial has to say something."""


def unreachable_decision(fail: Fail, cause: WeirError, now_ms: int) -> Decision:
    """The decision of `fail`."""
    allowed = fail == "open"
    retry_ms = _retry_ms(allowed, cause)
    return Decision(
        allowed=allowed,
        reason="unreachable",
        limit=0,
        remaining=0,
        reset_at=now_ms + retry_ms,
        retry_after_ms=retry_ms,
        binding="",
        region="",
        window=None,
        policy_revision=0,
        cause=cause,
    )


def unreachable_place(fail: Fail, cause: WeirError) -> Place:
    """The place of `fail`: `open` lets go on at once."""
    accepted = fail == "open"
    return Place(accepted, 0, _retry_ms(accepted, cause), cause=cause)


def _retry_ms(allowed: bool, cause: WeirError) -> int:
    if allowed:
        return 0
    return RETRY_MS if cause.retry_after_ms is None else math.ceil(cause.retry_after_ms)
