import { systemClock, type Clock } from "@virtual-kubelet/clock";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApiServerTarget } from "../control-plane/api-request.ts";
import { writeKubeconfig, type KubeconfigFile } from "../control-plane/control-plane-access.ts";
import { kubeconfigText, type ClientCredentials } from "../control-plane/kubeconfig.ts";
import type { FaultRule } from "./fault-rules.ts";
import type { BodyFault, Fault, RequestMatch } from "./faults.ts";
import { ProxyServer } from "./proxy-server.ts";
import type { ProxiedRequest } from "./request-log.ts";

/** Options of {@link startFaultProxy}. */
export interface FaultProxyOptions {
  /** The API server, with the credentials for requests that use the proxy's kubeconfig. */
  readonly target: ApiServerTarget;
  /** Whether the proxy uses TLS with a certificate of its own authority; default: true. */
  readonly tls?: boolean | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * An HTTP/1.1 proxy in front of an API server that injects faults. It does not forward upgrades (exec, attach, port-forward).
 */
export interface FaultProxy extends AsyncDisposable {
  /** Such as `https://127.0.0.1:40123`. */
  readonly server: string;
  /** PEM of the proxy's own authority; empty without TLS. */
  readonly caCertificate: string;
  /** A kubeconfig that reaches the API server through the proxy, with the target's credentials. */
  readonly kubeconfig: KubeconfigFile;
  /** The proxy as an API server, with the same credentials as {@link kubeconfig}. */
  readonly target: ApiServerTarget;
  /** A kubeconfig that reaches the API server through the proxy with the caller's own bearer token. */
  kubeconfigWith(credentials: ClientCredentials): KubeconfigFile;
  /**
   * Applies the fault to future requests that match: to the next `times` requests, or to all until the rule is disposed.
   * If several rules match, only the one that was injected first applies.
   */
  inject(match: RequestMatch & { readonly times?: number | undefined }, fault: Fault): FaultRule;
  /** Applies the fault to responses in progress, such as open watches. @returns the number of these responses */
  disrupt(match: RequestMatch, fault: BodyFault): number;
  /** Removes all rules. Faults that were already applied remain in effect. */
  clear(): void;
  /** Every request, oldest first. */
  readonly requests: readonly ProxiedRequest[];
  /** Number of requests that match. */
  count(match: RequestMatch): number;
  /** Number of connections to the proxy so far. */
  readonly connections: number;
  /** Number of matching responses in progress. */
  open(match: RequestMatch): number;
}

/** Starts the proxy on a free port of 127.0.0.1. */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const clock = options.clock ?? systemClock;
  const authority = options.tls === false ? undefined : createCertificateAuthority("fault-proxy-ca");
  const directory = await mkdtemp(join(tmpdir(), "fault-proxy-"));
  const proxy = new ProxyServer(options.target, clock);
  const port = await proxy.listen(authority);
  const server = `${authority === undefined ? "http" : "https"}://127.0.0.1:${String(port)}`;
  const caCertificate = authority?.certificate ?? "";
  const credentials = { token: proxy.token };

  return {
    server,
    caCertificate,
    kubeconfig: kubeconfigWith(credentials),
    target: { server, credentials, ...(authority === undefined ? {} : { caCertificate }) },
    kubeconfigWith,
    inject: (match, fault) => proxy.rules.add(match, fault),
    disrupt: (match, fault) => proxy.disrupt(match, fault),
    clear: () => proxy.rules.clear(),
    requests: proxy.log.entries,
    count: (match) => proxy.log.count(match),
    get connections() {
      return proxy.connections;
    },
    open: (match) => proxy.matchingBodies(match).length,
    async [Symbol.asyncDispose]() {
      await proxy.close();
      await rm(directory, { recursive: true, force: true });
    },
  };

  function kubeconfigWith(own: ClientCredentials): KubeconfigFile {
    const text = kubeconfigText({ server, credentials: own, ...(authority === undefined ? {} : { caCertificate }) });
    return writeKubeconfig(join(directory, `${randomBytes(6).toString("hex")}.json`), text);
  }
}
