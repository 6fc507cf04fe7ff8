import type { VirtualNode } from "@virtual-kubelet/core";
import {
  ClientCaConfigMap,
  createAccessControl,
  createServingCertificate,
  noCertificateStore,
  openCertificateManager,
  servingNamesOf,
  startKubeletServer,
} from "@virtual-kubelet/kubelet-api";
import type { KubeClient, Logger } from "@virtual-kubelet/kube-client";
import { nodeMetrics, renderMetrics, type PrometheusMetrics } from "@virtual-kubelet/metrics";
import { once } from "node:events";
import { createServer } from "node:net";
import type { Context } from "../context.ts";

export const demoAddress = "127.0.0.1";

/** Finds a free port. The node must announce it before its server can listen on it. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, demoAddress);
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

export interface DemoKubeletOptions {
  readonly node: VirtualNode;
  readonly name: string;
  readonly port: number;
  readonly client: KubeClient;
  readonly context: Context;
  readonly logger: Logger;
  /** The node's metrics. */
  readonly metrics: PrometheusMetrics;
}

/**
 * Serves the demo node's logs, exec, port-forward and metrics, to the demo's API server only, with the access control of any other node.
 */
export async function serveDemoNode({ node, name, port, client, context, logger, metrics }: DemoKubeletOptions): Promise<AsyncDisposable> {
  const { clock, random } = context;
  const parts = { client, clock, random, logger, metrics };
  await using opened = new AsyncDisposableStack();
  const end = new AbortController();
  const clientCa = new ClientCaConfigMap(parts);
  const certificate = await openCertificateManager({
    ...parts,
    nodeName: name,
    names: () => node.node && servingNamesOf(node.node.status?.addresses ?? []),
    // Nobody approves certificates in the demo, and its API server does not request one.
    bootstrap: false,
    store: noCertificateStore,
  });
  opened.use(
    await startKubeletServer({
      nodes: [{ access: node.access }],
      host: demoAddress,
      port,
      accessControl: createAccessControl({ ...parts, clientCa, lifetime: end.signal }),
      certificate: createServingCertificate(certificate, clientCa),
      renderMetrics: async () => renderMetrics(nodeMetrics([node.access])) + (await metrics.render()),
      clock,
      logger,
      metrics,
    }),
  );
  const running = Promise.allSettled([clientCa.run(end.signal), certificate.run(end.signal)]);
  opened.defer(async () => {
    end.abort(new Error("the demo is over"));
    await running;
  });
  return opened.move();
}
