import { resolve } from "node:path";
import { startApiServer, type ApiServerOptions } from "../start-api-server.ts";
import { machineNames } from "./machine-names.ts";

/** What the program serves. */
export interface ServerSettings {
  /** Path of the administrator's kubeconfig, which is written at the start. */
  readonly kubeconfig: string;
  readonly server: Pick<
    ApiServerOptions,
    "host" | "port" | "certificateHosts" | "advertisedUrl" | "token" | "contextName" | "authorization" | "controllers" | "serviceAccounts"
  >;
}

/**
 * Serves until SIGINT or SIGTERM; a second signal ends the process at once.
 *
 * @throws Error of Node.js if it cannot listen or cannot write the kubeconfig
 */
export async function serve({ kubeconfig, server: options }: ServerSettings): Promise<void> {
  const stopped = untilSignal();
  const certificateHosts = [...(options.certificateHosts ?? []), ...machineNames(options.host)];
  await using server = await startApiServer({ ...options, certificateHosts });
  await server.writeKubeconfig(kubeconfig);
  process.stdout.write(`Kubernetes ${server.version} at ${server.url}\nexport KUBECONFIG=${JSON.stringify(resolve(kubeconfig))}\n`);
  await stopped;
}

function untilSignal(): Promise<void> {
  const signals = ["SIGINT", "SIGTERM"] as const;
  return new Promise((done) => {
    const stop = (): void => {
      for (const signal of signals) process.off(signal, stop);
      done();
    };
    for (const signal of signals) process.on(signal, stop);
  });
}
