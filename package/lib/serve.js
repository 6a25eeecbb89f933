// `weir serve`: Weir on plain workerd, with its state on disk.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Mistake } from "./mistake.js";
import { ownPolicy, start, untilStopped } from "./runtime.js";
import { announce, token } from "./token.js";

// What the Worker reads of its environment, beside what a file says.
const READ = /^(WEIR_[A-Z0-9_]*|REGION)$/;

export const serve = async ({ folder, port, host, variables: file }) => {
  const given = Object.entries(process.env).filter(([name]) => READ.test(name));
  const variables = {
    // Nothing here replaces what a client writes about its own address.
    WEIR_CLIENT_ADDRESS: "none",
    ...Object.fromEntries(given),
    ...(file === undefined ? {} : readVariables(file)),
  };
  const own = variables.WEIR_BOOTSTRAP_TOKEN;
  variables.WEIR_BOOTSTRAP_TOKEN = own || token(folder);
  const running = await start({ folder, host, port, policy: ownPolicy(), variables });
  announce(running.url, own ? "that of WEIR_BOOTSTRAP_TOKEN" : `in ${join(folder, "token")}`);
  return untilStopped(running);
};

// The variables of a file: `NAME=value`, one a line; lines that are empty or begin with # say nothing.
export const readVariables = (file) => {
  let text;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Mistake(`${file} cannot be read: ${error.message}`);
  }
  const variables = {};
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) {
      continue;
    }
    const parts = /^\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/.exec(line);
    if (parts === null) {
      throw new Mistake(`${file}:${index + 1}: not of the form NAME=value`);
    }
    variables[parts[1]] = parts[2].replace(/^(["'])(.*)\1$/, "$2");
  }
  return variables;
};
