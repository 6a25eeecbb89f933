"""A Starlette application behind the middleware, served by uvicorn."""

import asyncio

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from weir_client import WeirMiddleware


def field(scope, name):
    """A field of a request, from its head."""
    return next((value.decode() for key, value in scope["headers"] if key == name.encode()), "")


async def plain(request):
    # The body is the application's: nobody has read it before.
    body = await request.body()
    return PlainTextResponse(body.decode() or "ok", headers={"ratelimit": "forged", "x-own": "kept"})


async def slow(request):
    async def parts():
        for _ in range(60):
            await asyncio.sleep(0.1)
            yield "part"

    return StreamingResponse(parts())


ROUTES = [Route(path, plain, methods=["GET", "POST"]) for path in ("/plain", "/budget", "/never", "/tokens", "/health")]


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
