// The file of the release that npm installed this package from.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Mistake } from "./mistake.js";
import { part } from "./parts.js";

// What npm notes of everything that it installs beside this package.
const NOTES = ".package-lock.json";

// Its path; `undefined` where a registry has this package.
export const release = () => {
  const modules = dirname(resolve(part(".")));
  const notes = join(modules, NOTES);
  const { packages = {} } = existsSync(notes) ? JSON.parse(readFileSync(notes, "utf8")) : {};
  const { resolved = "" } = packages["node_modules/weir"] ?? {};
  if (!resolved.startsWith("file:")) {
    return undefined;
  }
  const file = resolve(modules, "..", resolved.slice("file:".length));
  if (!existsSync(file)) {
    throw new Mistake(`${file}, from which npm installed weir, is gone: install weir again`);
  }
  return file;
};
