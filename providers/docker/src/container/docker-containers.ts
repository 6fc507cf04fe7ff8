import { untilAborted } from "@virtual-kubelet/async";
import { ConflictError, isConflict, isInvalidInput, isNotFound, UnsupportedError } from "@virtual-kubelet/errdefs";
import { labelNames, type ContainerSpec, type ResourceLimits, type StopContainerOptions } from "@virtual-kubelet/pod-runtime";
import type { ContainerInspectInfo } from "dockerode";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { engineMessageOf, engineStatusOf } from "../engine/engine-error.ts";
import type { EngineFacts } from "../engine/engine-facts.ts";
import type { EngineObjects } from "../engine/engine-objects.ts";
import type { ImageVolumes } from "../image-volume/image-volumes.ts";
import type { EngineImages } from "../image/engine-images.ts";
import { readState } from "../inventory/container-reading.ts";
import type { EngineInventory } from "../inventory/engine-inventory.ts";
import { isSameObject, objectName } from "../engine/object-names.ts";
import type { DockerRuntimeSettings } from "../runtime-settings.ts";
import type { DockerSandboxes } from "../sandbox/docker-sandboxes.ts";
import { ociRuntime } from "../sandbox/runtime-class.ts";
import { containerBody } from "./container-body.ts";
import { needsImageUser } from "./container-user.ts";
import { devicesOf, gpuResource, unitsOf, type GpuAllocator } from "./gpu-allocator.ts";
import { readSeccompProfile } from "./seccomp-profile.ts";
import { localSeccompProfile } from "./security-options.ts";

export interface DockerContainersOptions {
  readonly engine: DockerEngine;
  readonly facts: (signal: AbortSignal) => Promise<EngineFacts>;
  readonly objects: EngineObjects;
  readonly inventory: EngineInventory;
  readonly images: EngineImages;
  readonly sandboxes: DockerSandboxes;
  readonly gpus: GpuAllocator;
  readonly imageVolumes: ImageVolumes;
  readonly settings: DockerRuntimeSettings;
}

/** Containers in the pods' sandboxes. */
export class DockerContainers {
  readonly #options: DockerContainersOptions;
  /** Ids of containers that this program created and has not started. They need no inspection before their start. */
  readonly #fresh = new Set<string>();
  /** Stop signals that were sent, or are being sent. They are not repeated, even if their caller was aborted. */
  readonly #stopSignals = new Map<string, Promise<boolean>>();

  constructor(options: DockerContainersOptions) {
    this.#options = options;
  }

  /** As `ContainerRuntime.createContainer`. */
  async create(sandboxId: string, spec: ContainerSpec, signal: AbortSignal): Promise<string> {
    const what = `create container ${spec.container.name}`;
    return this.#options.gpus.withGpus(
      { count: unitsOf(spec.container, gpuResource), labels: spec.labels },
      (gpus) =>
        this.#options.imageVolumes.withMounts(
          spec.mounts,
          (mounts, volumeImages) => this.#make(sandboxId, { ...spec, mounts }, { gpus, volumeImages, what }, signal),
          signal,
        ),
      signal,
    );
  }

  /** As `ContainerRuntime.startContainer`. */
  async start(id: string, signal: AbortSignal): Promise<void> {
    const { objects, inventory } = this.#options;
    const what = `start container ${id.slice(0, 12)}`;
    if (!this.#fresh.delete(id)) {
      // The engine would start an ended container a second time.
      const inspected = await inventory.inspect(id, signal);
      const { kind } = readState(inspected);
      if (kind === "running") return;
      if (kind === "exited") throw new ConflictError(`${what}: it has ended, and is not started a second time`);
    }
    inventory.forget(id);
    await objects.start(id, what, signal);
  }

  /** As `ContainerRuntime.stopContainer`. Does not use the engine's own stop, which would repeat the signal with each call. */
  async stop(id: string, { graceMs, stopSignal }: StopContainerOptions, signal: AbortSignal): Promise<void> {
    const { objects, engine } = this.#options;
    const inspected = await this.#tryInspect(id, signal);
    if (!inspected || readState(inspected).kind !== "running") return;
    if (graceMs <= 0) return this.kill(id, signal);
    if (!(await untilAborted(this.#signalOnce(id, stopSignal ?? signalOf(inspected)), signal))) return;
    const grace = new AbortController();
    using _timer = engine.clock.setTimer(graceMs, () => grace.abort(new Error("the grace is over")));
    try {
      await objects.ended(id, AbortSignal.any([signal, grace.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (!grace.signal.aborted) throw error;
      await objects.kill(id, signal);
    }
    this.#stopSignals.delete(id);
  }

  /** As `ContainerRuntime.killContainer`. */
  async kill(id: string, signal: AbortSignal): Promise<void> {
    await this.#options.objects.kill(id, signal);
    this.#stopSignals.delete(id);
  }

  /** As `ContainerRuntime.removeContainer`. */
  async remove(id: string, signal: AbortSignal): Promise<void> {
    await this.#options.objects.remove(id, signal);
    this.#fresh.delete(id);
    this.#stopSignals.delete(id);
    this.#options.inventory.forget(id);
  }

  /** As `ContainerRuntime.resizeContainer`. */
  async resize(id: string, limits: ResourceLimits, signal: AbortSignal): Promise<void> {
    const { cpuShares, cpuQuotaMicros, cpuPeriodMicros = 100_000, memoryBytes } = limits;
    const body = {
      ...(cpuShares !== undefined && { CpuShares: cpuShares }),
      ...(cpuQuotaMicros !== undefined && { CpuQuota: cpuQuotaMicros, CpuPeriod: cpuPeriodMicros }),
      ...(memoryBytes !== undefined && { Memory: memoryBytes, MemorySwap: memoryBytes }),
    };
    const what = `change the resources of container ${id.slice(0, 12)}`;
    const { controls } = await this.#options.facts(signal);
    if (!controls.memory && !controls.cpuQuota && !controls.cpuShares) {
      throw new UnsupportedError(`${what}: this engine has no control groups for its containers`);
    }
    try {
      await this.#options.engine.json({ method: "POST", path: `/containers/${id}/update`, body, what }, signal);
    } catch (error) {
      // podman does not have this request: it answers in HTML or with a bare 404.
      if (engineStatusOf(error) === 405 || (isNotFound(error) && !/no such container/i.test(engineMessageOf(error) ?? ""))) {
        throw new UnsupportedError(`${what}: this engine cannot`, { cause: error });
      }
      throw error;
    }
  }

  /** Sends the stop signal once. @returns whether the container was running */
  #signalOnce(id: string, stopSignal: string): Promise<boolean> {
    const sent = this.#stopSignals.get(id);
    if (sent) return sent;
    const sending = this.#beginStop(id, stopSignal, new AbortController().signal);
    this.#stopSignals.set(id, sending);
    const forget = (): void => void this.#stopSignals.delete(id);
    // A failed signal may be repeated.
    sending.then((ran) => ran || forget(), forget);
    return sending;
  }

  /** @returns whether the container was running. If the image's signal is invalid, sends SIGTERM like the engine's own stop */
  async #beginStop(id: string, stopSignal: string, signal: AbortSignal): Promise<boolean> {
    const { objects } = this.#options;
    try {
      return await objects.signal(id, stopSignal, signal);
    } catch (error) {
      if (!isInvalidInput(error)) throw error;
      return objects.signal(id, "SIGTERM", signal);
    }
  }

  async #make(
    sandboxId: string,
    spec: ContainerSpec,
    { gpus, volumeImages, what }: { readonly gpus: readonly string[]; readonly volumeImages: readonly string[]; readonly what: string },
    signal: AbortSignal,
  ): Promise<string> {
    const { objects, images, sandboxes, settings } = this.#options;
    const { pod, container } = spec;
    const profile = localSeccompProfile(pod, container);
    const engine = await this.#options.facts(signal);
    const body = containerBody(spec, {
      sandboxId,
      engine,
      imageUser: needsImageUser(pod, container) ? (await images.inspectImage(spec.imageId, signal)).user : undefined,
      seccompProfile: profile === undefined ? undefined : await readSeccompProfile(settings.seccompFolder, profile, signal),
      gpus,
      volumeImages,
      devices: devicesOf(container, settings.devices),
      canLowerOomScore: spec.oomScoreAdjustment >= 0 || (await sandboxes.canLowerOomScore(sandboxId, signal)),
      // podman reports a parent other than the one it was given.
      cgroupParent: engine.isPodman ? settings.cgroupParent : await sandboxes.cgroupParent(sandboxId, signal),
      pidsLimit: settings.pidsLimit,
      runtime: ociRuntime(pod, settings.runtimeClasses),
      log: settings.log,
    });
    const name = objectName(spec.labels, settings.namePrefix);
    // A taken name may be that of an earlier try whose reply was lost. The second name is for a conflict with a container of others.
    for (const candidate of [name, name, `${name}_${sandboxId.slice(0, 8)}`]) {
      try {
        const id = await objects.create(candidate, body, what, signal);
        this.#fresh.add(id);
        return id;
      } catch (error) {
        if (!isConflict(error)) throw sandboxIsGone(error) ? new ConflictError(`${what}: its sandbox is gone`, { cause: error }) : error;
        const adopted = await this.#adopt(candidate, sandboxId, spec.labels, signal);
        if (adopted !== undefined) return adopted;
      }
    }
    throw new ConflictError(
      `${what}: the names ${name} and ${name}_${sandboxId.slice(0, 8)} are in use at the engine; remove the containers that have them`,
    );
  }

  /** Adopts the container with the name if it is the same start in the same sandbox. Removes another container of ours. */
  async #adopt(
    name: string,
    sandboxId: string,
    labels: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const held = await this.#tryInspect(name, signal);
    if (!held || !isSameObject(held.Config.Labels, labels)) return undefined;
    const hasFailedToJoin = held.State.Status === "created" && held.State.ExitCode !== 0;
    if (held.Config.Labels[labelNames.sandboxId] === sandboxId && !hasFailedToJoin) return held.Id;
    await this.#options.objects.remove(held.Id, signal);
    return undefined;
  }

  async #tryInspect(id: string, signal: AbortSignal): Promise<ContainerInspectInfo | undefined> {
    try {
      return await this.#options.inventory.inspect(id, signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

/** The container's stop signal, else the image's. */
function signalOf({ Config }: ContainerInspectInfo): string {
  const { StopSignal } = Config as { readonly StopSignal?: string };
  return StopSignal === undefined || StopSignal === "" ? "SIGTERM" : StopSignal;
}

/** An engine answers 400 or 404 if the sandbox to join is gone. */
function sandboxIsGone(error: unknown): boolean {
  return /no such container/i.test(engineMessageOf(error) ?? "");
}
