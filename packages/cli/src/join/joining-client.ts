import { createHttpTransport, createKubeClient, fixedCredentials, type KubeClient, type TlsMaterial } from "@virtual-kubelet/kube-client";
import type { Context } from "../context.ts";

/** A client of an API server with its connections. */
interface OpenClient extends AsyncDisposable {
  readonly client: KubeClient;
}

/** Server and identity of a client. */
export interface ClientTarget {
  /** URL. */
  readonly server: string;
  readonly tls: TlsMaterial;
  /** Bearer token. Default: anonymous, unless {@link tls} has a certificate. */
  readonly token?: string | undefined;
  /** URL of the proxy. Default: the environment's. */
  readonly proxy?: string | undefined;
}

/** Opens a client; replaced in tests. */
export type OpenJoiningClient = (target: ClientTarget) => OpenClient;

/** Opens clients that go through the environment's proxy. @returns function that throws InvalidInputError for an invalid proxy */
export function joiningClients({ env }: Pick<Context, "env">): OpenJoiningClient {
  return (target) => {
    const transport = createHttpTransport({ credentials: fixedCredentials({ ...target, env }) });
    return { client: createKubeClient(transport), [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose]() };
  };
}
