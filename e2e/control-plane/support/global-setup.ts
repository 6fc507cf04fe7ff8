import { startControlPlane, type ControlPlane } from "@virtual-kubelet/testing";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** Folder of the control plane that all test files share; for `openControlPlane`. */
    controlPlane: string;
  }
}

let controlPlane: ControlPlane | undefined;

/** Starts the control plane that the files of this level share. Without one the level fails: it never passes empty. */
export async function setup(project: TestProject): Promise<void> {
  controlPlane = await startControlPlane({
    audit: "Request",
    flags: {
      // A node that falls silent is noticed in seconds; the tests' nodes renew their lease every three.
      "kube-controller-manager": { "node-monitor-period": "1s", "node-monitor-grace-period": "20s" },
    },
    onBuild: (how) => console.error(how),
  });
  project.provide("controlPlane", controlPlane.directory);
}

/** Ends it. */
export async function teardown(): Promise<void> {
  await controlPlane?.stop();
}
