"""What was charged before it is known what it costs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from .answer import Decision, Settled
from .error import SlotLost
from .options import UNITS_MAX, whole
from .slot import AsyncSlot

Settle = Callable[[str, int], Awaitable[Settled | None]]
"""How a reservation is settled; None when Weir could not be told."""


class AsyncReservation:
    """A reservation, to be settled at the end of its scope: to what `used` said last. When `used` was never called: in full at
    the end of a block, to 0 where the block raised."""

    decision: Decision
    """The decision."""

    def __init__(self, decision: Decision, units: int, settle: Settle, slot: AsyncSlot) -> None:
        """`units` is what a settlement in full names."""
        self.decision = decision
        self._units = units
        self._settle = settle
        self._slot = slot
        self._used: int | None = None
        self._settled: asyncio.Task[Settled | None] | None = None

    @property
    def allowed(self) -> bool:
        """Whether the request may pass."""
        return self.decision.allowed

    @property
    def lost(self) -> SlotLost | None:
        """Why the slot of a guard that the question named is lost; None while it is not, and where it named none."""
        return self._slot.lost

    async def until_lost(self) -> SlotLost:
        """Waits until that slot is lost, and says why; for ever where it never is."""
        return await self._slot.until_lost()

    def used(self, units: int) -> None:
        """Says what was used, in units: 0 to 2^53-1. The last word counts. More than was reserved is charged as debt."""
        self._used = whole("units", units, 0, UNITS_MAX)

    async def settle(self) -> Settled | None:
        """Settles now, and releases the slot where there is one; a second call changes nothing. None when there was nothing to
        settle, or when Weir could not be told: then all stays charged."""
        return await self._once(self._units)

    async def fail(self) -> Settled | None:
        """The end of a scope that raised: what was said, else 0."""
        return await self._once(0)

    async def _once(self, otherwise: int) -> Settled | None:
        if self._settled is None:
            actual = otherwise if self._used is None else self._used
            self._settled = asyncio.create_task(self._end(actual))
        # What is cancelled settles all the same.
        return await asyncio.shield(self._settled)

    async def _end(self, actual: int) -> Settled | None:
        reservation = self.decision.reservation
        releasing = asyncio.create_task(self._slot.release())
        settled = None if reservation is None else await self._settle(reservation, actual)
        await releasing
        return settled
