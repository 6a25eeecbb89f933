"""Reservations, settled when their block ends, however it ends."""

import asyncio
import json

from client import TENANT, client, left, settled_left, taken, tell

from weir_client import Hooks

settled = []


def note(event):
    """Notes what a settlement says."""
    if event.path == "/v1/settle":
        settled.append(json.loads(event.body)["actual"])


weir = client(on=Hooks(request=note))
QUESTION = {"tenant": TENANT, "budget": "tokens", "cost": 100}


async def scope(due, run, question=QUESTION):
    """Runs one, after which so many units are left, and tells what it came to."""
    told = {}
    try:
        async with weir.reserve(question) as reservation:
            told["allowed"] = reservation.allowed
            if reservation.allowed:
                told["value"] = await run(reservation)
    except ValueError as error:
        told["thrown"] = str(error)
    return {**told, "settled": taken(settled), "left": await settled_left(weir, due)}


async def used(reservation):
    reservation.used(10)
    reservation.used(30)
    return "answer"


async def silent(_):
    return "answer"


async def threw(_):
    raise ValueError("before a word")


async def threw_late(reservation):
    reservation.used(20)
    raise ValueError("after a word")


async def beyond(reservation):
    reservation.used(150)


async def several(reservation):
    other = await weir.check({"tenant": TENANT, "guard": "calls"})
    reservation.used(50)
    return other.reason


async def left_block():
    """A block that is left in its middle has ended well."""
    async with weir.reserve(QUESTION) as reservation:
        reservation.used(40)
        return reservation.allowed


async def cancelled():
    """A task that is cancelled in its block settles all the same, to what it said."""
    before, begun = await left(weir), asyncio.Event()

    async def run():
        async with weir.reserve(QUESTION) as reservation:
            reservation.used(1)
            begun.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(run())
    await begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    # Somebody in a hurry cancels again, while the settlement is on its way.
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    # It goes on by itself.
    while await left(weir) == before - 100:
        await asyncio.sleep(0.01)
    return taken(settled)


async def main():
    told = {
        "used": await scope(970, used),
        "silent": await scope(870, silent),
        "threw": await scope(870, threw),
        "threwLate": await scope(850, threw_late),
        "beyond": await scope(700, beyond),
        "denied": await scope(700, threw, {**QUESTION, "cost": 5_000}),
    }
    checks = [{"budget": "tokens", "cost": 100}, {"limit": "per_ip", "key": "k"}, {"guard": "calls"}]
    told["several"] = await scope(650, several, {"tenant": TENANT, "checks": checks})
    async with weir.acquire({"tenant": TENANT, "guard": "calls"}) as slot:
        told["free"] = "mine" if slot.allowed else slot.decision.reason
    told["block"] = await left_block()
    told["blockSettled"] = taken(settled)
    told["left"] = await settled_left(weir, 610)
    told["cancelled"] = await cancelled()
    tell(told)


asyncio.run(main())
