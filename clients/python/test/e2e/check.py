"""Checks of every kind, denied ones, and requests that are wrong."""

import asyncio

from client import TENANT, client, error_of, left, plain, tell


async def main():
    weir = client()
    told = {}

    async def check(name, **question):
        told[name] = plain(await weir.check(question))

    await check("budget", tenant=TENANT, budget="tokens", cost=3)
    await check("denied", tenant=TENANT, budget="tokens", cost=998)
    await check("never", tenant=TENANT, budget="tokens", cost=1_001)
    await check("limit", limit="per_ip", key="203.0.113.9")
    await check("login", limit="login", keys={"ip": "203.0.113.9", "user": "bob"})
    await check("meter", tenant=TENANT, meter="results", cost=20)
    await check("meters", tenant=TENANT, meters={"results": 2, "bytes": 4_096})
    await check("guard", tenant=TENANT, guard="calls")
    told["released"] = plain(await weir.release("calls", told["guard"]["slot"]))
    await check("overload", tenant=TENANT, overload="origin")
    told["reported"] = await weir.report("origin", TENANT, "success")
    checks = [{"budget": "tokens", "cost": 7}, {"limit": "per_ip", "key": "203.0.113.9"}, {"overload": "origin"}]
    await check("several", tenant=TENANT, checks=checks, require="all")
    told["place"] = plain(await weir.place({"limit": "shape", "key": "k"}))
    told["queued"] = plain(await weir.place({"limit": "shape", "key": "k"}))
    told["left"] = await left(weir)

    wrong = {"tenant": TENANT, "checks": [{"budget": "tokens"}, {"limit": "per_ip", "key": "k", "cost": -1}]}
    told["invalid"] = await error_of(weir.check(wrong))
    told["unknown"] = await error_of(weir.check({"tenant": TENANT, "budget": "none"}))
    told["stranger"] = await error_of(client(token="nobody").check({"tenant": TENANT, "budget": "tokens"}))
    tell(told)


asyncio.run(main())
