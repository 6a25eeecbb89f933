"""What is answered. Fields are named as the HTTP interface names them: one word for each thing. Times are epoch milliseconds,
durations milliseconds. What a newer Weir adds is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, TypeVar

from .error import WeirError

Reason = Literal[
    "admitted",
    "over_share",
    "cap_reached",
    "limit_exceeded",
    "concurrency",
    "overloaded",
    "unavailable",
    "never",
    "unreachable",
]
"""Why a decision came out as it did. `unreachable` is this client's own: Weir did not answer in time."""


@dataclass(frozen=True)
class Decision:
    """A decision."""

    allowed: bool
    """Whether the request may pass."""
    reason: Reason
    """Why."""
    limit: int
    """The ceiling that was compared with, in units; 0 when Weir was out of reach."""
    remaining: int
    """Units that could still be admitted now."""
    reset_at: int
    """When the state is back to full, or the window's expected end."""
    retry_after_ms: int | None
    """After how long the same request could be admitted; 0 when allowed, None when it never could."""
    binding: str
    """The name of the budget, limit, meter, guard or resource that decided; empty when Weir was out of reach."""
    region: str
    """The region that decided."""
    window: int | None
    """The label of the window that was charged; None where there is none."""
    policy_revision: int
    """The revision of the policy that was applied."""
    decision: str | None = None
    """What leads to the explanation of a denial, for whoever operates Weir."""
    reservation: str | None = None
    """What settles the charge, where that was asked for."""
    slot: str | None = None
    """What renews and releases the slot, where one was taken."""
    expires_at: int | None = None
    """When the slot lapses unless it is renewed, by Weir's clock."""
    headers: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The rate-limit fields that Weir's answer had, to be passed on; empty for a check that was part of a batch."""
    cause: WeirError | None = field(default=None, compare=False)
    """Why there was no answer, where `reason` is `unreachable`."""


@dataclass(frozen=True)
class Place:
    """A place in the queue of a `leaky_bucket`, or why there is none."""

    accepted: bool
    """Whether there is a place."""
    delay_ms: int
    """How long to wait before going on; 0 when not accepted."""
    retry_after_ms: int | None
    """After how long the same request could get a place; 0 when accepted, None for never."""
    decision: str | None = None
    """What leads to the explanation of a denial, for whoever operates Weir."""
    cause: WeirError | None = field(default=None, compare=False)
    """Why there was no answer, where Weir was out of reach."""


@dataclass(frozen=True)
class Settled:
    """What was settled, in units."""

    reserved: int
    """Units that were reserved."""
    actual: int
    """Units that were used."""
    refunded: int
    """Units that were given back."""
    debt: int
    """Units that were charged beyond what was reserved."""


@dataclass(frozen=True)
class SlotState:
    """A slot after it was renewed or released."""

    held: bool
    """Whether it is held."""
    expires_at: int | None
    """Until when, by Weir's clock; None when it is not."""


OWN = frozenset({"headers", "cause"})
"""Fields that no answer of Weir's has: this client's own."""

_A = TypeVar("_A", Decision, Place, Settled, SlotState)


def read(kind: type[_A], told: object) -> _A | None:
    """An answer of a kind; None for what is none, such as the word of something else on the way.

    >>> read(SlotState, {"held": False, "expires_at": None, "new": 1})
    SlotState(held=False, expires_at=None)
    >>> read(SlotState, {"hello": "world"}) is None
    True
    """
    if not isinstance(told, dict):
        return None
    values: dict[str, Any] = {}
    for one in fields(kind):
        if one.name in OWN:
            continue
        if one.name in told:
            values[one.name] = told[one.name]
        elif one.default is MISSING:
            return None
    answer: Any = kind(**values)
    sound = isinstance(getattr(answer, fields(kind)[0].name), bool) or kind is Settled
    return answer if sound else None
