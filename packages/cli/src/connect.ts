import { isInvalidInput, messageOf } from "@virtual-kubelet/errdefs";
import {
  createHttpTransport,
  createKubeClient,
  loadCredentials,
  noMetrics,
  type Credentials,
  type HttpPoolOptions,
  type KubeClient,
  type Metrics,
  type Transport,
} from "@virtual-kubelet/kube-client";
import type { LoadedSettings } from "./config/load-settings.ts";
import type { Context } from "./context.ts";
import { ConfigError } from "./program-error.ts";

/** Number of nodes up to which the heartbeats of all take turns on one HTTP/1.1 connection. */
const maxNodesInTurn = 10;

/**
 * Returns how the heartbeats of so many nodes are sent. Those of many nodes, each of which renews its Lease every 10 s, do not wait for each other:
 * over HTTP/2 they share a connection. If the server has only HTTP/1.1, fifty nodes take turns on each.
 */
function heartbeatPool(nodes: number): Partial<HttpPoolOptions> {
  return nodes > maxNodesInTurn ? { http2: true, connections: Math.ceil(nodes / 50) } : {};
}

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
    const transport = createHttpTransport({ credentials, pools: { lease: heartbeatPool(settings.nodes.length) } });
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
