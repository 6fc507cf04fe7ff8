import type { MessagePort } from "node:worker_threads";
import { startApiServer, type ApiServerOptions } from "../start-api-server.ts";

/** What the program tells the thread that serves. It crosses threads, so it holds plain values only. */
export interface ServerSettings {
  /** File to write the administrator's kubeconfig to. */
  readonly kubeconfig: string;
  readonly server: Pick<ApiServerOptions, "host" | "port" | "certificateHosts" | "contextName" | "authorization" | "controllers">;
}

/** What the thread tells once it serves. */
export interface Serving {
  readonly url: string;
  /** The Kubernetes version it speaks. */
  readonly version: string;
}

/**
 * Serves until the first message comes.
 *
 * @throws Error of node if it cannot listen, or cannot write the kubeconfig
 */
export async function serve(parent: MessagePort, { kubeconfig, server: options }: ServerSettings): Promise<void> {
  await using server = await startApiServer(options);
  await server.writeKubeconfig(kubeconfig);
  const stopped = new Promise((resolve) => parent.once("message", resolve));
  const serving: Serving = { url: server.url, version: server.version };
  parent.postMessage(serving);
  await stopped;
}
