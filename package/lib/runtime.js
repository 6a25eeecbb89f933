// workerd, started on a state folder and stopped with this process.

import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { configuration } from "./configuration.js";
import { Mistake } from "./mistake.js";
import { part, workerd } from "./parts.js";
import { probe } from "./ports.js";

const READY_MS_MAX = 60_000;
const POLL_MS = 50;

// The Worker of a deployment without a policy of its own, and of one with.
const PLAIN = 'export * from "./index.js";\nexport { default } from "./index.js";\n';
const WITH_POLICY = `import policy from "./policy.json";\nglobalThis.WEIR_POLICY = policy;\n${PLAIN}`;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// Starts the Worker on the state of `folder` and waits until it answers. `policy` is the file of the policy that it starts
// with, or undefined; `variables` what its environment says; `cluster` what it shares with other instances, or undefined;
// `program` a workerd of the caller's choice. Resolves to its address, and a promise of its end.
export const start = async ({ folder, host = "127.0.0.1", port, policy, variables, cluster, program = workerd() }) => {
  await free(host, port);
  const run = resolve(folder, "run");
  const disk = resolve(folder, "disk");
  rmSync(run, { recursive: true, force: true });
  for (const made of [run, disk]) {
    mkdirSync(made, { recursive: true, mode: 0o700 });
  }
  for (const file of ["dist/worker/index.js", "dist/worker/index_bg.wasm", "worker/assets.js"]) {
    copyFileSync(part(file), join(run, file.split("/").at(-1)));
  }
  const hasPolicy = policy !== undefined;
  if (hasPolicy) {
    copyFileSync(policy, join(run, "policy.json"));
  }
  writeFileSync(join(run, "worker.js"), hasPolicy ? WITH_POLICY : PLAIN);
  const name = host.includes(":") ? `[${host}]` : host;
  const address = `${name}:${port}`;
  const files = part("dist/console");
  const names = Object.keys(variables);
  const text = configuration({ address, disk, files, variables: names, hasPolicy, cluster });
  // The key of a cluster is in it.
  writeFileSync(join(run, "workerd.capnp"), text, { mode: 0o600 });
  const experimental = cluster === undefined ? [] : ["--experimental"];
  const child = spawn(program, ["serve", ...experimental, join(run, "workerd.capnp")], {
    env: { ...process.env, ...variables },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = new Promise((done, failed) => {
    child.once("exit", (code, signal) => done(code ?? signal));
    child.once("error", failed);
  });
  // A process that ends takes its Worker along.
  process.once("exit", () => child.kill("SIGKILL"));
  const isAnywhere = ["0.0.0.0", "::"].includes(host);
  const url = `http://${isAnywhere ? "127.0.0.1" : name}:${port}`;
  await ready(url, ended);
  return { url, ended, stop: () => child.kill("SIGTERM") };
};

// Fails before anything is written rather than in the words of another program.
const free = async (host, port) => {
  try {
    await probe(host, port);
  } catch (error) {
    throw new Mistake(`port ${port} of ${host} cannot be used (${error.code}): choose another one with --port N`);
  }
};

const ready = async (url, ended) => {
  let over;
  ended.then((code) => (over = code), (error) => (over = error.message));
  for (const start = Date.now(); Date.now() - start < READY_MS_MAX; await pause(POLL_MS)) {
    if (over !== undefined) {
      throw new Mistake(`workerd ended before Weir was ready (${over})`);
    }
    const answer = await fetch(`${url}/healthz`).catch(() => undefined);
    if (answer?.ok) {
      return;
    }
  }
  throw new Mistake(`Weir did not answer /healthz within ${READY_MS_MAX / 1000} s`);
};

// Waits until the Worker ends or somebody stops it; the exit code. `stopping` is called first.
export const untilStopped = async ({ ended, stop }, stopping = () => {}) => {
  const stopped = new Promise((done) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
      process.once(signal, () => done("stopped"));
    }
  });
  const why = await Promise.race([stopped, ended]);
  stopping();
  if (why !== "stopped") {
    throw new Mistake(`workerd ended (${why})`);
  }
  stop();
  await ended;
  return 0;
};

// The policy file of the folder where the command runs, where there is one.
export const ownPolicy = () => (existsSync("policy.json") ? "policy.json" : undefined);
