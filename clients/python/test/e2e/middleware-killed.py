"""Weir behind the middleware is killed in the middle of visits, and comes back."""

import asyncio

from client import client, next_line, tell
from serving import Serving, field

AGAIN_TRIES_MAX = 600


def asks(scope):
    return {"tenant": field(scope, "who"), "budget": "tokens"}


async def main():
    async with Serving(client(fail="open"), asks) as opened, Serving(client(fail="closed"), asks) as closed:

        async def visit(server):
            return (await server.visit("/tokens", "acme")).status_code

        async def both():
            return [await visit(opened), await visit(closed)]

        async def again(server):
            """The first status that is 200, or the last of many."""
            for _ in range(AGAIN_TRIES_MAX):
                if (status := await visit(server)) == 200:
                    break
                await asyncio.sleep(0.05)
            return status

        tell(await both())
        seen, running = set(), True

        async def visitor():
            while running:
                seen.add(await visit(closed))

        visitors = [asyncio.create_task(visitor()) for _ in range(4)]
        await next_line()
        tell(await both())
        await next_line()
        after = [await again(opened), await again(closed)]
        running = False
        await asyncio.gather(*visitors)
        tell({"after": after, "seen": sorted(seen)})


asyncio.run(main())
