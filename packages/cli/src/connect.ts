import { isInvalidInput, messageOf } from "@virtual-kubelet/errdefs";
import {
  createHttpTransport,
  createKubeClient,
  loadCredentials,
  noMetrics,
  type Credentials,
  type KubeClient,
  type Metrics,
} from "@virtual-kubelet/kube-client";
import type { LoadedSettings } from "./config/load-settings.ts";
import type { Context } from "./context.ts";
import { ConfigError } from "./program-error.ts";

/** A client of the cluster, and the connections under it. */
export interface Connection extends AsyncDisposable {
  readonly client: KubeClient;
  /** What the client shows the API server. */
  readonly credentials: Credentials;
  /** The API server's address. */
  readonly server: string;
}

/**
 * Finds the cluster; nothing is sent yet. All nodes of the program share the connection.
 *
 * @throws ConfigError if there is no cluster to be found, or its kubeconfig is wrong
 */
export async function connect(
  { settings, merged, resolvePath }: LoadedSettings,
  { env, clock }: Context,
  metrics: Metrics = noMetrics,
): Promise<Connection> {
  const path = ["cluster", "kubeconfig"];
  const { kubeconfig, context } = settings.cluster;
  const source = merged.sourceOf(path);
  // KUBECONFIG may be a list of files, which the client reads by itself.
  const isOwn = kubeconfig !== undefined && !(source.kind === "env" && source.name === "KUBECONFIG");
  try {
    const credentials = await loadCredentials({ kubeconfig: isOwn ? resolvePath(path, kubeconfig) : undefined, context, env, clock });
    const transport = createHttpTransport({ credentials });
    return {
      client: createKubeClient(transport, { metrics }),
      credentials,
      server: credentials.server,
      [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
    };
  } catch (error) {
    if (isInvalidInput(error)) throw new ConfigError(messageOf(error).replaceAll("\n", " "), { cause: error });
    throw error;
  }
}
