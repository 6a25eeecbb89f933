// Where the parts of this package are.

import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

// A file or folder of the package.
export const part = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

// The runtime: of this machine, as npm has installed it.
export const workerd = () => createRequire(import.meta.url)("workerd").default;
