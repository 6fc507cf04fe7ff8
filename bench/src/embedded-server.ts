/**
 * The embedded API server in a process of its own. Prints one line of JSON: how to reach it, and how long starting took,
 * in milliseconds, once the process was warm. Ends on SIGTERM.
 */
import { get } from "node:https";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import type { ApiAccess } from "./api.ts";

/** What the process prints. */
export interface EmbeddedServerLine {
  readonly access: ApiAccess;
  /** From the call of `startApiServer` to the first 200 over HTTPS. */
  readonly startMs: readonly number[];
}

const startMs: number[] = [];
for (let start = 0; start < 11; start++) {
  const began = performance.now();
  await using server = await startApiServer();
  await answers(server);
  // The first start loads and compiles: not what a test suite pays for each of its servers.
  if (start > 0) startMs.push(performance.now() - began);
}

await using server = await startApiServer();
const { certificatePem, privateKeyPem } = server.issueClientCertificate("bench", ["system:masters"]);
const line: EmbeddedServerLine = {
  access: { server: server.url, ca: server.caPem, cert: certificatePem, key: privateKeyPem },
  startMs,
};
process.stdout.write(`${JSON.stringify(line)}\n`);
await new Promise((resolve) => process.once("SIGTERM", resolve));

/** One request, on a connection of its own. */
async function answers({ url, caPem, token }: ApiServer): Promise<void> {
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    get(`${url}/api/v1/namespaces/default`, { ca: caPem, headers, agent: false }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    }).once("error", reject);
  });
  if (status !== 200) throw new Error(`GET ${url}/api/v1/namespaces/default: ${String(status)}, expected 200`);
}
