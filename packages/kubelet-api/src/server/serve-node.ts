import { systemClock, systemRandom, type Clock, type Random } from "@virtual-kubelet/clock";
import type { VirtualNode } from "@virtual-kubelet/core";
import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { noMetrics, silentLogger, type KubeClient, type Logger, type Metrics } from "@virtual-kubelet/kube-client";
import { createAccessControl } from "../access-control/create-access-control.ts";
import { ClientCaConfigMap } from "../authentication/client-ca-config-map.ts";
import { openCertificateManager } from "../certificates/certificate-manager.ts";
import { noCertificateStore, openCertificateDirectory } from "../certificates/certificate-store.ts";
import { createServingCertificate } from "../certificates/serving-certificate.ts";
import { servingNamesOf } from "../certificates/serving-names.ts";
import { startKubeletServer, type KubeletServer } from "./kubelet-server.ts";

/** Options of {@link serveNode}. */
export interface ServeNodeOptions {
  /** Checks callers, reads the cluster's client CA, and requests the serving certificate. */
  readonly client: KubeClient;
  /** Address to listen on. Default: all addresses. */
  readonly host?: string | undefined;
  /**
   * Folder that keeps the key, the certificate and an open request across restarts. Default: none, so each start requests a new
   * certificate.
   */
  readonly certDirectory?: string | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Default: the system's random numbers. */
  readonly random?: Random | undefined;
  /** Default: no log. */
  readonly logger?: Logger | undefined;
  /** Default: no metrics. */
  readonly metrics?: Metrics | undefined;
}

/**
 * Serves the kubelet's API of one node on its `kubeletPort`, with the settings of the program `virtual-kubelet`: callers are known by the
 * cluster's client CA or by TokenReview, and SubjectAccessReview decides what they may do; the certificate is self-signed until the
 * cluster's signer has issued one. The parts that this function connects are exported, for other settings.
 *
 * @returns the server; disposing of it ends open requests and closes it
 * @throws InvalidInputError if the node has no `kubeletPort`, and for an unusable folder; the system's error if the port cannot be bound
 */
export async function serveNode(
  node: Pick<VirtualNode, "access" | "health" | "node" | "kubeletPort">,
  options: ServeNodeOptions,
): Promise<KubeletServer> {
  const { client, host = "", certDirectory } = options;
  const { clock = systemClock, random = systemRandom, logger = silentLogger, metrics = noMetrics } = options;
  const { nodeName } = node.access;
  if (node.kubeletPort === 0) {
    throw new InvalidInputError(`serve node ${nodeName}: its kubeletPort is 0, so nobody would call; set node.kubeletPort, such as 10250`);
  }
  const parts = { client, clock, random, logger, metrics };
  const store = certDirectory === undefined ? noCertificateStore : await openCertificateDirectory(certDirectory, nodeName, logger);
  const clientCa = new ClientCaConfigMap(parts);
  const certificate = await openCertificateManager({
    ...parts,
    nodeName,
    names: () => node.node && servingNamesOf(node.node.status?.addresses ?? []),
    bootstrap: true,
    store,
  });
  const stop = new AbortController();
  const server = await startKubeletServer({
    nodes: [{ access: node.access, problem: () => (node.health.ready ? undefined : "the node is not ready yet") }],
    host,
    port: node.kubeletPort,
    accessControl: createAccessControl({ ...parts, clientCa, lifetime: stop.signal }),
    certificate: createServingCertificate(certificate, clientCa),
    clock,
    logger,
    metrics,
  });
  const onEnd = (error: unknown): void => logger.error({ err: messageOf(error) }, "a certificate is no longer kept up to date");
  const tasks = [clientCa.run(stop.signal).catch(onEnd), certificate.run(stop.signal).catch(onEnd)];
  return {
    port: server.port,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      stop.abort(new Error("the node's server stops"));
      await Promise.all(tasks);
    },
  };
}
