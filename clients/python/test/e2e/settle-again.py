"""A settlement whose first answer is lost on its way: told again whatever the options say."""

import asyncio

from client import TENANT, client, settled_left, tell


async def main():
    weir = client()
    async with weir.reserve({"tenant": TENANT, "budget": "tokens", "cost": 100}) as reservation:
        reservation.used(30)
    tell({"value": None, "left": await settled_left(weir, 970)})


asyncio.run(main())
