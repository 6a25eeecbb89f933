"""The middleware in front of a Starlette application, served by uvicorn: who visits is told in the fields of requests."""

import asyncio
import os

import httpx
from client import TENANT, client, left, tell
from serving import ROUTES, Serving, field
from starlette.applications import Starlette

from weir_client import AsyncWeir, WeirMiddleware


def asks(scope):
    """One limit for visitors, a budget by the tenant, a guard for what takes long; health is nobody's."""
    questions = {
        "/plain": {"limit": "hits", "key": field(scope, "who")},
        "/budget": {"tenant": field(scope, "who"), "budget": "tokens", "cost": 400},
        "/never": {"tenant": field(scope, "who"), "budget": "tokens", "cost": 5_000},
        "/slow": {"tenant": field(scope, "who"), "guard": "calls"},
    }
    return questions.get(scope["path"])


async def asks_later(scope):
    """The same, once something else has been asked."""
    await asyncio.sleep(0)
    return asks(scope)


def of_the_readme(app, url, token):
    """As the README shows it."""

    def asks(scope):
        return {"limit": "per_ip", "key": scope["client"][0]}

    app.add_middleware(WeirMiddleware, weir=AsyncWeir(url, token, fail="open"), asks=asks)


def told_of(answer):
    fields = ("content-type", "retry-after", "ratelimit", "ratelimit-policy", "x-own")
    return {"status": answer.status_code, **{name: answer.headers.get(name) for name in fields}, "body": answer.text}


async def main():
    told = {}
    weir = client()
    async with Serving(weir, asks) as server:
        told["first"] = told_of(await server.visit("/plain", "ann", b"a body"))
        told["more"] = await server.statuses("/plain", "ann", 4)
        denied = await server.visit("/plain", "ann")
        told["denied"] = {**told_of(denied), "problem": denied.json()}
        told["other"] = await server.statuses("/plain", "bob", 1)
        told["budget"] = await server.statuses("/budget", TENANT, 3)
        told["never"] = told_of(await server.visit("/never", TENANT))
        told["unasked"] = told_of(await server.visit("/health", "ann"))
        # A slot is kept while the answer streams, and given back once it is complete.
        both = await asyncio.gather(server.visit("/slow", TENANT), server.visit("/slow", TENANT))
        told["slow"] = sorted(answer.status_code for answer in both)
        while (slower := await server.statuses("/slow", TENANT, 1)) != [200]:
            await asyncio.sleep(0.02)
        told["slower"] = slower
        # A question that is wrong is the application's fault, and told as such.
        told["wrong"] = await server.statuses("/budget", "", 1)
    async with Serving(client(batch_ms=0), asks_later) as server:
        told["later"] = told_of(await server.visit("/plain", "cid"))
    gone = {"url": os.environ["GONE"], "timeout_ms": 5_000}
    async with Serving(client(**gone), asks) as server:
        told["closed"] = told_of(await server.visit("/plain", "ann"))
    async with Serving(client(**gone, fail="open"), asks) as server:
        told["open"] = told_of(await server.visit("/plain", "ann"))
    shown = Starlette(routes=ROUTES)
    of_the_readme(shown, os.environ["BASE"], os.environ["TOKEN"])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=shown), base_url="http://app.example") as visitor:
        assert (await visitor.get("/health")).text == "ok"
    told["left"] = await left(weir)
    tell(told)


asyncio.run(main())
