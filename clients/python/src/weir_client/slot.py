"""A slot of a guard: one call at a time of those that a tenant may have open."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .answer import Decision, SlotState
from .error import SlotLost, WeirError
from .schedule import lease_ms, renewal_ms
from .transport import Answered


@dataclass(frozen=True)
class Keeping:
    """How a slot is kept and given back."""

    renew: Callable[[str, int], Awaitable[Answered[SlotState]]]
    """By the slot, and by how many milliseconds it may take."""
    release: Callable[[str], Awaitable[object]]


class AsyncSlot:
    """A slot that is renewed at a third of its lease until it is released. It is lost when Weir refuses to renew it, or when
    its lease passes while Weir is out of reach. What it guards should stop then, for another may have the slot."""

    decision: Decision
    """The decision."""

    def __init__(self, decision: Decision, date_ms: float | None, keeping: Keeping) -> None:
        """`date_ms` is Weir's clock at the decision."""
        self.decision = decision
        self._keeping = keeping
        self._lost: asyncio.Future[SlotLost] = asyncio.get_running_loop().create_future()
        self._released: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._ends_at = math.inf
        if decision.slot is not None:
            every_s = self._extend(decision.expires_at, date_ms)
            self._renewing = asyncio.create_task(self._renew(decision.slot, every_s))

    @property
    def allowed(self) -> bool:
        """Whether the request may pass."""
        return self.decision.allowed

    @property
    def lost(self) -> SlotLost | None:
        """Why the slot is lost; None while it is not."""
        return self._lost.result() if self._lost.done() else None

    async def until_lost(self) -> SlotLost:
        """Waits until the slot is lost, and says why; for ever where it never is."""
        return await asyncio.shield(self._lost)

    async def release(self) -> None:
        """Gives the slot back; a second call changes nothing. Where Weir cannot be told, the slot lapses with its lease."""
        if self._released is None:
            self._released = asyncio.create_task(self._release())
        # What is cancelled gives its slot back all the same.
        await asyncio.shield(self._released)

    async def _release(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
        # What is lost is not ours to give back.
        if self.decision.slot is None or self._lost.done():
            return
        try:
            await self._keeping.release(self.decision.slot)
        except WeirError:
            # It is gone at the end of its lease in any case.
            pass

    def _extend(self, expires_at: int | None, date_ms: float | None) -> float:
        """Notes when the lease ends; answers after how many seconds it is to be renewed."""
        now_ms = time.time() * 1_000
        lease = lease_ms(now_ms if expires_at is None else expires_at, date_ms, now_ms)
        every_s = renewal_ms(lease) / 1_000
        self._ends_at = time.monotonic() + 3 * every_s
        return every_s

    @property
    def _left_s(self) -> float:
        return max(0.0, self._ends_at - time.monotonic())

    async def _renew(self, slot: str, every_s: float) -> None:
        wait_s = every_s
        while not self._lost.done():
            await asyncio.sleep(wait_s)
            try:
                may_take_ms = max(1, math.floor(self._left_s * 1_000))
                answered = await self._keeping.renew(slot, may_take_ms)
            except WeirError as error:
                self._missed(error)
                wait_s = min(every_s, self._left_s)
            else:
                if answered.value.held:
                    wait_s = every_s = self._extend(answered.value.expires_at, answered.date_ms)
                else:
                    self._lose("The slot had lapsed.")

    def _missed(self, error: WeirError) -> None:
        if not error.unreachable:
            self._lose("The slot was not renewed.", error)
        elif self._left_s == 0:
            self._lose("The lease passed without an answer.", error)

    def _lose(self, why: str, cause: WeirError | None = None) -> None:
        if self._lost.done():
            return
        lost = SlotLost(why)
        lost.__cause__ = cause
        self._lost.set_result(lost)
