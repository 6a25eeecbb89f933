// `weir serve`: Weir on plain workerd, with its state on disk, or as one of several instances with their state in a bucket.

import { join } from "node:path";
import { readCluster } from "./cluster.js";
import { ownPolicy, start, untilStopped } from "./runtime.js";
import { announce, token } from "./token.js";
import { readVariables } from "./variables.js";

// What the Worker reads of its environment, beside what a file says.
const READ = /^(WEIR_[A-Z0-9_]*|REGION)$/;

export const serve = async ({ folder, port, host, variables: file, cluster: shared, clusterAddress, program }) => {
  const cluster = shared === undefined ? undefined : readCluster(shared, clusterAddress);
  const given = Object.entries(process.env).filter(([name]) => READ.test(name));
  const variables = {
    // Nothing here replaces what a client writes about its own address.
    WEIR_CLIENT_ADDRESS: "none",
    ...Object.fromEntries(given),
    ...(file === undefined ? {} : readVariables(file)),
  };
  const own = variables.WEIR_BOOTSTRAP_TOKEN;
  variables.WEIR_BOOTSTRAP_TOKEN = own || token(folder);
  const running = await start({ folder, host, port, policy: ownPolicy(), variables, cluster, program });
  announce(running.url, own ? "that of WEIR_BOOTSTRAP_TOKEN" : `in ${join(folder, "token")}`);
  return untilStopped(running);
};
