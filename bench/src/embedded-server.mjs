/**
 * The embedded API server in a process of its own, as published. Plain JavaScript: reading TypeScript costs memory.
 *
 * Usage: embedded-server.mjs [starts]
 *
 * With a number it starts that many servers, one after another, and prints how long each took, in milliseconds as JSON.
 * Without, it starts one, prints how to reach it as JSON, and ends on SIGTERM.
 */
import { get } from "node:https";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";

const [starts] = process.argv.slice(2);
if (starts === undefined) await serve();
else process.stdout.write(`${JSON.stringify(await timeStarts(Number(starts)))}\n`);

async function serve() {
  const server = await startApiServer();
  const { certificatePem, privateKeyPem } = server.issueClientCertificate("bench", ["system:masters"]);
  const access = { server: server.url, ca: server.caPem, cert: certificatePem, key: privateKeyPem };
  process.stdout.write(`${JSON.stringify(access)}\n`);
  await new Promise((resolve) => process.once("SIGTERM", resolve));
  await server.close();
}

/** From the call of `startApiServer` to the first 200 over HTTPS. */
async function timeStarts(count) {
  const milliseconds = [];
  for (let start = 0; start < count; start++) {
    const began = performance.now();
    const server = await startApiServer();
    await answers(server);
    milliseconds.push(performance.now() - began);
    await server.close();
  }
  return milliseconds;
}

/** One request, on a connection of its own. */
async function answers({ url, caPem, token }) {
  const path = "/api/v1/namespaces/default";
  const status = await new Promise((resolve, reject) => {
    get(url + path, { ca: caPem, headers: { authorization: `Bearer ${token}` }, agent: false }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    }).once("error", reject);
  });
  if (status !== 200) throw new Error(`GET ${url}${path}: ${status}, expected 200`);
}
