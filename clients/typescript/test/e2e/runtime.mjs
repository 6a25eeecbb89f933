// A runtime that has standard output: Node, Bun.
import { everywhere } from "./everywhere.mjs";
import { tell } from "./client.mjs";

const { BASE: url, GONE: gone, SILENT: silent, BUSY: busy, TOKEN: token } = process.env;
const runtime = process.versions.bun === undefined ? "node" : "bun";
tell({ runtime, ...(await everywhere({ url, gone, silent, busy, token })) });
