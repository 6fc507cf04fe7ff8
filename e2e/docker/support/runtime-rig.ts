import { podRef, type Pod } from "@virtual-kubelet/core";
import { containerLabels, podLabels, type ContainerSpec, type RuntimeSandbox, type SandboxSpec } from "@virtual-kubelet/pod-runtime";
import { DockerRuntime } from "../../../providers/docker/src/docker-runtime.ts";
import type { DockerEngine } from "../../../providers/docker/src/engine/docker-engine.ts";
import type { DockerRuntimeSettings } from "../../../providers/docker/src/runtime-settings.ts";
import { connectShared } from "./docker-engine.ts";

/** Options of a {@link RuntimeRig}. */
export interface RuntimeRigOptions {
  readonly engine?: DockerEngine | undefined;
  readonly settings?: Partial<DockerRuntimeSettings>;
  readonly gpus?: readonly string[];
}

const never = new AbortController().signal;

/** A runtime on the shared engine, for the pods of a separate node. Disposing removes all its sandboxes. */
export class RuntimeRig implements AsyncDisposable {
  readonly runtime: DockerRuntime;
  readonly engine: DockerEngine;
  readonly owner: { readonly clusterId: string; readonly nodeName: string };
  /** Labels of everything that this rig owns. */
  readonly ownerLabels: Readonly<Record<string, string>>;

  readonly #owned: Disposable | undefined;

  private constructor(name: string, engine: DockerEngine, { settings, gpus = [] }: RuntimeRigOptions, owned: Disposable | undefined) {
    this.engine = engine;
    this.#owned = owned;
    this.owner = { clusterId: "e2e-runtime", nodeName: `${name}-${process.pid}` };
    this.ownerLabels = { "virtual-kubelet.io/cluster": this.owner.clusterId, "virtual-kubelet.io/node": this.owner.nodeName };
    this.runtime = new DockerRuntime({
      engine,
      ownerLabels: this.ownerLabels,
      gpus: () => Promise.resolve(gpus),
      settings: {
        namePrefix: "vke2e",
        sandboxImage: "registry.k8s.io/pause:3.10",
        network: "bridge",
        networkFolder: "/nonexistent",
        log: { maxSize: "10m", maxFiles: 2 },
        runtimeClasses: {},
        devices: {},
        seccompFolder: "/nonexistent",
        imageFolder: "/nonexistent",
        parallelPulls: 2,
        pullProgressTimeoutMs: 60_000,
        ...settings,
      },
    });
  }

  /** Opens a rig on the level's engine. */
  static async open(name: string, options: RuntimeRigOptions = {}): Promise<RuntimeRig> {
    if (options.engine) return new RuntimeRig(name, options.engine, options, undefined);
    const engine = connectShared();
    return new RuntimeRig(name, engine, options, engine);
  }

  /** A pod with these fields. */
  pod(name: string, spec: Partial<NonNullable<Pod["spec"]>> = {}, annotations: Readonly<Record<string, string>> = {}): Pod {
    return {
      metadata: { namespace: "default", name, uid: `${name}-${this.owner.nodeName}`, annotations: { ...annotations } },
      spec: { containers: [{ name: "app", image: "busybox:1.37" }], ...spec },
    };
  }

  /** Spec of a pod's sandbox. */
  sandboxSpec(pod: Pod, more: Partial<SandboxSpec> = {}): SandboxSpec {
    return { labels: podLabels(podRef(pod), this.owner, 0), hostname: pod.metadata?.name ?? "", hosts: [], pod, ...more };
  }

  /** Spec of a pod's container; it sleeps by default. */
  containerSpec(pod: Pod, more: Partial<ContainerSpec> & { readonly attempt?: number } = {}): ContainerSpec {
    const { attempt = 0, container = pod.spec?.containers[0] ?? { name: "app" }, ...rest } = more;
    return {
      labels: containerLabels(podRef(pod), this.owner, { container: container.name, attempt, specHash: "h" }),
      imageId: "busybox:1.37",
      command: ["sh", "-c", "trap 'exit 7' TERM; while :; do sleep 1 & wait $!; done"],
      args: [],
      environment: [],
      mounts: [],
      limits: {},
      oomScoreAdjustment: 1000,
      pod,
      container,
      ...rest,
    };
  }

  /** Creates a sandbox for a pod. */
  sandbox(pod: Pod, more: Partial<SandboxSpec> = {}): Promise<RuntimeSandbox> {
    return this.runtime.createSandbox(this.sandboxSpec(pod, more), never);
  }

  /** Starts a container in a sandbox. */
  async run(sandboxId: string, spec: ContainerSpec): Promise<string> {
    const id = await this.runtime.createContainer(sandboxId, spec, never);
    await this.runtime.startContainer(id, never);
    return id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { sandboxes } = await this.runtime.list(this.ownerLabels, never);
    await Promise.all(sandboxes.map(({ id }) => this.runtime.removeSandbox(id, never)));
    await this.runtime[Symbol.asyncDispose]();
    this.#owned?.[Symbol.dispose]();
  }
}
