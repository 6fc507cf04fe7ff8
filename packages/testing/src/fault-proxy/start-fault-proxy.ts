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

/** What the proxy stands before. */
export interface FaultProxyOptions {
  /** The API server, and the credentials for requests that come with the proxy's own kubeconfig. */
  readonly target: ApiServerTarget;
  /** Whether the proxy speaks TLS, with a certificate of its own authority; default `true`. */
  readonly tls?: boolean | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * An HTTP/1.1 proxy before an API server that can break what goes through it. Upgrades (exec, attach, port-forward)
 * do not go through.
 */
export interface FaultProxy extends AsyncDisposable {
  /** Such as `https://127.0.0.1:40123`. */
  readonly server: string;
  /** PEM of the proxy's own authority; empty without TLS. */
  readonly caCertificate: string;
  /** A kubeconfig that goes through the proxy with the target's credentials. */
  readonly kubeconfig: KubeconfigFile;
  /** The proxy as an API server, with the same credentials as {@link kubeconfig}. */
  readonly target: ApiServerTarget;
  /** A kubeconfig that goes through the proxy with a bearer token of the caller's own; the API server judges it. */
  kubeconfigWith(credentials: ClientCredentials): KubeconfigFile;
  /**
   * Applies the fault to requests to come that match: to the next `times`, or to all until the rule is disposed.
   * Of several rules, the first that was injected is applied, and only that.
   */
  inject(match: RequestMatch & { readonly times?: number | undefined }, fault: Fault): FaultRule;
  /** Applies the fault to answers that are under way, such as open watches. @returns how many there were */
  disrupt(match: RequestMatch, fault: BodyFault): number;
  /** Takes all rules back. What is broken already stays so. */
  clear(): void;
  /** Every request, oldest first. */
  readonly requests: readonly ProxiedRequest[];
  /** How many requests match. */
  count(match: RequestMatch): number;
  /** How many connections were ever made to the proxy. */
  readonly connections: number;
  /** How many answers that match are under way. */
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
