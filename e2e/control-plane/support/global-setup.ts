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
      "kube-controller-manager": {
        // A node that falls silent is noticed in seconds; the tests' nodes renew their lease every three.
        "node-monitor-period": "1s",
        "node-monitor-grace-period": "20s",
        // Many tests bind pods to nodes that are not there, which it would take away in the middle.
        controllers: "*,bootstrapsigner,tokencleaner,-pod-garbage-collector-controller",
      },
    },
    onBuild: (how) => console.error(how),
  });
  project.provide("controlPlane", controlPlane.directory);
}

/** Ends it. */
export async function teardown(): Promise<void> {
  await controlPlane?.stop();
}
