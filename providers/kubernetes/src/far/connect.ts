import type { Clock } from "@virtual-kubelet/clock";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import {
  createHttpTransport,
  createKubeClient,
  loadCredentials,
  openSocket,
  requireSuccess,
  type Credentials,
  type Identity,
  type Metrics,
} from "@virtual-kubelet/kube-client";
import { existsSync } from "node:fs";
import { Agent, type OutgoingHttpHeaders } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { callbackify } from "node:util";
import type { ConnectionConfig } from "../config/connection.ts";
import type { FarConnection } from "./far-cluster.ts";

/** What a connection needs of its surroundings. */
export interface ConnectOptions {
  /** Environment of credential commands, and of the proxy. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Metrics of the requests to the far cluster, by names of their own. */
  readonly metrics: Metrics;
}

/** Streams have no time limits, and each has a connection of its own, so that a slow reader holds up nobody else. */
const streams = { http2: false, headersTimeoutMs: 0, bodyTimeoutMs: 0 } as const;

/**
 * Connects to the far cluster of a kubeconfig. Sends nothing yet.
 *
 * @throws InvalidInputError if there is no kubeconfig, or it is invalid
 */
export async function connect({ kubeconfig, context }: ConnectionConfig, { env, clock, metrics }: ConnectOptions): Promise<FarConnection> {
  if (kubeconfig === undefined)
    throw new InvalidInputError(
      "cluster.kubeconfig is not set, expected the kubeconfig of the cluster that runs the pods: set it, or the variable FAR_KUBECONFIG",
    );
  if (!existsSync(kubeconfig))
    throw new InvalidInputError(
      `cluster.kubeconfig: there is no file ${kubeconfig}, expected the kubeconfig of the cluster that runs the pods: correct it, or the variable FAR_KUBECONFIG`,
    );
  const credentials = await loadCredentials({ kubeconfig, context, env, clock });
  const transport = createHttpTransport({ credentials, pools: { quiet: streams } });
  return {
    client: createKubeClient(transport, { metrics, clock }),
    namespace: credentials.namespace,
    async stream(path, signal) {
      const response = await transport.request({ method: "GET", path, pool: "quiet", signal });
      return requireSuccess(`GET ${path}`, response);
    },
    async upgradeTarget(path, signal, refused) {
      const identity = await currentIdentity(credentials, refused?.headers, signal);
      return {
        url: `${credentials.server}${path}`,
        headers: headersOf(credentials, identity),
        agent: agentOf(credentials, identity, signal),
      };
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

/** Returns the identity, renewed if the server has refused it. */
async function currentIdentity(credentials: Credentials, refused: OutgoingHttpHeaders | undefined, signal: AbortSignal): Promise<Identity> {
  const identity = await credentials.current(signal);
  if (!refused || refused["authorization"] !== identity.authorization) return identity;
  await credentials.refresh(signal);
  return credentials.current(signal);
}

/** Opens a connection for each request, through the proxy and with the TLS of the credentials. */
function agentOf(credentials: Credentials, identity: Identity, signal: AbortSignal): Agent {
  const agent = new URL(credentials.server).protocol === "https:" ? new HttpsAgent() : new Agent();
  const open = callbackify(() => openSocket(credentials, identity, signal));
  agent.createConnection = (_options, done) => {
    open((error, socket) => done?.(error, socket));
    return undefined;
  };
  return agent;
}

function headersOf({ headers = {} }: Credentials, { authorization }: Identity): OutgoingHttpHeaders {
  return {
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, typeof value === "string" ? value : [...value]])),
    ...(authorization !== undefined && { authorization }),
  };
}
