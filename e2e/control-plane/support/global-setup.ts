import { startControlPlane, type ControlPlane } from "@virtual-kubelet/testing";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** Folder of the control plane that all test files share; for `openControlPlane`. */
    controlPlane: string;
  }
}

let controlPlane: ControlPlane | undefined;

/**
 * Starts the control plane that all files of this level share. @throws Error without a control plane, so that the level never passes
 * without tests
 */
export async function setup(project: TestProject): Promise<void> {
  controlPlane = await startControlPlane({
    audit: "Request",
    flags: {
      "kube-controller-manager": {
        // A silent node is noticed within seconds; the tests' nodes renew their lease every three seconds.
        "node-monitor-period": "1s",
        "node-monitor-grace-period": "20s",
        // The pod garbage collector would delete pods that tests bind to missing nodes.
        controllers: "*,bootstrapsigner,tokencleaner,-pod-garbage-collector-controller",
      },
    },
    onBuild: (how) => console.error(how),
  });
  project.provide("controlPlane", controlPlane.directory);
}

/** Stops the control plane. */
export async function teardown(): Promise<void> {
  await controlPlane?.stop();
}
