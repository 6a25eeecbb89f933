// `weir dev`: Weir on this machine, to look at and to try things on.

import { demo } from "./demo.js";
import { ownPolicy, start, untilStopped } from "./runtime.js";
import { announce, token } from "./token.js";

const FOLDER = ".weir";

export const dev = async ({ port, demo: withTraffic }) => {
  const admin = token(FOLDER);
  const variables = {
    WEIR_BOOTSTRAP_TOKEN: admin,
    // A request may name its region with the header `weir-region`.
    ALLOW_REGION_HEADER: "1",
    // This machine has one host, for the console and for the routes of a policy.
    WEIR_ALLOW_SHARED_HOST: "1",
  };
  const running = await start({ folder: FOLDER, port, policy: ownPolicy(), variables });
  announce(running.url, admin);
  const traffic = withTraffic ? demo(running.url, admin) : undefined;
  return untilStopped(running, traffic?.stop);
};
