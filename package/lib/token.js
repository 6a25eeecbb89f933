// The first admin token: made once, for the owner alone.

import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Mistake } from "./mistake.js";

const TOKEN_BYTES = 32;

// The token of a state folder; written when there is none.
export const token = (folder) => {
  const file = join(folder, "token");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(file, `${randomBytes(TOKEN_BYTES).toString("hex")}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (error.code !== "EEXIST") {
      throw new Mistake(`${file} cannot be written: ${error.message}`);
    }
  }
  const text = readFileSync(file, "utf8").trim();
  if (text === "") {
    throw new Mistake(`${file} is empty: remove it, or write the admin token into it`);
  }
  return text;
};

// Says where Weir is, and how to get in.
export const announce = (url, token) => {
  console.log(`
  Weir runs at ${url}

    console      ${url}/console/
    admin token  ${token}
    stop         Ctrl-C
`);
};
