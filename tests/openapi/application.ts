// An application by the types that openapi-typescript wrote from the document of the interface.

import type { paths } from "./weir.js";

declare const process: { env: Record<string, string | undefined> };

type Check = paths["/v1/check"]["post"];
type Question = Check["requestBody"]["content"]["application/json"];
type Decision = Check["responses"][200]["content"]["application/json"];

const question: Question = { tenant: "acme", budget: "tokens", cost: 3 };

// @ts-expect-error A question has no such field.
const misspelt: Question = { tenant: "acme", bugdet: "tokens" };
void misspelt;

const answer = await fetch(`${process.env["BASE"]}/v1/check`, {
  method: "POST",
  headers: {
    authorization: `Bearer ${process.env["TOKEN"]}`,
    "content-type": "application/json",
  },
  body: JSON.stringify(question),
});
const decision = (await answer.json()) as Decision;

// @ts-expect-error Nor has a decision.
void decision.remaning;

console.log(JSON.stringify({ allowed: decision.allowed, remaining: decision.remaining }));
