"""Weir is killed in the middle of it all, and comes back."""

import asyncio

from client import TENANT, client, next_line, tell

OPTIONS = {"timeout_ms": 15_000, "retries": 1}
QUESTION = {"tenant": TENANT, "budget": "tokens", "cost": 5}
GUARD = {"tenant": TENANT, "guard": "calls"}


async def main():
    opened, closed = client(**OPTIONS, fail="open"), client(**OPTIONS, fail="closed")
    batching = client(**OPTIONS, fail="open", batch_ms=0)

    async def ask():
        """What each client makes of it."""
        both = await asyncio.gather(batching.check(QUESTION), batching.check(QUESTION))
        decisions = [await opened.check(QUESTION), await closed.check(QUESTION), *both]
        return [told(decision) for decision in decisions]

    def told(decision):
        fields = ("allowed", "reason", "retry_after_ms")
        cause = {} if decision.cause is None else {"cause": decision.cause.title}
        return {**{name: getattr(decision, name) for name in fields}, **cause}

    tell(await ask())

    # Checks never stop meanwhile: none of them raises, and each is answered one way or the other.
    reasons, running = set(), True
    taken, passed = asyncio.Future(), asyncio.Event()

    async def traffic():
        while running:
            decision = await closed.check({**QUESTION, "cost": 0})
            reasons.add(f"{decision.reason} {str(decision.allowed).lower()}")
            if decision.allowed:
                passed.set()
            await asyncio.sleep(0)

    async def held():
        async with opened.reserve(QUESTION) as reservation:
            # Weir dies once it is told: the slot is taken before, and a check has passed.
            assert await taken and reservation.allowed
            await passed.wait()
            tell("reserved")
            await next_line()
            reservation.used(1)
        return "kept"

    async def guarded():
        async with opened.acquire(GUARD) as slot:
            taken.set_result(slot.allowed)
            return str(await slot.until_lost())

    async def ran(scope):
        async with scope as entered:
            return "ran" if entered.allowed else None

    workers = [asyncio.create_task(traffic()) for _ in range(4)]
    slot = asyncio.create_task(guarded())
    value, lost = await held(), await slot
    scopes = [weir_scope for weir in (opened, closed) for weir_scope in (weir.reserve(QUESTION), weir.acquire(GUARD))]
    tell({"value": value, "lost": lost, "ran": [await ran(scope) for scope in scopes], "asked": await ask()})

    await next_line()
    running = False
    await asyncio.gather(*workers)
    tell({"asked": await ask(), "reasons": sorted(reasons)})


asyncio.run(main())
