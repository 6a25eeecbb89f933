"""A server that says what each test wants, on a real socket."""

import asyncio
import unittest

from weir_client import AsyncWeir

QUESTION = {"tenant": "acme", "budget": "tokens"}


class Server:
    """Answers by path: status, body, and header fields. A path that it does not know is never answered."""

    def __init__(self, answers):
        self._answers = answers
        self._open = set()
        self._over = asyncio.Event()
        self.seen = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.origin = "http://127.0.0.1:{}".format(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_):
        self._server.close()
        self._over.set()
        for one in self._open:
            one.close()

    async def _serve(self, reader, writer):
        self._open.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                request, *lines = head.strip().split("\r\n")
                headers = dict(line.lower().split(": ", 1) for line in lines)
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                path = request.split()[1]
                self.seen.append({"path": path, "headers": headers, "body": body.decode()})
                if path not in self._answers:
                    await self._over.wait()
                    return
                status, text, more = self._answers[path]
                fields = {"content-length": len(text.encode()), **more}
                told = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
                writer.write(f"HTTP/1.1 {status} Told\r\n{told}\r\n{text}".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


class Asking(unittest.IsolatedAsyncioTestCase):
    """Tests with a server of `ANSWERS`."""

    ANSWERS = {}

    async def asyncSetUp(self):
        # `enterAsyncContext` is younger than the oldest Python that the client takes.
        self.server = await Server(self.ANSWERS).__aenter__()
        self.addAsyncCleanup(self.server.__aexit__)

    def below(self, path="", **options):
        """A client of the server, below a path."""
        options = {"fail": "closed", "timeout_ms": 5_000, **options}
        return AsyncWeir(f"{self.server.origin}/{path}", "secret", **options)
