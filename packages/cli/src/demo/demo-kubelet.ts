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

/** The one address of the demo. */
export const demoAddress = "127.0.0.1";

/** A port nothing listened on a moment ago: the node has to name it before its server can be there. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, demoAddress);
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** What {@link serveDemoNode} needs. */
export interface DemoKubeletOptions {
  readonly node: VirtualNode;
  readonly name: string;
  readonly port: number;
  readonly client: KubeClient;
  readonly context: Context;
  readonly logger: Logger;
  /** What the node counts. */
  readonly metrics: PrometheusMetrics;
}

/** Serves the demo node's logs, exec, port-forward and metrics, to the demo's API server only; as closed as any node's. */
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
    // Nobody approves certificates here, and the demo's API server does not ask for one.
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
