"""A slot that is kept for longer than its lease, given back, and lost."""

import asyncio

from client import TENANT, client, tell

from weir_client import Hooks

LONG_S = 8
"""Longer than the lease of six seconds."""

QUESTION = {"tenant": TENANT, "guard": "calls"}


async def main():
    paths = []
    weir = client(on=Hooks(response=lambda event: paths.append(f"{event.request.path} {event.status}")))
    told = {}

    async def other():
        async with weir.acquire(QUESTION) as slot:
            return slot.decision.reason

    async with weir.acquire(QUESTION) as slot:
        await asyncio.sleep(LONG_S)
        told["held"] = {"lost": slot.lost is not None, "other": await other()}
    told["renewals"] = paths.count("/v1/guards/calls/renew 200")
    told["released"] = paths[-1]

    try:
        async with weir.acquire(QUESTION):
            raise ValueError("inside")
    except ValueError as error:
        told["thrown"] = str(error)

    async with weir.acquire(QUESTION) as slot:
        told["block"] = [slot.decision.reason, await other()]
    told["block"].append(await other())

    async with weir.acquire(QUESTION) as slot:
        # Somebody else gives it back.
        await weir.release("calls", slot.decision.slot)
        told["lost"] = str(await asyncio.wait_for(slot.until_lost(), 20))
        paths.clear()
    told["after"] = paths
    tell(told)


asyncio.run(main())
