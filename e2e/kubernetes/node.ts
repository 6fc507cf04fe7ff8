import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { controlGroupOf } from "../docker/support/control-groups.ts";
import { unmountAll } from "../docker/support/mounts.ts";
import { startProgramNode, type NodeCluster } from "../support/program-node.ts";

/** Options of {@link startNode}. */
export interface NodeOptions {
  readonly controlPlane: NodeCluster;
  readonly name: string;
  readonly dockerHost: string;
  /** Image of the pods' sandboxes. */
  readonly sandboxImage: string;
  /** Address at which the API server reaches the node. */
  readonly address: string;
  /** Port of the kubelet's API. */
  readonly kubeletPort: number;
  /** Folder for the program's log. */
  readonly directory: string;
  /** Policy for pods, as in the provider's configuration; default: the provider's default. */
  readonly policy?: object | undefined;
  /** Whether the node looks like a machine of its cluster. A provider that runs pods in this cluster leaves virtual nodes out. */
  readonly isMachine?: boolean | undefined;
  /** Further fields of the provider's configuration. */
  readonly more?: object | undefined;
}

/** Starts the program with the Docker provider; returns when its node is Ready. */
export async function startNode(options: NodeOptions): Promise<AsyncDisposable> {
  const { controlPlane, name, dockerHost, sandboxImage, address, kubeletPort, directory, policy, isMachine, more } = options;
  await using cleanup = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), "vk-node-"));
  cleanup.defer(async () => {
    // Pods left over from tests still have their in-memory volumes mounted.
    unmountAll(home);
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  });
  const providerConfig = {
    host: dockerHost,
    sandboxImage,
    rootDirectory: join(home, "pods"),
    log: { folder: join(home, "logs") },
    cgroupParent: controlGroupOf(dockerHost),
    ...(policy && { policy }),
    ...more,
  };
  const words = ["--log-level", "debug", ...(isMachine === true ? ["--label", "type=machine"] : [])];
  cleanup.use(
    await startProgramNode({ controlPlane, name, provider: "docker", providerConfig, address, kubeletPort, directory, home, words }),
  );
  return cleanup.move();
}
