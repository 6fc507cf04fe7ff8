import type { DeepReadonly, Pod, RegistryCredentials } from "@virtual-kubelet/core";
import { ConflictError, isConflict, isNotFound, UnavailableError } from "@virtual-kubelet/errdefs";
import { labelNames, type RuntimeSandbox, type SandboxSpec } from "@virtual-kubelet/pod-runtime";
import type { ContainerInfo, ContainerInspectInfo } from "dockerode";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { engineMessageOf } from "../engine/engine-error.ts";
import type { EngineObjects } from "../engine/engine-objects.ts";
import type { EngineImages } from "../image/engine-images.ts";
import type { EngineInventory } from "../inventory/engine-inventory.ts";
import type { PodNetwork } from "../network/pod-network.ts";
import { isSameObject, objectName } from "../engine/object-names.ts";
import type { DockerRuntimeSettings } from "../runtime-settings.ts";
import { ociRuntime } from "./runtime-class.ts";
import { sandboxBody } from "./sandbox-body.ts";

/** Finds registry credentials for an image, of the pod and of the node. */
export type SandboxCredentials = (pod: DeepReadonly<Pod>, image: string, signal: AbortSignal) => Promise<readonly RegistryCredentials[]>;

export interface DockerSandboxesOptions {
  readonly engine: DockerEngine;
  readonly objects: EngineObjects;
  readonly inventory: EngineInventory;
  readonly images: EngineImages;
  readonly settings: DockerRuntimeSettings;
  /** Connects new sandboxes. */
  readonly network: PodNetwork;
  /** Every network that a sandbox may be connected to, including {@link network}. */
  readonly networks: readonly PodNetwork[];
  /** Registry credentials for pulling the sandbox image. */
  readonly credentials: SandboxCredentials;
}

/** Pods' sandboxes: pause containers that hold the namespaces that a pod's containers share. */
export class DockerSandboxes {
  readonly #options: DockerSandboxesOptions;
  /** Whether the engine can set an OOM score below 0; `undefined` before the first sandbox. */
  #canLowerOomScore: boolean | undefined;
  /** Known cgroup parents by sandbox id; empty: the engine's default. */
  readonly #cgroupParents = new Map<string, string>();

  constructor(options: DockerSandboxesOptions) {
    this.#options = options;
  }

  /** As `ContainerRuntime.createSandbox`. */
  async create(spec: SandboxSpec, signal: AbortSignal): Promise<RuntimeSandbox> {
    const isProbe = this.#canLowerOomScore === undefined;
    try {
      const sandbox = await this.#tryCreate(spec, this.#canLowerOomScore ?? true, signal);
      this.#canLowerOomScore ??= true;
      return sandbox;
    } catch (error) {
      // An engine that cannot lower a score only reports a failure of its runtime. The creation is repeated without the score.
      if (signal.aborted || !isProbe || !/OCI runtime|oom_score_adj/i.test(engineMessageOf(error) ?? "")) throw error;
      const sandbox = await this.#tryCreate(spec, false, signal);
      this.#forgoLowOomScores();
      return sandbox;
    }
  }

  /** As `ContainerRuntime.stopSandbox`. */
  async stop(id: string, signal: AbortSignal): Promise<void> {
    const { objects } = this.#options;
    const running = (await this.#members(id, signal)).filter(({ State }) => State === "running" || State === "paused");
    await Promise.all(running.map((member) => objects.kill(member.Id, signal)));
    // Before the kill, while the process keeps the namespace alive.
    await this.#disconnect(id, signal);
    await objects.kill(id, signal);
  }

  /** As `ContainerRuntime.removeSandbox`. */
  async remove(id: string, signal: AbortSignal): Promise<void> {
    const { objects, inventory } = this.#options;
    for (const members = await this.#members(id, signal); members.length > 0;) {
      await Promise.all(members.splice(0, removalsAtOnce).map((member) => objects.remove(member.Id, signal)));
    }
    await this.#disconnect(id, signal);
    await objects.remove(id, signal);
    inventory.forget(id);
    this.#cgroupParents.delete(id);
  }

  /** Whether containers in the sandbox can have an OOM score below 0. */
  async canLowerOomScore(sandboxId: string, signal: AbortSignal): Promise<boolean> {
    if (this.#canLowerOomScore === undefined) {
      // The score of an earlier program's sandbox shows whether the engine could lower it.
      const { HostConfig } = await this.#options.inventory.inspect(sandboxId, signal);
      if ((HostConfig.OomScoreAdj ?? 0) < 0) this.#canLowerOomScore = true;
      else this.#forgoLowOomScores();
    }
    return this.#canLowerOomScore ?? false;
  }

  /** Cgroup parent of a sandbox and its containers; `undefined`: the engine's default. */
  async cgroupParent(sandboxId: string, signal: AbortSignal): Promise<string | undefined> {
    if (!this.#cgroupParents.has(sandboxId)) {
      try {
        this.#noteCgroup(await this.#options.inventory.inspect(sandboxId, signal));
      } catch (error) {
        // The engine reports the missing sandbox when a container is created in it.
        if (!isNotFound(error)) throw error;
      }
    }
    return this.#cgroupParents.get(sandboxId) || undefined;
  }

  async #undo(id: string, signal: AbortSignal): Promise<void> {
    await this.#disconnect(id, signal);
    await this.#options.objects.remove(id, signal);
  }

  async #disconnect(id: string, signal: AbortSignal): Promise<void> {
    for (const network of this.#options.networks) await network.disconnect(id, signal);
  }

  #noteCgroup({ Id, HostConfig }: ContainerInspectInfo): void {
    this.#cgroupParents.set(Id, HostConfig.CgroupParent ?? "");
  }

  async #members(id: string, signal: AbortSignal): Promise<ContainerInfo[]> {
    return [...(await this.#options.inventory.listed({ [labelNames.sandboxId]: id }, signal))];
  }

  async #tryCreate(spec: SandboxSpec, canLowerOomScore: boolean, signal: AbortSignal): Promise<RuntimeSandbox> {
    const { engine } = this.#options;
    const { podNamespace, podName } = labelNames;
    const what = `create the sandbox of pod ${spec.labels[podNamespace]}/${spec.labels[podName]}`;
    const id = await this.#make(spec, { what, canLowerOomScore }, signal);
    try {
      await this.#start(id, what, signal);
      if (!spec.pod.spec?.hostNetwork) await this.#options.network.connect(id, spec, signal);
      return await this.#settle(id, what, signal);
    } catch (error) {
      // Also when aborted, so that nothing is left behind.
      await this.#undo(id, new AbortController().signal).catch((err: unknown) => {
        engine.logger.warn({ err, sandbox: id }, "a sandbox that could not be started was not removed");
      });
      throw error;
    }
  }

  /** Creates a sandbox, or finds the one of an earlier try. */
  async #make(spec: SandboxSpec, options: MakeOptions, signal: AbortSignal): Promise<string> {
    const { what, canLowerOomScore, isRetry = false } = options;
    const { objects, images, inventory, settings, network, credentials } = this.#options;
    const name = objectName(spec.labels, settings.namePrefix);
    const body = sandboxBody(spec, {
      image: settings.sandboxImage,
      network: network.mode(spec.pod),
      canLowerOomScore,
      cgroupParent: spec.cgroupParent ?? settings.cgroupParent,
      runtime: ociRuntime(spec.pod, settings.runtimeClasses),
    });
    try {
      return await objects.create(name, body, what, signal);
    } catch (error) {
      if (isRetry) throw error;
      if (isNotFound(error) && /no such image/i.test(engineMessageOf(error) ?? "")) {
        await images.pullImage(settings.sandboxImage, await credentials(spec.pod, settings.sandboxImage, signal), signal);
        return this.#make(spec, { ...options, isRetry: true }, signal);
      }
      if (!isConflict(error)) throw error;
      const held = await inventory.inspect(name, signal);
      if (!isSameObject(held.Config.Labels, spec.labels)) throw error;
      if (held.State.Running) return held.Id;
      await objects.remove(held.Id, signal);
      return this.#make(spec, { ...options, isRetry: true }, signal);
    }
  }

  async #start(id: string, what: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.objects.start(id, what, signal);
    } catch (error) {
      const said = engineMessageOf(error) ?? "";
      if (!/port is already allocated|address already in use/i.test(said)) throw error;
      throw new ConflictError(`${what}: a port of the host is taken: ${said}`, { cause: error });
    }
  }

  /** Reads the sandbox that the engine has created. */
  async #settle(id: string, what: string, signal: AbortSignal): Promise<RuntimeSandbox> {
    const inspected = await this.#options.inventory.inspect(id, signal);
    this.#noteCgroup(inspected);
    const sandbox = await this.#options.inventory.sandboxIn(inspected);
    if (!sandbox.isReady) {
      const said =
        inspected.State.Error || (inspected.State.Running ? "it has no address" : `it ended at once with ${inspected.State.ExitCode}`);
      throw new UnavailableError(`${what}: ${said}`);
    }
    return sandbox;
  }

  #forgoLowOomScores(): void {
    if (this.#canLowerOomScore === false) return;
    this.#canLowerOomScore = false;
    const message = "the Docker engine may not give a process an OOM score under 0 here: sandboxes and guaranteed pods get 0; said once";
    this.#options.engine.logger.warn({}, message);
  }
}

/** Maximum number of containers that are removed at once. */
const removalsAtOnce = 8;

interface MakeOptions {
  readonly what: string;
  readonly canLowerOomScore: boolean;
  readonly isRetry?: boolean;
}
