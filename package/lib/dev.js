// `weir dev`: Weir on this machine, to look at and to try things on.

import { existsSync } from "node:fs";
import { demo } from "./demo.js";
import { ownPolicy, start, untilStopped } from "./runtime.js";
import { announce, token } from "./token.js";
import { readVariables } from "./variables.js";

const FOLDER = ".weir";

// The secrets and settings of whoever develops, by the name that wrangler gives them.
const OWN_VARIABLES = ".dev.vars";

export const dev = async ({ port, demo: withTraffic }) => {
  const own = existsSync(OWN_VARIABLES) ? readVariables(OWN_VARIABLES) : {};
  const variables = {
    // A request may name its region with the header `weir-region`.
    ALLOW_REGION_HEADER: "1",
    // This machine has one host, for the console and for the routes of a policy.
    WEIR_ALLOW_SHARED_HOST: "1",
    ...own,
    // A copy of `.dev.vars.example` leaves it empty.
    WEIR_BOOTSTRAP_TOKEN: own.WEIR_BOOTSTRAP_TOKEN || token(FOLDER),
  };
  const admin = variables.WEIR_BOOTSTRAP_TOKEN;
  const running = await start({ folder: FOLDER, port, policy: ownPolicy(), variables });
  announce(running.url, admin);
  const traffic = withTraffic ? demo(running.url, admin) : undefined;
  return untilStopped(running, traffic?.stop);
};
