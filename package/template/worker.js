// The Worker of this deployment: Weir, and the policy that it starts with. A policy that is saved later, in the console or
// by the API, takes its place.

import policy from "./policy.json";

globalThis.WEIR_POLICY = policy;

export * from "weir";
export { default } from "weir";
