import { networkInterfaces } from "node:os";
import { startControlPlane, type ControlPlane } from "@virtual-kubelet/testing";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** Folder of the control plane that all test files share; for `openControlPlane`. */
    controlPlane: string;
    /** Path of metrics-server. */
    metricsServer: string;
    /** Path of the program with upstream's end-to-end suite. */
    upstreamE2e: string;
    /** Address of the network namespace, which nodes and aggregated servers use. */
    nodeAddress: string;
  }
}

let controlPlane: ControlPlane | undefined;

/** Starts the control plane that all files of this level share. @throws Error outside a network namespace */
export async function setup(project: TestProject): Promise<void> {
  const nodeAddress = networkInterfaces()["lo"]?.find(({ family, address }) => family === "IPv4" && !address.startsWith("127."))?.address;
  const metricsServer = process.env["METRICS_SERVER"];
  const upstreamE2e = process.env["UPSTREAM_E2E"];
  if (nodeAddress === undefined || metricsServer === undefined || upstreamE2e === undefined)
    throw new Error("these tests need a network namespace, metrics-server and upstream's suite: run make test LEVEL=node-network");
  controlPlane = await startControlPlane({
    flags: {
      "kube-apiserver": { "enable-aggregator-routing": "true", "advertise-address": nodeAddress },
      // With these settings an autoscaler decides in seconds instead of minutes.
      "kube-controller-manager": {
        "horizontal-pod-autoscaler-sync-period": "2s",
        "horizontal-pod-autoscaler-cpu-initialization-period": "5s",
        "horizontal-pod-autoscaler-initial-readiness-delay": "1s",
      },
    },
  });
  project.provide("controlPlane", controlPlane.directory);
  project.provide("metricsServer", metricsServer);
  project.provide("upstreamE2e", upstreamE2e);
  project.provide("nodeAddress", nodeAddress);
}

/** Stops the control plane. */
export async function teardown(): Promise<void> {
  await controlPlane?.stop();
}
