// `weir check`: whether a policy is valid. The Worker itself says so.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mistake } from "./mistake.js";
import { probe } from "./ports.js";
import { start } from "./runtime.js";
import { token } from "./token.js";

export const check = async (file) => {
  let document;
  let policy;
  try {
    document = readFileSync(file, "utf8");
    policy = JSON.parse(document);
  } catch (error) {
    throw new Mistake(`${file} cannot be read: ${error.message}`);
  }
  const folder = mkdtempSync(join(tmpdir(), "weir-check-"));
  try {
    await preview(file, document, { folder, secrets: secretsOf(policy) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`${file} is valid.`);
};

// What variables are called.
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

// The names of the secrets that a policy sends to its origins.
const secretsOf = (value) =>
  Object.entries(typeof value === "object" && value !== null ? value : {}).flatMap(([name, inner]) =>
    name === "secret" && NAME.test(inner) ? [inner] : secretsOf(inner),
  );

const preview = async (file, document, { folder, secrets }) => {
  const admin = token(folder);
  const variables = {
    // Which secrets and hosts a deployment has is not the policy's.
    ...Object.fromEntries(secrets.map((name) => [name, "there"])),
    WEIR_BOOTSTRAP_TOKEN: admin,
    WEIR_ALLOW_SHARED_HOST: "1",
  };
  const running = await start({ folder, port: await probe("127.0.0.1", 0), variables });
  try {
    const answer = await fetch(`${running.url}/operator/v1/policy/preview`, {
      method: "POST",
      headers: { authorization: `Bearer ${admin}`, "content-type": "application/json" },
      body: document,
    });
    if (!answer.ok) {
      const { field, detail, title } = await answer.json();
      const told = detail || title;
      // The detail of a document at fault begins with its field.
      throw new Mistake(`${file} is refused: ${field && !told.startsWith(field) ? `${field}: ` : ""}${told}`);
    }
  } finally {
    running.stop();
    await running.ended;
  }
};
