import { randomBytes } from "node:crypto";
import { VirtualNode, type NodeOptions, type PodOptions, type ProviderDefinition } from "@virtual-kubelet/core";
import { resources, type KubeClient, type Node } from "@virtual-kubelet/kube-client";
import { eventually, RecordingProvider, type ControlPlaneAccess, type KubeconfigFile } from "@virtual-kubelet/testing";
import { expect, onTestFailed } from "vitest";
import { openClient } from "./cluster.ts";
import { LogBuffer } from "./log-buffer.ts";

/** Options of {@link startNode}. */
export interface TestNodeOptions {
  readonly kubeconfig: KubeconfigFile;
  /** Default: a unique name. */
  readonly name?: string | undefined;
  /** Recording provider; default: a new one. */
  readonly recording?: RecordingProvider | undefined;
  /** A provider that replaces the recording provider. */
  readonly provider?: { readonly definition: ProviderDefinition; readonly config: unknown } | undefined;
  readonly node?: Partial<NodeOptions> | undefined;
  readonly pods?: PodOptions | undefined;
  /** Whether to wait until the node is ready; default: true. */
  readonly wait?: boolean | undefined;
}

/** A virtual node in the test's process. */
export interface TestNode extends AsyncDisposable {
  readonly name: string;
  readonly node: VirtualNode;
  readonly recording: RecordingProvider;
  /** Resolves when the node has stopped; rejects with the error that ended it. */
  readonly running: Promise<void>;
  readonly log: LogBuffer;
  /** Stops the node gracefully. Disposing does the same. */
  stop(): Promise<void>;
}

/** Returns a unique name. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomBytes(3).toString("hex")}`;
}

/** Starts a node, which runs until it is disposed; returns when it is ready. The lease is renewed every three seconds. */
export async function startNode(options: TestNodeOptions): Promise<TestNode> {
  const name = options.name ?? uniqueName("node");
  const recording = options.recording ?? new RecordingProvider();
  const opened = await openClient(options.kubeconfig, "virtual-kubelet");
  const log = new LogBuffer();
  onTestFailed(() => console.error(log.lines.slice(-80).join("\n")));
  const node = new VirtualNode({
    client: opened.client,
    provider: options.provider?.definition ?? recording.definition,
    providerConfig: options.provider?.config ?? {},
    node: { name, taints: [], leaseDurationSeconds: 12, pingIntervalMs: 500, instance: { identity: name }, ...options.node },
    pods: options.pods,
    logger: log,
  });
  const abort = new AbortController();
  const running = runAndClose();
  running.catch(() => undefined);
  const stop = async (): Promise<void> => {
    abort.abort(new Error("the test stops the node"));
    await running.catch(() => undefined);
  };
  if (options.wait !== false) {
    try {
      await node.ready;
    } catch (error) {
      await stop();
      throw error;
    }
  }
  return { name, node, recording, running, log, stop, [Symbol.asyncDispose]: stop };

  async function runAndClose(): Promise<void> {
    await using _client = opened;
    await node.run(abort.signal, { shutdownTimeoutMs: 30_000 });
  }
}

/** Status and reason of a node's Ready condition. */
export async function readyCondition(client: KubeClient, name: string): Promise<{ readonly status: string; readonly reason: string }> {
  const node = await client.get(resources.nodes, { name }, { signal: new AbortController().signal });
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  return { status: ready?.status ?? "", reason: ready?.reason ?? "" };
}

/** Waits until the node's Ready condition has this status. */
export async function nodeToBe(client: KubeClient, name: string, status: "True" | "False" | "Unknown", timeoutMs = 90_000): Promise<void> {
  await eventually(async () => expect((await readyCondition(client, name)).status).toBe(status), {
    timeoutMs,
    describe: `node ${name} with Ready=${status}`,
  });
}

/** Reads the Node object from the API server. */
export async function getNode(client: KubeClient, name: string): Promise<Node> {
  return await client.get(resources.nodes, { name }, { signal: new AbortController().signal });
}

/** Deletes the Node object, so that the control plane stops monitoring it. */
export async function forgetNode(controlPlane: ControlPlaneAccess, name: string): Promise<void> {
  await controlPlane.kubectl(["delete", "node", name, "--ignore-not-found", "--wait=false"]);
}
