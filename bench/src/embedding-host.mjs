/**
 * A program that imports the embedded API server, as published. Plain JavaScript: reading TypeScript costs memory.
 *
 * Usage: embedding-host.mjs KUBECONFIG | STARTS
 *
 * With a number it starts that many servers, one after another, and prints how long each took, in milliseconds as JSON.
 * Else it starts one, writes its kubeconfig, says so, and ends on SIGTERM.
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
