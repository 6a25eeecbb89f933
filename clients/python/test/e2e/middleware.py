"""The middleware in front of a Starlette application, served by uvicorn: who visits is told in the fields of requests."""

import asyncio
import os

import httpx
import uvicorn
from client import TENANT, client, left, tell
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from weir_client import AsyncWeir, WeirMiddleware


def field(scope, name):
    """A field of a request, from its head."""
    return next((value.decode() for key, value in scope["headers"] if key == name.encode()), "")


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


async def plain(request):
    # The body is the application's: nobody has read it before.
    body = await request.body()
    return PlainTextResponse(body.decode() or "ok", headers={"ratelimit": "forged", "x-own": "kept"})


async def slow(request):
    async def parts():
        for _ in range(5):
            await asyncio.sleep(0.1)
            yield "part"

    return StreamingResponse(parts())


ROUTES = [Route(path, plain, methods=["GET", "POST"]) for path in ("/plain", "/budget", "/never", "/health")]


class Serving:
    """An application behind the middleware, on a port of its own."""

    def __init__(self, weir, asked):
        application = Starlette(routes=[*ROUTES, Route("/slow", slow)])
        application.add_middleware(WeirMiddleware, weir=weir, asks=asked)
        config = uvicorn.Config(application, port=0, log_level="error", lifespan="off")
        self._server = uvicorn.Server(config)

    async def __aenter__(self):
        self._serving = asyncio.create_task(self._server.serve())
        while not self._server.started:
            await asyncio.sleep(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self._http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30)
        return self

    async def __aexit__(self, *_):
        await self._http.aclose()
        self._server.should_exit = True
        await self._serving

    async def visit(self, path, who, content=None):
        """What a visitor is told."""
        method = "GET" if content is None else "POST"
        answer = await self._http.request(method, path, headers={"who": who}, content=content)
        return answer

    async def statuses(self, path, who, count):
        return [(await self.visit(path, who)).status_code for _ in range(count)]


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
