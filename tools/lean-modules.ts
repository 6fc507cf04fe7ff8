import * as http from "node:http";

/** Exports of `node:http` that are part of Node.js's fetch. Reading one loads all of it. */
const httpOfFetch = new Set(["default", "CloseEvent", "MessageEvent", "WebSocket"]);

/** Exports of undici that are used here, and the module of each. */
const undiciModules = {
  Pool: "undici/lib/dispatcher/pool.js",
  buildConnector: "undici/lib/core/connect.js",
  errors: "undici/lib/core/errors.js",
};

/**
 * Code of modules that stand for others in the joined packages, because those load much that is not used, which makes a program start later
 * and need more memory. By name.
 */
export const leanModules: Readonly<Record<string, string>> = {
  // An import reads every export of node:http, and among them fetch's: 12 MiB, and as much time as the start of Node.js itself.
  "node:http": [
    `const http = process.getBuiltinModule("node:http");`,
    ...Object.keys(http)
      .filter((name) => !httpOfFetch.has(name))
      .map((name) => `export const ${name} = http.${name};`),
  ].join("\n"),
  // The whole of undici is 110 modules, fetch, caches and mocks among them: 14 MiB. These are 21.
  undici: Object.entries(undiciModules)
    .map(([name, module]) => `export { default as ${name} } from "${module}";`)
    .join("\n"),
};
