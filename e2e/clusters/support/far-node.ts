import { freePort } from "@virtual-kubelet/testing";
import { inject } from "vitest";
import { startProgramNode } from "../../support/program-node.ts";
import type { Cluster } from "./cluster.ts";

/** Options of {@link startFarNode}. */
export interface FarNodeOptions {
  readonly name: string;
  /** Configuration of the provider `mock`. */
  readonly providerConfig: object;
  /** Folder for the configuration, the log and the program's own files. */
  readonly directory: string;
  /** Further labels, such as `pool=each`. */
  readonly labels?: readonly string[] | undefined;
}

/** Key of the taint of far nodes that only pods of the test file with this namespace tolerate. */
function taintOf({ namespace }: Cluster): string {
  return `example.com/${namespace}`;
}

/** For `scheduling.tolerations`: far nodes of {@link startFarNode} run the virtual node's pods. */
export function ownTolerations(far: Cluster): readonly object[] {
  return [{ key: taintOf(far), operator: "Exists" }];
}

/**
 * Starts a node of the far cluster that runs pods in memory; returns when it is Ready. It runs no pods of other test files, which would
 * find no containers there, or wait for it after this file has ended. Disposing stops it and deletes its Node.
 *
 * @param far - with the test file's own namespace
 */
export async function startFarNode(far: Cluster, options: FarNodeOptions): Promise<AsyncDisposable> {
  const { name, providerConfig, directory, labels = [] } = options;
  return await startProgramNode({
    controlPlane: far.access,
    name,
    provider: "mock",
    providerConfig,
    address: inject("nodeAddress"),
    kubeletPort: await freePort(),
    directory,
    home: directory,
    taint: taintOf(far),
    words: ["--on-shutdown", "delete", ...["type=machine", ...labels].flatMap((label) => ["--label", label])],
  });
}
