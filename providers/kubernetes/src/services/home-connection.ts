import type { Clock } from "@virtual-kubelet/clock";
import { InvalidInputError, isForbidden, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import {
  createHttpTransport,
  createKubeClient,
  loadCredentials,
  resources,
  type KubeClient,
  type Metrics,
} from "@virtual-kubelet/kube-client";
import type { ConnectionConfig } from "../config/connection.ts";

/** API server of the home cluster, for the mirror of Services. */
export interface HomeConnection extends AsyncDisposable {
  readonly client: KubeClient;
  /** URL, for messages. */
  readonly server: string;
}

/** Opens a {@link HomeConnection}. @throws InvalidInputError if there are no credentials, or they are invalid */
export type ConnectHome = (
  config: ConnectionConfig | undefined,
  context: { readonly clock: Clock; readonly metrics: Metrics },
) => Promise<HomeConnection>;

/** Connects with a kubeconfig, or else with the program's environment. */
export function connectHome(env: Readonly<Record<string, string | undefined>>): ConnectHome {
  return async (config, { clock, metrics }) => {
    const credentials = await loadCredentials({ kubeconfig: config?.kubeconfig, context: config?.context, env, clock }).catch(
      (error: unknown) => {
        throw new InvalidInputError(
          `services.home: ${messageOf(error)}; name the home cluster's kubeconfig in services.home.kubeconfig, or in the variable KUBECONFIG`,
        );
      },
    );
    const transport = createHttpTransport({ credentials });
    return {
      client: createKubeClient(transport, { metrics, clock }),
      server: credentials.server,
      [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
    };
  };
}

/**
 * Checks that the connection is one to the cluster in which this node is registered: a kubeconfig in the environment may be another one than the
 * program's.
 *
 * @throws InvalidInputError if it has no such node
 */
export async function checkHome({ client, server }: HomeConnection, nodeName: string, signal: AbortSignal): Promise<void> {
  try {
    await client.get(resources.nodes, { name: nodeName }, { signal, answer: "metadata" });
  } catch (error) {
    // Credentials only for Services cannot tell.
    if (isForbidden(error)) return;
    if (!isNotFound(error)) throw error;
    throw new InvalidInputError(
      `services.home: the cluster ${server} has no node ${nodeName}, so it is not the home cluster; name the home cluster's kubeconfig in services.home.kubeconfig`,
    );
  }
}
