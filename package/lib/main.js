// The command: which part serves which word.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { check } from "./check.js";
import { dev } from "./dev.js";
import { init } from "./init.js";
import { Mistake } from "./mistake.js";
import { native } from "./native.js";
import { part } from "./parts.js";
import { serve } from "./serve.js";

const USAGE = `weir dev [--port N] [--demo]      Weir on this machine (--demo: with traffic)
weir init DIR                     a folder to deploy from
weir serve --dir STATE [--port N] [--host ADDRESS] [--env-file FILE]
                                  Weir on plain workerd, with its state on disk
weir serve --dir STATE --cluster FILE --cluster-address HOST:PORT [--workerd PROGRAM]
                                  an experiment: one of several instances that share a bucket
weir check [FILE]                 whether a policy is valid (policy.json)
weir --version

Commands that talk to a deployment (each has --help):
  validate, plan, apply, drift, export, import, replay, agreement   the policy as code
  tail, top                                                         who is decided, who asks
  login, token                                                      who may
  completions, man`;

// Commands of the native program of the same name (`cli/`).
const NATIVE = new Set([
  ...["validate", "plan", "apply", "drift", "export", "import", "replay", "agreement"],
  ...["tail", "top", "token", "login", "completions", "man"],
]);

const PORT_DEFAULT = 8787;

const COMMANDS = {
  dev: {
    options: { port: { type: "string" }, demo: { type: "boolean", default: false } },
    run: ({ values }) => dev({ port: port(values.port), demo: values.demo }),
  },
  init: { places: 1, run: ({ positionals }) => init(required(positionals[0], "DIR")) },
  serve: {
    options: {
      dir: { type: "string" },
      port: { type: "string" },
      host: { type: "string", default: "127.0.0.1" },
      "env-file": { type: "string" },
      cluster: { type: "string" },
      "cluster-address": { type: "string" },
      workerd: { type: "string" },
    },
    run: ({ values }) =>
      serve({
        folder: required(values.dir, "--dir STATE"),
        port: port(values.port),
        host: values.host,
        variables: values["env-file"],
        cluster: values.cluster,
        clusterAddress: values["cluster-address"],
        program: values.workerd,
      }),
  },
  check: { places: 1, run: ({ positionals }) => check(positionals[0] ?? "policy.json") },
};

// Runs the command of these words; the exit code.
export const main = async ([word, ...rest]) => {
  if (word === undefined || ["help", "--help", "-h"].includes(word) || (rest.includes("--help") && !NATIVE.has(word))) {
    console.log(USAGE);
    return 0;
  }
  if (["version", "--version", "-V"].includes(word)) {
    console.log(JSON.parse(readFileSync(part("package.json"), "utf8")).version);
    return 0;
  }
  try {
    if (NATIVE.has(word)) {
      return await native("weir", [word, ...rest]);
    }
    const command = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
    if (command === undefined) {
      throw new Mistake(`there is no command ${word}; the commands are:\n${USAGE}`);
    }
    return (await command.run(read(command, rest))) ?? 0;
  } catch (error) {
    if (!(error instanceof Mistake)) {
      throw error;
    }
    console.error(`weir: ${error.message}`);
    return 1;
  }
};

const read = ({ options = {}, places = 0 }, words) => {
  let parsed;
  try {
    parsed = parseArgs({ args: words, options, allowPositionals: places > 0 });
  } catch (error) {
    throw new Mistake(error.message);
  }
  if (parsed.positionals.length > places) {
    throw new Mistake(`${parsed.positionals[places]} is one word too many`);
  }
  return parsed;
};

const required = (value, name) => {
  if (value === undefined || value === "") {
    throw new Mistake(`${name} is required; the commands are:\n${USAGE}`);
  }
  return value;
};

const port = (text = String(PORT_DEFAULT)) => {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1 || number > 65535) {
    throw new Mistake(`--port ${text} is not a number from 1 to 65535`);
  }
  return number;
};
