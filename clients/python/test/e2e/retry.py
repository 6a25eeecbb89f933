"""A check whose first answer is lost on its way."""

import asyncio
import time

from client import TENANT, client, left, taken, tell

from weir_client import Hooks


async def main():
    tries, sent = [], []
    on = Hooks(
        request=lambda _: sent.append(time.monotonic() * 1_000),
        response=lambda event: tries.append(
            {"path": event.request.path, "attempt": event.request.attempt, "status": event.status}
        ),
    )
    weir = client(on=on)
    question = {"tenant": TENANT, "budget": "tokens", "cost": 30}
    told = {}

    decision = await weir.check(question, retries=2)
    told["check"] = {"allowed": decision.allowed, "remaining": decision.remaining}
    told["tries"] = taken(tries)
    told["apart_ms"] = sent[1] - sent[0]
    told["left"] = await left(weir)
    tries.clear()

    once = await weir.check(question)
    told["once"] = {"allowed": once.allowed, "reason": once.reason}
    told["onceTries"] = taken(tries)
    told["end"] = await left(weir)
    tell(told)


asyncio.run(main())
