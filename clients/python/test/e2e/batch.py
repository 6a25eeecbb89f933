"""Fifty checks of one turn of the loop in one request, and some of them at fault."""

import asyncio
from collections import Counter

from client import TENANT, client, error_of, plain, requests_to, taken, tell, told_of

from weir_client import WeirError


async def main():
    requests = []
    weir = client(batch_ms=0, on=requests_to(requests))
    one = {"tenant": TENANT, "budget": "tokens", "cost": 2}
    told = {}

    decisions = await asyncio.gather(*(weir.check(one) for _ in range(50)))
    told["remaining"] = [decision.remaining for decision in decisions]
    told["allowed"] = sum(decision.allowed for decision in decisions)
    told["requests"] = taken(requests)

    mixed = [one, {"tenant": TENANT, "budget": "none"}, one, {"tenant": "", "budget": "tokens"}, one]
    told["mixed"] = await asyncio.gather(*(error_of(weir.check(question)) for question in mixed))
    told["retried"] = taken(requests)

    told["alone"] = (await weir.check(one)).remaining
    told["single"] = taken(requests)

    # A batch of 1,500 is more than Weir takes at once.
    many = await weir.batch({**one, "cost": 0} for _ in range(1_500))
    told["many"] = Counter(f"{decision.reason} {decision.cause or ''}".strip() for decision in many)
    told["cut"] = taken(requests)

    # The same in one call, where errors stand in the places of decisions.
    listed = await client().batch({**question, "cost": 0} for question in mixed)
    told["listed"] = [told_of(one)["status"] if isinstance(one, WeirError) else plain(one)["reason"] for one in listed]
    tell(told)


asyncio.run(main())
