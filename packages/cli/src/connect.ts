import { isInvalidInput, messageOf } from "@virtual-kubelet/errdefs";
import {
  createHttpTransport,
  createKubeClient,
  loadCredentials,
  noMetrics,
  type Credentials,
  type KubeClient,
  type Metrics,
  type Transport,
} from "@virtual-kubelet/kube-client";
import type { LoadedSettings } from "./config/load-settings.ts";
import type { Context } from "./context.ts";
import { ConfigError } from "./program-error.ts";

/** A client of the cluster with its connections. */
export interface Connection extends AsyncDisposable {
  readonly client: KubeClient;
  /** Carries the client's requests. */
  readonly transport: Transport;
  /** Credentials that the client sends to the API server. */
  readonly credentials: Credentials;
  /** Address of the API server. */
  readonly server: string;
}

/**
 * Creates a client of the cluster, without sending anything yet. All nodes of the program share it.
 *
 * @throws ConfigError if no cluster is configured, or the kubeconfig is invalid
 */
export async function connect(
  { settings, merged, resolvePath }: LoadedSettings,
  { env, clock }: Context,
  metrics: Metrics = noMetrics,
): Promise<Connection> {
  const path = ["cluster", "kubeconfig"];
  const { kubeconfig, context } = settings.cluster;
  const source = merged.sourceOf(path);
  // KUBECONFIG may be a list of files, which the client reads itself.
  const isOwn = kubeconfig !== undefined && !(source.kind === "env" && source.name === "KUBECONFIG");
  try {
    const credentials = await loadCredentials({ kubeconfig: isOwn ? resolvePath(path, kubeconfig) : undefined, context, env, clock });
    const transport = createHttpTransport({ credentials });
    return {
      client: createKubeClient(transport, { metrics }),
      transport,
      credentials,
      server: credentials.server,
      [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
    };
  } catch (error) {
    if (isInvalidInput(error)) throw new ConfigError(messageOf(error).replaceAll("\n", " "), { cause: error });
    throw error;
  }
}
