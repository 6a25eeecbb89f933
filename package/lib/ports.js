// Ports of this machine.

import { createServer } from "node:net";

// Listens for a moment: resolves to the port, which with 0 is any that is free; rejects where it cannot be used.
export const probe = (host, port) =>
  new Promise((done, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen({ host, port, exclusive: true }, () => {
      const { port: found } = server.address();
      server.close(() => done(found));
    });
  });
