"""The client for threads: that for asyncio on an event loop of its own, so that both keep one set of promises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType

import httpx

from .aio import AsyncWeir
from .answer import Decision, Place, Settled, SlotState
from .background import Background
from .error import SlotLost, WeirError
from .hooks import Hooks
from .options import TIMEOUT_MS, CallOptions, Fail
from .question import PlaceQuestion, Question, ReportedOutcome, SlotQuestion
from .reservation import AsyncReservation
from .slot import AsyncSlot


class Slot:
    """A slot that is renewed at a third of its lease until the block ends. It is lost when Weir refuses to renew it, or when its
    lease passes while Weir is out of reach. What it guards should stop then, for another may have the slot."""

    decision: Decision
    """The decision."""

    def __init__(self, held: AsyncSlot | AsyncReservation, background: Background[AsyncWeir]) -> None:
        self.decision = held.decision
        self._held = held
        self._background = background

    @property
    def allowed(self) -> bool:
        """Whether the request may pass."""
        return self.decision.allowed

    @property
    def lost(self) -> SlotLost | None:
        """Why the slot is lost; None while it is not, and where there is none."""
        return self._held.lost

    def until_lost(self) -> SlotLost:
        """Waits until the slot is lost, and says why; for ever where it never is."""
        return self._background.run(lambda _: self._held.until_lost())


class Reservation(Slot):
    """A reservation, settled at the end of its block: to what `used` said last. When `used` was never called: in full at the end
    of the block, to 0 where the block raised."""

    def __init__(self, held: AsyncReservation, background: Background[AsyncWeir]) -> None:
        super().__init__(held, background)
        self._reservation = held

    def used(self, units: int) -> None:
        """Says what was used, in units: 0 to 2^53-1. The last word counts. More than was reserved is charged as debt."""
        self._reservation.used(units)


class Weir:
    """Asks Weir. One client serves a whole process and all of its threads; a forked process connects anew.

    Each call raises a `WeirError` when the request itself is at fault (a name that the policy does not have, a token that is
    not valid), and never because Weir is out of reach: `fail` decides then.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        fail: Fail,
        timeout_ms: int = TIMEOUT_MS,
        retries: int = 0,
        batch_ms: int | None = None,
        on: Hooks = Hooks(),
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """The options of `AsyncWeir`. Hooks are called in the client's own thread, in the context of who asked."""

        def make() -> AsyncWeir:
            return AsyncWeir(
                url,
                token,
                fail=fail,
                timeout_ms=timeout_ms,
                retries=retries,
                batch_ms=batch_ms,
                on=on,
                transport=transport,
            )

        self._background = Background(make, AsyncWeir.aclose)

    def check(
        self,
        question: Question,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency_key: str | None = None,
    ) -> Decision:
        """Decides. A denial is an answer. With options of its own a check is never part of a batch."""
        return self._background.run(
            lambda weir: weir.check(
                question, timeout_ms=timeout_ms, retries=retries, idempotency_key=idempotency_key
            )
        )

    def batch(self, questions: Iterable[Question]) -> list[Decision | WeirError]:
        """Decides many in as few requests as they fit in: 1,000 and 64 KiB each. One at fault has its `WeirError` in the place
        of a decision, and harms no other."""
        asked = list(questions)
        return self._background.run(lambda weir: weir.batch(asked))

    @contextmanager
    def reserve(
        self,
        question: Question,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency_key: str | None = None,
    ) -> Iterator[Reservation]:
        """Charges what a block may cost at most, and settles what it did cost: to what `reservation.used(units)` said last; when
        it said nothing, in full at the end of the block and to 0 if it raised. Ask `reservation.allowed` first.

        A guard among the question's checks is renewed meanwhile and released at the end. A settlement that does not reach
        Weir leaves all charged, and is no error.
        """
        options = CallOptions(timeout_ms, retries, idempotency_key)
        held = self._background.run(lambda weir: weir.reserved(question, options))
        try:
            yield Reservation(held, self._background)
        except BaseException:
            self._background.run(lambda _: held.fail())
            raise
        self._background.run(lambda _: held.settle())

    @contextmanager
    def acquire(
        self,
        question: SlotQuestion,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency_key: str | None = None,
    ) -> Iterator[Slot]:
        """Takes a slot of a guard for a block, renews it at a third of its lease meanwhile, and gives it back. Ask
        `slot.allowed` first; `slot.lost` says when another may have it."""
        options = CallOptions(timeout_ms, retries, idempotency_key)
        held = self._background.run(lambda weir: weir.acquired(question, options))
        try:
            yield Slot(held, self._background)
        finally:
            self._background.run(lambda _: held.release())

    def place(
        self,
        question: PlaceQuestion,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency_key: str | None = None,
    ) -> Place:
        """Takes a place in the queue of a `leaky_bucket`; whoever has it waits `delay_ms` and goes on."""
        return self._background.run(
            lambda weir: weir.place(
                question, timeout_ms=timeout_ms, retries=retries, idempotency_key=idempotency_key
            )
        )

    def settle(self, reservation: str, actual: int, *, timeout_ms: int | None = None) -> Settled | None:
        """Says what a reservation came to, in units; 0 releases it. None when Weir could not be told: then all stays
        charged."""
        return self._background.run(lambda weir: weir.settle(reservation, actual, timeout_ms=timeout_ms))

    def release(self, guard: str, slot: str, *, timeout_ms: int | None = None) -> SlotState | None:
        """Gives a slot back that a check took; again changes nothing. None when Weir could not be told: it lapses then."""
        return self._background.run(lambda weir: weir.release(guard, slot, timeout_ms=timeout_ms))

    def report(
        self, resource: str, tenant: str, outcome: ReportedOutcome, *, timeout_ms: int | None = None
    ) -> bool:
        """Says how a request to an overloaded resource came out. Needs the role service. False when Weir could not be told; it
        is not told again, as it might have heard it."""
        return self._background.run(lambda weir: weir.report(resource, tenant, outcome, timeout_ms=timeout_ms))

    def close(self) -> None:
        """Closes the connections and ends the thread. What is asked afterwards begins anew."""
        self._background.close()

    def __enter__(self) -> Weir:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
