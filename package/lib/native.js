// The native programs of this package: the command `weir` that talks to a deployment (`cli/`), and the agent.

import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { constants } from "node:os";
import { Mistake } from "./mistake.js";
import { part } from "./parts.js";

const PLATFORM = `${process.platform}-${process.arch}`;

const ENDS_BY = ["SIGINT", "SIGTERM", "SIGHUP"];

// Where the program of that name is.
const found = (name) => {
  const program = part(`dist/native/${PLATFORM}/${name}`);
  if (existsSync(program)) {
    return program;
  }
  const folder = part("dist/native");
  const there = existsSync(folder) ? readdirSync(folder).sort() : [];
  const has = there.length === 0 ? "none" : there.join(", ");
  throw new Mistake(
    `this package has no native ${name} for ${PLATFORM}, but for: ${has}; from source, \`cargo xtask package\` makes one that has it`,
  );
};

// Runs the program with these words, in place of this process as far as that goes; the exit code.
export const native = (name, words) => {
  const program = found(name);
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { stdio: "inherit" });
    // What ends this process is for the program, which may have something to finish.
    for (const signal of ENDS_BY) {
      process.on(signal, () => child.kill(signal));
    }
    child.on("error", (error) => reject(new Mistake(`${program} cannot be started: ${error.message}`)));
    child.on("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
};
