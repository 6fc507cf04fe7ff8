import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";

const timeoutMs = 5000;

/** Asks the server at a port of this machine whether it is ready. @throws Error if it is not */
export async function checkReadiness(port: number): Promise<void> {
  // Nothing secret is sent, so the certificate does not matter.
  const request = get({ host: "127.0.0.1", port, path: "/readyz", rejectUnauthorized: false, agent: false, timeout: timeoutMs });
  const server = `the server at port ${String(port)}`;
  request.once("timeout", () => request.destroy(new Error(`${server} does not answer within ${String(timeoutMs)} ms`)));
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.resume();
  if (response.statusCode !== 200) throw new Error(`${server} answers /readyz with ${String(response.statusCode)}`);
}
