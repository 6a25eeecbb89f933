"""What is asked. Names are those of the HTTP interface, so that a question reads alike here, in its documentation, in a log and
in the console.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict

ReportedOutcome = Literal["success", "failure"]
"""How a request to a resource came out."""


class Item(TypedDict, total=False):
    """One thing to charge: exactly one of `budget`, `limit`, `meter`, `meters`, `guard`, `overload`."""

    budget: str
    """Units of a budget of the tenant."""
    limit: str
    """Units of a limit."""
    key: str
    """What a limit counts by: 1 to 128 bytes."""
    keys: Mapping[str, str]
    """The key of each part of a limit made of others."""
    meter: str
    """Units of a meter of the tenant."""
    meters: Mapping[str, int]
    """Units of several meters of the tenant, all or none."""
    guard: str
    """A slot of a guard of the tenant: a call at a time. `acquire` keeps and releases it."""
    overload: str
    """Whether the tenant may use an overloaded resource. `report` tells how that went."""
    cost: int
    """Units to charge: 0 to 2^53-1, 1 when absent. 0 looks without charging anything."""


class Question(Item, total=False):
    """A check of one item, or of up to 16 `checks`, all or nothing; at most one of them a guard."""

    tenant: str
    """Who asks, 1 to 128 bytes; may be absent for limits that are not per tenant."""
    reserve: bool
    """The decision names a reservation, to be settled within 15 minutes."""
    checks: Sequence[Item]
    require: Literal["all"]


class PlaceQuestion(TypedDict, total=False):
    """Asks for a place in the queue of a `leaky_bucket`."""

    tenant: str
    limit: str
    key: str
    cost: int


class SlotQuestion(TypedDict, total=False):
    """Asks for a slot of a guard."""

    tenant: str
    guard: str


def guard_of(question: Mapping[str, Any]) -> str | None:
    """The guard that a question takes a slot of.

    >>> guard_of({"checks": [{"limit": "per_ip"}, {"guard": "calls"}]})
    'calls'
    """
    return next((item["guard"] for item in _items(question) if item.get("guard") is not None), None)


def units_of(question: Mapping[str, Any]) -> int:
    """Units that a settlement in full names: the largest cost of what can be settled.

    >>> units_of({"checks": [{"budget": "tokens", "cost": 7}, {"limit": "per_ip"}, {"guard": "calls"}]})
    7
    """
    return max((cost for item in _items(question) for cost in _settled(item)), default=0)


def _items(question: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    checks: Sequence[Mapping[str, Any]] | None = question.get("checks")
    return [question] if checks is None else checks


def _settled(item: Mapping[str, Any]) -> Iterator[int]:
    if "guard" in item or "overload" in item:
        return
    if "meters" in item:
        yield from item["meters"].values()
    else:
        yield item.get("cost", 1)
