import { VirtualNode, type NodeAccess } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import {
  createKubeClient,
  resources,
  type ContainerStatus,
  type KubeClient,
  type NodeCondition,
  type Pod,
  type PodSpec,
} from "@virtual-kubelet/kube-client";
import { labelNames } from "@virtual-kubelet/pod-runtime";
import { provider } from "@virtual-kubelet/provider-docker";
import { eventually } from "@virtual-kubelet/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { controlGroupOf } from "./control-groups.ts";
import type { EngineApi } from "./engine-api.ts";
import { unmountAll } from "./mounts.ts";

const { signal } = new AbortController();

/** Time-out in milliseconds for awaited states on a busy machine. */
export const patienceMs = 180_000;

/** A node with the Docker provider in this process, on an embedded API server. Disposing also removes its containers. */
export class EmbeddedNode implements AsyncDisposable {
  readonly name: string;
  readonly client: KubeClient;
  readonly server: ApiServer;
  /** Access to the node's pods, as its server would have it. */
  readonly access: NodeAccess;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #cleanup: AsyncDisposableStack;

  private constructor(name: string, { server, node, cleanup }: Made) {
    this.name = name;
    this.client = createKubeClient(server.transport());
    this.server = server;
    this.access = node.access;
    this.#cleanup = cleanup;
    this.#running = node.run(this.#stop.signal);
  }

  /**
   * Starts the node; returns when it is ready.
   *
   * @param more - fields of the provider's configuration, such as the `host` of a proxy in front of the engine
   */
  static async start(name: string, api: EngineApi, more: object = {}): Promise<EmbeddedNode> {
    await using cleanup = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "vk-docker-node-"));
    cleanup.defer(async () => {
      unmountAll(directory);
      await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    });
    cleanup.defer(async () => {
      const ids = await api.containers({ [labelNames.node]: name });
      await Promise.all(ids.map((id) => api.remove(id)));
    });
    const server = await startApiServer();
    cleanup.defer(() => server.close());
    const node = new VirtualNode({
      client: createKubeClient(server.transport()),
      provider,
      providerConfig: {
        host: api.host,
        rootDirectory: join(directory, "root"),
        cgroupParent: controlGroupOf(api.host),
        log: { folder: join(directory, "logs") },
        ...more,
      },
      node: { name, pingIntervalMs: 500, instance: { identity: name } },
    });
    const made = new EmbeddedNode(name, { server, node, cleanup: cleanup.move() });
    made.#running.catch(() => undefined);
    await node.ready;
    return made;
  }

  /** Creates a pod on the node, with a grace period of two seconds. */
  async create(name: string, spec: Omit<PodSpec, "nodeName">): Promise<Pod> {
    const pod = { metadata: { name, namespace: "default" }, spec: { nodeName: this.name, terminationGracePeriodSeconds: 2, ...spec } };
    return this.client.create(resources.pods, pod, { signal });
  }

  async pod(name: string): Promise<Pod> {
    return this.client.get(resources.pods, { namespace: "default", name }, { signal });
  }

  /** Waits until the pod's status passes the check. */
  async until(name: string, what: string, check: (status: NonNullable<Pod["status"]>) => void): Promise<Pod> {
    return eventually(
      async () => {
        const pod = await this.pod(name);
        check(pod.status ?? {});
        return pod;
      },
      { timeoutMs: patienceMs, intervalMs: 100, describe: `pod ${name} ${what}` },
    );
  }

  /** Waits until the pod runs and its first container has this restart count. */
  async running(name: string, restartCount = 0): Promise<ContainerStatus> {
    const pod = await this.until(name, "to run", ({ phase, containerStatuses }) => {
      expect([phase, containerStatuses?.[0]?.state?.running !== undefined, containerStatuses?.[0]?.restartCount]).toEqual([
        "Running",
        true,
        restartCount,
      ]);
    });
    const [first] = pod.status?.containerStatuses ?? [];
    if (first === undefined) throw new Error(`pod ${name} has no container`);
    return first;
  }

  /** Reasons and messages of the events on the pod. */
  async events(name: string): Promise<{ readonly reason: string; readonly message: string }[]> {
    const { items } = await this.client.list(resources.events, { namespace: "default" }, { signal });
    const about = items.filter(({ involvedObject }) => involvedObject.name === name);
    return about.map(({ reason = "", message = "" }) => ({ reason, message }));
  }

  /** Status of the node's Ready condition. */
  async ready(): Promise<string | undefined> {
    return (await this.readyCondition())?.status;
  }

  /** The node's Ready condition. */
  readyCondition(): Promise<NodeCondition | undefined> {
    return this.condition("Ready");
  }

  /** A condition of the node. */
  async condition(type: string): Promise<NodeCondition | undefined> {
    const { status } = await this.client.get(resources.nodes, { name: this.name }, { signal });
    return status?.conditions?.find((condition) => condition.type === type);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    await this.#running.catch(() => undefined);
    await this.#cleanup.disposeAsync();
  }
}

interface Made {
  readonly server: ApiServer;
  readonly node: VirtualNode;
  readonly cleanup: AsyncDisposableStack;
}
