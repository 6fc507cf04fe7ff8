/**
 * A program that imports the published embedded API server. It is plain JavaScript because reading TypeScript costs memory.
 *
 * Usage: embedding-host.mjs KUBECONFIG | STARTS
 *
 * With a number it starts that many servers, one after another, and prints the duration of each start in milliseconds, as JSON.
 * Otherwise it starts one server, writes its kubeconfig, prints a line, and ends on SIGTERM.
 */
import { get } from "node:https";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";

const [word] = process.argv.slice(2);
if (/^\d+$/.test(word)) process.stdout.write(`${JSON.stringify(await timeStarts(Number(word)))}\n`);
else await serve(word);

async function serve(kubeconfig) {
  const server = await startApiServer();
  await server.writeKubeconfig(kubeconfig);
  process.stdout.write(`${server.url}\n`);
  await new Promise((resolve) => process.once("SIGTERM", resolve));
  await server.close();
}

/** Milliseconds from the call of `startApiServer` to the first response with status 200 over HTTPS. */
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

/** Sends one request on its own connection. */
async function answers({ url, caPem, token }) {
  const path = "/api/v1/namespaces/default";
  const status = await new Promise((resolve, reject) => {
    get(url + path, { ca: caPem, headers: { authorization: `Bearer ${token}` }, agent: false }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    }).once("error", reject);
  });
  if (status !== 200) throw new Error(`GET ${url}${path}: ${status}, expected 200`);
}
