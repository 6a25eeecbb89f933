// `weir init`: a folder to deploy from.

import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Mistake } from "./mistake.js";
import { part } from "./parts.js";
import { release } from "./release.js";

// What is written, and of which template: npm keeps no file of the name `.gitignore` in a package.
const FILES = [
  ["README.md", "template/README.md"],
  ["worker.js", "template/worker.js"],
  ["wrangler.jsonc", "template/wrangler.jsonc"],
  [".gitignore", "template/gitignore"],
  [".dev.vars.example", "dist/dev.vars.example"],
  ["policy.json", "dist/policy.json"],
  ["policy.schema.json", "dist/policy.schema.json"],
  [".vscode/settings.json", "template/editor.json"],
];

export const init = (folder) => {
  if (existsSync(folder) && readdirSync(folder).some((name) => name !== ".git")) {
    throw new Mistake(`${folder} is not empty; nothing was written`);
  }
  const file = release();
  for (const [name, template] of FILES) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    copyFileSync(part(template), join(folder, name));
  }
  // A package that no registry has goes with the folder, which then installs and deploys anywhere.
  if (file !== undefined) {
    copyFileSync(file, join(folder, basename(file)));
  }
  const { version } = JSON.parse(readFileSync(part("package.json"), "utf8"));
  const { wrangler } = JSON.parse(readFileSync(part("template/versions.json"), "utf8"));
  const { cloudflare } = JSON.parse(readFileSync(part("template/settings.json"), "utf8"));
  const settings = {
    name: basename(resolve(folder)).toLowerCase().replace(/[^a-z0-9-]+/g, "-") || "weir-deployment",
    private: true,
    type: "module",
    scripts: { dev: "weir dev", check: "weir check", types: "wrangler types --include-runtime=false", deploy: "wrangler deploy" },
    cloudflare,
    dependencies: { weir: file === undefined ? version : `file:${basename(file)}` },
    devDependencies: { wrangler },
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(settings, undefined, 2)}\n`);
  console.log(`
  ${folder} is ready:

    cd ${folder} && npm install
    npx weir dev                                        the console, by policy.json
    npx wrangler secret put WEIR_BOOTSTRAP_TOKEN        what \`openssl rand -hex 32\` prints
    npx wrangler deploy                                 after policy.json was found valid

  wrangler needs Node 22.12 or later.
`);
};
