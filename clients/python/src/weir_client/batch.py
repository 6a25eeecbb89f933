"""Many checks in one request: `POST /v1/check/batch`."""

from __future__ import annotations

import math
import re
import time

from .answer import Decision, read
from .coalescer import Bounds, Waiting
from .error import WeirError, not_weir
from .options import CallOptions
from .transport import Answered, Call, Connection, send
from .unreachable import unreachable_decision

BATCH = Bounds(questions=1_000, bytes=64 * 1024 - 15)
"""What Weir takes of a batch: 1,000 questions, and 64 KiB with the 15 bytes around them."""

_AT = re.compile(r"/requests/(\d{1,9})(/.*)?", re.ASCII)
"""Where the question at fault is named."""


async def decide(over: Connection, batch: list[Waiting[Decision]]) -> None:
    """Decides a batch, and answers all that wait. Never raises."""
    deadline = time.monotonic() + over.settings.timeout_ms / 1_000
    waiting = batch
    # A question at fault has the batch refused, and nothing charged. It is told, and the others are asked again: at worst as
    # many requests as there are questions.
    while waiting:
        left_ms = max(1, math.floor((deadline - time.monotonic()) * 1_000))
        error = await _ask(over, waiting, CallOptions(timeout_ms=left_ms))
        if error is None:
            return
        at, field = _fault(error, len(waiting))
        if at is None:
            return _answer_all(over, waiting, error)
        waiting[at].reject(error.at(field))
        waiting = waiting[:at] + waiting[at + 1 :]


async def _ask(over: Connection, waiting: list[Waiting[Decision]], options: CallOptions) -> WeirError | None:
    """Asks, and answers all; or says why there is no answer. A question that has no company is an ordinary check."""
    try:
        if len(waiting) == 1:
            waiting[0].resolve(with_headers(await send(over, check_call(waiting[0].text), options)))
            return None
        decisions = (await send(over, _call([one.text for one in waiting]), options)).value
    except WeirError as error:
        return error
    if len(decisions) != len(waiting):
        return not_weir(200, f"{len(decisions)} decisions")
    for one, decision in zip(waiting, decisions):
        one.resolve(decision)
    return None


def check_call(body: str) -> Call[Decision]:
    """One check, which may be tried again."""
    return Call("/v1/check", body, "key", lambda told: read(Decision, told))


def with_headers(answered: Answered[Decision]) -> Decision:
    """The decision with the rate-limit fields that its answer had."""
    headers = {name: value for name, value in answered.headers.items() if _is_passed_on(name.lower())}
    # A frozen dataclass is made anew, not changed.
    return Decision(**{**vars(answered.value), "headers": headers})


def _is_passed_on(name: str) -> bool:
    return name in ("ratelimit", "ratelimit-policy", "weir-decision") or name.startswith("x-ratelimit-")


def _call(texts: list[str]) -> Call[list[Decision]]:
    return Call("/v1/check/batch", f'{{"requests":[{",".join(texts)}]}}', "never", _decisions)


def _decisions(told: object) -> list[Decision] | None:
    listed = told.get("decisions") if isinstance(told, dict) else None
    if not isinstance(listed, list):
        return None
    decisions = [read(Decision, one) for one in listed]
    known = [decision for decision in decisions if decision is not None]
    return known if len(known) == len(listed) else None


def _fault(error: WeirError, count: int) -> tuple[int | None, str | None]:
    named = None if error.unreachable else _AT.fullmatch(error.field or "")
    if named is None or int(named[1]) >= count:
        return None, None
    return int(named[1]), named[2]


def _answer_all(over: Connection, waiting: list[Waiting[Decision]], error: WeirError) -> None:
    for one in waiting:
        if error.unreachable:
            one.resolve(unreachable_decision(over.settings.fail, error, round(time.time() * 1_000)))
        else:
            one.reject(error.at(error.field))
