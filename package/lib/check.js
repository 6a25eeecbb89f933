// `weir check`: whether a policy is valid. The Worker itself says so.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mistake } from "./mistake.js";
import { start } from "./runtime.js";
import { token } from "./token.js";

export const check = async (file) => {
  let document;
  try {
    document = readFileSync(file, "utf8");
    JSON.parse(document);
  } catch (error) {
    throw new Mistake(`${file} cannot be read: ${error.message}`);
  }
  const folder = mkdtempSync(join(tmpdir(), "weir-check-"));
  try {
    await preview(file, document, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`${file} is valid.`);
};

const preview = async (file, document, folder) => {
  const admin = token(folder);
  // Which hosts a deployment has is not the policy's.
  const variables = { WEIR_BOOTSTRAP_TOKEN: admin, WEIR_ALLOW_SHARED_HOST: "1" };
  const running = await start({ folder, port: await anyPort(), variables });
  try {
    const answer = await fetch(`${running.url}/operator/v1/policy/preview`, {
      method: "POST",
      headers: { authorization: `Bearer ${admin}`, "content-type": "application/json" },
      body: document,
    });
    if (!answer.ok) {
      const { field, detail, title } = await answer.json();
      throw new Mistake(`${file} is refused${field ? ` at ${field}` : ""}: ${detail || title}`);
    }
  } finally {
    running.stop();
    await running.ended;
  }
};

const anyPort = () =>
  new Promise((done, failed) => {
    const probe = createServer();
    probe.once("error", failed);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
