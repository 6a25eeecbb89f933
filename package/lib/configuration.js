// The configuration by which workerd runs the Worker: its four objects with SQLite, the console's files, and the network.

// Later dates may change how the runtime behaves: that of the deployment's own settings.
export const COMPATIBILITY_DATE = "2026-11-17";

// Each class with the binding that the Worker finds it under.
const OBJECTS = [
  ["Coordinator", "COORDINATOR"],
  ["Region", "REGION_ESCROW"],
  ["Registry", "REGISTRY"],
  ["Ledger", "LEDGER"],
];

// A text of Cap'n Proto.
const quoted = (text) => JSON.stringify(text);

// The bucket that instances share, and where they reach this one.
const shared = (cluster) =>
  cluster === undefined
    ? ""
    : `
  cluster = (
    bucket = ${quoted(cluster.bucket)},
    bucketOptions = [${cluster.options.map(quoted).join(", ")}],
    address = ${quoted(cluster.address)},
    key = ${quoted(cluster.key)},
  ),`;

const list = (entries) => entries.map((entry) => `\n      ${entry},`).join("");

// The configuration. `address` is where it listens, `disk` and `files` are the folders of the state and of the console,
// `variables` the names of the variables that it takes from its environment, `hasPolicy` whether `policy.json` lies beside it,
// `cluster` what it shares with other instances, if there are any.
export const configuration = ({ address, disk, files, variables, hasPolicy, cluster }) => {
  const modules = [
    '(name = "worker.js", esModule = embed "worker.js")',
    '(name = "index.js", esModule = embed "index.js")',
    '(name = "index_bg.wasm", wasm = embed "index_bg.wasm")',
  ];
  if (hasPolicy) {
    modules.push('(name = "policy.json", json = embed "policy.json")');
  }
  const bindings = [
    ...OBJECTS.map(
      ([name, binding]) =>
        `(name = ${quoted(binding)}, durableObjectNamespace = (className = ${quoted(name)}, serviceName = "main"))`,
    ),
    '(name = "ASSETS", service = "assets")',
    ...variables.map((name) => `(name = ${quoted(name)}, fromEnvironment = ${quoted(name)})`),
  ];
  const objects = OBJECTS.map(
    ([name]) => `(className = ${quoted(name)}, uniqueKey = ${quoted(name)}, enableSql = true)`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "assets", worker = .assets),
    (name = "files", disk = ${quoted(files)}),
    (name = "disk", disk = (path = ${quoted(disk)}, writable = true)),
    (name = "internet", network = (allow = ["public", "private", "local"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [(name = "http", address = ${quoted(address)}, http = (), service = "main")],${shared(cluster)}
);

const main :Workerd.Worker = (
  compatibilityDate = ${quoted(COMPATIBILITY_DATE)},
  modules = [${list(modules)}
  ],
  bindings = [${list(bindings)}
  ],
  durableObjectNamespaces = [${list(objects)}
  ],
  durableObjectStorage = (localDisk = "disk"),
);

const assets :Workerd.Worker = (
  compatibilityDate = ${quoted(COMPATIBILITY_DATE)},
  modules = [(name = "assets.js", esModule = embed "assets.js")],
  bindings = [(name = "FILES", service = "files")],
);
`;
};
