"""The client for asyncio."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any
from urllib.parse import quote

import httpx

from .answer import Decision, Place, Settled, SlotState, read
from .batch import BATCH, check_call, decide, with_headers
from .coalescer import Coalescer, Waiting
from .error import WeirError
from .hooks import Hooks
from .options import TIMEOUT_MS, CallOptions, Fail, settings
from .question import PlaceQuestion, Question, ReportedOutcome, SlotQuestion, guard_of, units_of
from .reservation import AsyncReservation
from .slot import AsyncSlot, Keeping
from .transport import Answered, Call, connect, send
from .unreachable import unreachable_decision, unreachable_place


class AsyncWeir:
    """Asks Weir. One client serves a whole event loop; it keeps nothing but its options, its connections and, with `batch_ms`,
    the checks that wait.

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
        """`url`: where Weir is, such as `https://weir.example.com`. `token`: one of the role service, or of one tenant.
        `fail`: what a check is answered with while Weir is out of reach; there is no default. `timeout_ms`: how long a call
        may take, its retries included, 1 to 2^31-1. `retries`: how often a check is tried again, 0 to 10; above 0 every check
        carries an `Idempotency-Key`, so that it is charged once however often it is tried. `batch_ms`: how long checks are
        gathered into one request, 0 to 10,000; 0 gathers those of one turn of the loop, None sends each by itself. `on`:
        called before and after each request. `transport`: another one of `httpx`."""
        self._settings = settings(url, token, fail, timeout_ms, retries, batch_ms, on)
        self._over = connect(self._settings, transport)
        self._deciding: set[asyncio.Task[None]] = set()
        self._coalescer = None if batch_ms is None else self._gatherer(batch_ms)

    async def check(
        self,
        question: Question,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency_key: str | None = None,
    ) -> Decision:
        """Decides. A denial is an answer. With options of its own a check is never part of a batch."""
        options = CallOptions(timeout_ms, retries, idempotency_key)
        if self._coalescer is not None and options.are_none:
            return await self._coalescer.ask(text_of(question))
        return (await self._decision(question, options)).value

    async def batch(self, questions: Iterable[Question]) -> list[Decision | WeirError]:
        """Decides many in as few requests as they fit in: 1,000 and 64 KiB each. One at fault has its `WeirError` in the place
        of a decision, and harms no other."""
        gatherer = self._gatherer(0)
        asked = [gatherer.ask(text) for text in [text_of(question) for question in questions]]
        gatherer.flush()
        return [_decision_or_error(answer) for answer in await asyncio.gather(*asked, return_exceptions=True)]

    @asynccontextmanager
    async def reserve(
        self,
        question: Question,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncIterator[AsyncReservation]:
        """Charges what a block may cost at most, and settles what it did cost: to what `reservation.used(units)` said last; when
        it said nothing, in full at the end of the block and to 0 if it raised. Ask `reservation.allowed` first.

        A guard among the question's checks is renewed meanwhile and released at the end. A settlement that does not reach
        Weir leaves all charged, and is no error.
        """
        held = await self.reserved(question, CallOptions(timeout_ms, retries, idempotency_key))
        try:
            yield held
        except BaseException:
            await held.fail()
            raise
        await held.settle()

    @asynccontextmanager
    async def acquire(
        self,
        question: SlotQuestion,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncIterator[AsyncSlot]:
        """Takes a slot of a guard for a block, renews it at a third of its lease meanwhile, and gives it back. Ask
        `slot.allowed` first; `slot.lost` says when another may have it."""
        held = await self.acquired(question, CallOptions(timeout_ms, retries, idempotency_key))
        try:
            yield held
        finally:
            await held.release()

    async def place(
        self,
        question: PlaceQuestion,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency_key: str | None = None,
    ) -> Place:
        """Takes a place in the queue of a `leaky_bucket`; whoever has it waits `delay_ms` and goes on."""
        call: Call[Place] = Call("/v1/reserve", text_of(question), "key", lambda told: read(Place, told))
        try:
            return (await send(self._over, call, CallOptions(timeout_ms, retries, idempotency_key))).value
        except WeirError as error:
            return unreachable_place(self._settings.fail, _if_unreachable(error))

    async def settle(self, reservation: str, actual: int, *, timeout_ms: int | None = None) -> Settled | None:
        """Says what a reservation came to, in units; 0 releases it. None when Weir could not be told: then all stays
        charged."""
        body = text_of({"reservation": reservation, "actual": actual})
        call: Call[Settled] = Call("/v1/settle", body, "nature", lambda told: read(Settled, told))
        try:
            return (await send(self._over, call, CallOptions(timeout_ms))).value
        except WeirError as error:
            _if_unreachable(error)
            return None

    async def release(self, guard: str, slot: str, *, timeout_ms: int | None = None) -> SlotState | None:
        """Gives a slot back that a check took; again changes nothing. None when Weir could not be told: it lapses then."""
        try:
            return (await self._change(guard, "release", slot, timeout_ms)).value
        except WeirError as error:
            _if_unreachable(error)
            return None

    async def report(
        self, resource: str, tenant: str, outcome: ReportedOutcome, *, timeout_ms: int | None = None
    ) -> bool:
        """Says how a request to an overloaded resource came out. Needs the role service. False when Weir could not be told; it
        is not told again, as it might have heard it."""
        body = text_of({"resource": resource, "tenant": tenant, "outcome": outcome})
        call: Call[bool] = Call("/v1/report", body, "never", lambda told: isinstance(told, dict) or None)
        try:
            return (await send(self._over, call, CallOptions(timeout_ms))).value
        except WeirError as error:
            _if_unreachable(error)
            return False

    async def aclose(self) -> None:
        """Closes the connections. What is asked afterwards is answered by `fail`."""
        await self._over.http.aclose()

    async def __aenter__(self) -> AsyncWeir:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def reserved(self, question: Question, options: CallOptions) -> AsyncReservation:
        """A reservation that the caller settles."""
        asked: Question = {**question, "reserve": True}
        answered = await self._decision(asked, options)
        slot = self.slot_of(question, answered)
        return AsyncReservation(answered.value, units_of(question), self._settle_quietly, slot)

    async def acquired(self, question: SlotQuestion, options: CallOptions) -> AsyncSlot:
        """A slot that the caller releases."""
        return self.slot_of(question, await self._decision(question, options))

    async def held(self, question: Question) -> AsyncSlot:
        """A decision of its own request, and the slot of the guard where it names one, which the caller releases."""
        return self.slot_of(question, await self._decision(question, CallOptions()))

    def slot_of(self, question: Mapping[str, Any], answered: Answered[Decision]) -> AsyncSlot:
        """The slot that a decision took; one that keeps nothing where it took none."""
        guard = guard_of(question) or ""
        keeping = Keeping(
            renew=lambda slot, timeout_ms: self._change(guard, "renew", slot, timeout_ms),
            release=lambda slot: self.release(guard, slot),
        )
        return AsyncSlot(answered.value, answered.date_ms, keeping)

    async def _settle_quietly(self, reservation: str, actual: int) -> Settled | None:
        try:
            return await self.settle(reservation, actual)
        except WeirError:
            # A reservation that is not known, or whose time is over, stays charged as well.
            return None

    async def _decision(self, question: Mapping[str, Any], options: CallOptions) -> Answered[Decision]:
        try:
            answered = await send(self._over, check_call(text_of(question)), options)
        except WeirError as error:
            cause, now_ms = _if_unreachable(error), round(time.time() * 1_000)
            return Answered(unreachable_decision(self._settings.fail, cause, now_ms), {})
        return Answered(with_headers(answered), answered.headers)

    def _change(
        self, guard: str, what: str, slot: str, timeout_ms: int | None
    ) -> Coroutine[Any, Any, Answered[SlotState]]:
        path = f"/v1/guards/{quote(guard, safe='')}/{what}"
        call: Call[SlotState] = Call(path, text_of({"slot": slot}), "nature", lambda told: read(SlotState, told))
        return send(self._over, call, CallOptions(timeout_ms))

    def _gatherer(self, within_ms: int) -> Coalescer[Decision]:
        return Coalescer(within_ms, BATCH, self._decide)

    def _decide(self, batch: list[Waiting[Decision]]) -> None:
        # A loop forgets a task that nobody else knows.
        task = asyncio.get_running_loop().create_task(decide(self._over, batch))
        self._deciding.add(task)
        task.add_done_callback(self._deciding.discard)


def text_of(value: Mapping[str, Any]) -> str:
    """JSON. Raises a `ValueError` for what JSON or UTF-8 has no word for, and a `TypeError` for what is no value of it."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    text.encode()
    return text


def _if_unreachable(error: WeirError) -> WeirError:
    """The error that `fail` answers; one of the request itself is raised on."""
    if error.unreachable:
        return error
    raise error


def _decision_or_error(answer: Decision | BaseException) -> Decision | WeirError:
    if isinstance(answer, BaseException) and not isinstance(answer, WeirError):
        raise answer
    return answer
