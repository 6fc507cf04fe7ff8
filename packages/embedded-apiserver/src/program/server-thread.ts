import type { MessagePort } from "node:worker_threads";
import { machineNames } from "./machine-names.ts";
import { startApiServer, type ApiServerOptions } from "../start-api-server.ts";

/** Settings of the server thread. Plain values only, because they are cloned into the thread. */
export interface ServerSettings {
  /** Path of the administrator's kubeconfig, which is written at the start. */
  readonly kubeconfig: string;
  readonly server: Pick<
    ApiServerOptions,
    "host" | "port" | "certificateHosts" | "advertisedUrl" | "token" | "contextName" | "authorization" | "controllers" | "serviceAccounts"
  >;
}

/** Message of the thread when it is serving. */
export interface Serving {
  readonly url: string;
  /** Kubernetes version of the server. */
  readonly version: string;
}

/**
 * Serves until the first message arrives.
 *
 * @throws Error of Node.js if it cannot listen or cannot write the kubeconfig
 */
export async function serve(parent: MessagePort, { kubeconfig, server: options }: ServerSettings): Promise<void> {
  const certificateHosts = [...(options.certificateHosts ?? []), ...machineNames(options.host)];
  await using server = await startApiServer({ ...options, certificateHosts });
  await server.writeKubeconfig(kubeconfig);
  const stopped = new Promise((resolve) => parent.once("message", resolve));
  const serving: Serving = { url: server.url, version: server.version };
  parent.postMessage(serving);
  await stopped;
}
