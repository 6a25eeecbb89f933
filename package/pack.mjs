// Makes the npm package of what is built: node package/pack.mjs FOLDER writes FOLDER/weir-VERSION.tgz. With PROGRAMS, a folder
// of this machine's native programs, as a second word the package has these, too.

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

// What is copied, and where to.
const PARTS = [
  ["package/package.json", "package.json"],
  ["package/README.md", "README.md"],
  ["package/bin", "bin"],
  ["package/lib", "lib"],
  ["package/template", "template"],
  ["package/worker", "worker"],
  ["edge/build/index.js", "dist/worker/index.js"],
  ["edge/build/index_bg.wasm", "dist/worker/index_bg.wasm"],
  ["console/dist", "dist/console"],
  ["policy.json", "dist/policy.json"],
  ["docs/src/reference/policy.schema.json", "dist/policy.schema.json"],
  ["docs/src/reference/openapi.json", "dist/openapi.json"],
  [".dev.vars.example", "dist/dev.vars.example"],
  ["LICENSE-APACHE", "LICENSE-APACHE"],
  ["LICENSE-MIT", "LICENSE-MIT"],
];

// The native programs: the command that talks to a deployment, and the agent.
const NATIVE = ["weir", "weir-agent"];

// What a build writes last: without it the package would hold half of what is built.
for (const built of ["edge/build/index_bg.wasm", "console/dist/index.html"]) {
  if (!existsSync(join(root, built))) {
    console.error(`${built} is missing: \`cargo xtask package\` builds it`);
    process.exit(1);
  }
}

const folder = resolve(process.argv[2] ?? join(root, "target/package"));
const staging = join(folder, "staging");
rmSync(staging, { recursive: true, force: true });
mkdirSync(staging, { recursive: true });
for (const [from, to] of PARTS) {
  cpSync(join(root, from), join(staging, to), { recursive: true });
}
const programs = process.argv[3];
if (programs !== undefined) {
  const native = join(staging, "dist/native", `${process.platform}-${process.arch}`);
  mkdirSync(native, { recursive: true });
  for (const program of NATIVE) {
    cpSync(join(programs, program), join(native, program));
    chmodSync(join(native, program), 0o755);
  }
}
const pack = ["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", folder];
const name = execFileSync("npm", pack, { cwd: staging, encoding: "utf8" }).trim();
rmSync(staging, { recursive: true, force: true });
console.log(join(folder, name));
