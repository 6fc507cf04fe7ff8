import { createServer } from "node:http";
import { once } from "node:events";
import { FlagError, lastOf, parseFlags, type FlagTypes } from "./flags.ts";
import { untilSignalOrOrphaned } from "./until-signal-or-orphaned.ts";

/** Flags that envtest and its users pass. */
const types: FlagTypes = {
  "advertise-client-urls": "string",
  "data-dir": "string",
  help: "bool",
  "listen-client-urls": "string",
  "listen-peer-urls": "string",
  name: "string",
  "quota-backend-bytes": "int",
  "unsafe-no-fsync": "bool",
  version: "bool",
};

/**
 * Takes the place of etcd below envtest: it answers the health check on the client URL and stores nothing, because the embedded API server
 * has its objects in memory.
 */
async function main(words: readonly string[]): Promise<void> {
  const flags = parseFlags(words, types);
  if (flags.has("help")) {
    process.stdout.write(
      `Answers etcd's health check, for the embedded API server.\n\n${Object.keys(types)
        .map((name) => `  --${name}\n`)
        .join("")}`,
    );
    return;
  }
  const url = new URL(lastOf(flags, "listen-client-urls")?.split(",")[0] ?? "http://localhost:2379");
  const server = createServer((request, response) => {
    const isHealth = request.url?.split("?")[0] === "/health";
    response.writeHead(isHealth ? 200 : 404, { "content-type": "application/json" });
    response.end(isHealth ? '{"health":"true","reason":""}' : "{}");
  });
  server.listen(Number(url.port), url.hostname.replace(/^\[|\]$/g, ""));
  await once(server, "listening");
  await untilSignalOrOrphaned();
  server.close();
  server.closeAllConnections();
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof FlagError ? 1 : 2;
}
