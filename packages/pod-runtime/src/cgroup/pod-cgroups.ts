import type { Clock } from "@virtual-kubelet/clock";
import { podRef, type DeepReadonly, type Logger, type Pod, type PodRef } from "@virtual-kubelet/core";
import { ConflictError, messageOf } from "@virtual-kubelet/errdefs";
import { qosClass, type QosClass } from "@virtual-kubelet/kubernetes";
import { availableParallelism } from "node:os";
import { basename } from "node:path";
import type { ResourceLimits } from "../runtime/runtime-spec.ts";
import { hasFsCode } from "../volumes/fs-code.ts";
import type { CgroupUsage } from "./cgroup-figures.ts";
import type { RemoveFolder } from "./cgroup-folders.ts";
import { CgroupMeter } from "./cgroup-meter.ts";
import { CgroupNames, defaultCgroupPrefix, type CgroupDriver, type CgroupName } from "./cgroup-names.ts";
import type { CgroupLimits, CgroupTree } from "./cgroup-tree.ts";
import { cpuSharesOf } from "./cpu-amounts.ts";
import { openTree } from "./open-tree.ts";
import { podCgroupLimits } from "./pod-cgroup-limits.ts";
import type { Systemctl } from "./systemd-slices.ts";
import { TierWeights } from "./tier-weights.ts";

const qualities: readonly QosClass[] = ["Guaranteed", "Burstable", "BestEffort"];

/** Number and interval, in milliseconds, of the tries to remove a cgroup whose processes are ending. */
const removalTries = 10;
const removalPauseMs = 50;

/** Options of pods' cgroups. */
export interface PodCgroupsOptions {
  /**
   * The runtime's cgroup driver, requested before the first pod. `undefined`: pods have no cgroups of their own.
   *
   * @throws an error that delays the first pod until the driver is known
   */
  driver(signal: AbortSignal): Promise<CgroupDriver | undefined>;
  /** Parent of all pods' cgroups: a path, or a slice with the systemd driver. Default: `/vkpods`. */
  readonly prefix?: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether CPU limits are enforced. Default: true. */
  readonly cpuQuota?: boolean | undefined;
  /** The machine's cgroup file system. Default: `/sys/fs/cgroup`. */
  readonly root?: string | undefined;
  /** Number of CPUs, from which the weight of all pods together is computed. Default: the machine's. */
  readonly cpus?: number | undefined;
  /** Removes an empty cgroup. Default: rmdir. */
  readonly removeFolder?: RemoveFolder | undefined;
  /** Runs systemctl, with the systemd driver. Default: the program of the machine. */
  readonly systemctl?: Systemctl | undefined;
}

interface Opened {
  readonly names: CgroupNames;
  readonly tree: CgroupTree;
  readonly weights: TierWeights;
}

/**
 * A cgroup for each pod, which contains its sandbox and containers and limits them together. The only state is on the machine, so the next
 * program continues with it. If the machine's cgroups cannot be written, pods have none, and one warning says so.
 */
export class PodCgroups {
  readonly #options: PodCgroupsOptions;
  readonly #meter: CgroupMeter;
  #opened: Promise<Opened | undefined> | undefined;
  #isOff = false;
  /** Pods that were unknown to the last sweep. */
  #unknown: ReadonlySet<string> = new Set();

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
    this.#meter = new CgroupMeter(options);
  }

  /**
   * Creates the pod's cgroup with the limits of its spec. Idempotent.
   *
   * @returns the cgroup parent for the pod's sandbox; `undefined`: the pod has no cgroup of its own
   */
  async prepare(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<string | undefined> {
    const opened = await this.#open(signal);
    if (!opened) return undefined;
    const { tree, weights } = opened;
    const quality = qosClass(pod);
    const name = opened.names.pod(podRef(pod).uid, quality);
    try {
      await weights.makeTier(quality);
      await tree.make(name);
    } catch (error) {
      return this.#giveUp(error);
    }
    try {
      await tree.write(name, this.#limitsOf(pod));
      await weights.follow(quality);
    } catch (error) {
      // Like a kubelet, starts such a pod.
      this.#options.logger.warn({ uid: podRef(pod).uid, err: error }, "a pod's cgroup does not have all of the pod's limits");
    }
    return name.parent;
  }

  /** Raises limits that are below the pod's spec, before its containers grow. Does nothing for a pod without a cgroup. */
  async grow(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<void> {
    await this.#change(pod, signal, (held, wanted) => ({
      ...(isMore(wanted.cpuShares, held.cpuShares) && { cpuShares: wanted.cpuShares }),
      ...(isMore(wanted.cpuQuotaMicros, held.cpuQuotaMicros) && {
        cpuQuotaMicros: wanted.cpuQuotaMicros,
        cpuPeriodMicros: wanted.cpuPeriodMicros,
      }),
      ...(isMore(wanted.memoryBytes, held.memoryBytes) && { memoryBytes: wanted.memoryBytes }),
    }));
  }

  /** Sets the limits of the pod's spec, after its containers have shrunk. @throws an Error if more memory is in use */
  async fit(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<void> {
    await this.#change(pod, signal, async (held, wanted, { tree }, name) => {
      const { memoryBytes } = wanted;
      if (memoryBytes !== undefined && memoryBytes < (held.memoryBytes ?? Infinity)) {
        // Version 2 would kill a process at once. Source: validateMemoryResizeAction in kubernetes v1.36.3 kuberuntime_manager.go.
        const usage = await tree.memoryUsage(name);
        if (usage > memoryBytes) throw new Error(`attempting to set pod memory limit (${memoryBytes}) below current usage (${usage})`);
      }
      return wanted;
    });
  }

  /**
   * Limits all pods together. Does nothing if the parent of the pods' cgroups contains anything else.
   *
   * @returns whether pods have cgroups of their own
   * @throws ConflictError if the parent contains anything else; an Error if the kernel refuses the limit, as version 1 does while more
   * memory is in use
   */
  async limit(limits: CgroupLimits, signal: AbortSignal): Promise<boolean> {
    const opened = await this.#open(signal);
    if (!opened) return false;
    const { names, tree } = opened;
    const tiers = new Set(qualities.map((quality) => basename(names.tier(quality).path)));
    const stranger = (await tree.children(names.root)).find(
      (folder) => !tiers.has(folder) && names.tryUid(folder, "Guaranteed") === undefined,
    );
    if (stranger !== undefined) {
      throw new ConflictError(
        `limit what pods use together: cgroup ${names.root.path} holds ${JSON.stringify(stranger)}, which belongs to no pod; set cgroupParent to another cgroup`,
      );
    }
    await tree.make(names.root);
    await tree.write(names.root, limits);
    return true;
  }

  /**
   * Usage of everything that has run in the pod's cgroup, including containers that are gone; `undefined`: the pod has no cgroup of its
   * own.
   */
  async usage(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<CgroupUsage | undefined> {
    const opened = await this.#open(signal);
    return opened && this.#meter.ofPath(opened.names.pod(podRef(pod).uid, qosClass(pod)).path);
  }

  /** Usage of all pods together; `undefined`: they have no cgroups. */
  async totalUsage(signal: AbortSignal): Promise<CgroupUsage | undefined> {
    const opened = await this.#open(signal);
    return opened && this.#meter.ofPath(opened.names.root.path);
  }

  /** Removes the pod's cgroup. Idempotent. Processes in it are not killed: {@link sweep} removes it later. */
  async release({ uid }: PodRef, signal: AbortSignal): Promise<void> {
    const opened = await this.#open(signal);
    if (!opened) return;
    for (const quality of qualities) {
      try {
        if (await this.#remove(opened, opened.names.pod(uid, quality), signal)) await opened.weights.follow(quality);
      } catch (error) {
        signal.throwIfAborted();
        this.#options.logger.warn({ uid, err: error }, "the cgroup of a pod that is gone could not be removed; will retry");
      }
    }
  }

  /**
   * Removes cgroups of pods that were unknown now and at the call before. The kernel does not remove cgroups with processes, so those of
   * other programs with the same prefix stay.
   *
   * @param isKnown - called for each pod after the cgroups were listed
   * @returns UIDs of the pods whose cgroups were removed
   */
  async sweep(isKnown: (uid: string) => boolean | Promise<boolean>, signal: AbortSignal): Promise<readonly string[]> {
    const opened = await this.#open(signal);
    if (!opened) return [];
    const unknown = new Set<string>();
    const removed: string[] = [];
    for (const quality of qualities) {
      const folders = await opened.tree.children(opened.names.tier(quality));
      for (const uid of folders.flatMap((folder) => opened.names.tryUid(folder, quality) ?? [])) {
        if (await isKnown(uid)) continue;
        // It may belong to another program, with another engine of this machine, that is about to use it.
        if (!this.#unknown.has(uid)) unknown.add(uid);
        else if (await this.#tryRemove(opened, opened.names.pod(uid, quality))) removed.push(uid);
        else unknown.add(uid);
      }
    }
    this.#unknown = unknown;
    return removed;
  }

  async #change(
    pod: DeepReadonly<Pod>,
    signal: AbortSignal,
    choose: (held: ResourceLimits, wanted: ResourceLimits, opened: Opened, name: CgroupName) => ResourceLimits | Promise<ResourceLimits>,
  ): Promise<void> {
    const opened = await this.#open(signal);
    if (!opened) return;
    const quality = qosClass(pod);
    const name = opened.names.pod(podRef(pod).uid, quality);
    const held = await opened.tree.tryRead(name);
    if (!held) return;
    await opened.tree.write(name, await choose(held, this.#limitsOf(pod), opened, name));
    await opened.weights.follow(quality);
  }

  #limitsOf(pod: DeepReadonly<Pod>): ResourceLimits {
    return podCgroupLimits(pod, { cpuQuota: this.#options.cpuQuota });
  }

  /** @returns whether it existed */
  async #remove({ tree }: Opened, name: CgroupName, signal: AbortSignal): Promise<boolean> {
    const [held, children] = await Promise.all([tree.tryRead(name), tree.children(name)]);
    if (!held && children.length === 0) return false;
    for (let tries = removalTries; ; tries--) {
      try {
        await tree.remove(name);
        return true;
      } catch (error) {
        if (tries <= 1 || !hasFsCode(error, "EBUSY")) throw error;
        await this.#options.clock.sleep(removalPauseMs, signal);
      }
    }
  }

  async #tryRemove({ tree, weights }: Opened, name: CgroupName): Promise<boolean> {
    try {
      await tree.remove(name);
      await weights.follow("Burstable");
      return true;
    } catch (error) {
      if (!hasFsCode(error, "EBUSY")) this.#options.logger.warn({ cgroup: name.path, err: error }, "a cgroup could not be removed");
      return false;
    }
  }

  /** Opened once. If the driver is unknown, the next call asks again. */
  async #open(signal: AbortSignal): Promise<Opened | undefined> {
    if (this.#isOff) return undefined;
    this.#opened ??= this.#openAll(signal).catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #openAll(signal: AbortSignal): Promise<Opened | undefined> {
    const { prefix = defaultCgroupPrefix, root = "/sys/fs/cgroup", cpus = availableParallelism(), removeFolder, systemctl } = this.#options;
    const driver = await this.#options.driver(signal);
    if (driver === undefined) return undefined;
    const names = new CgroupNames(driver, prefix);
    const found = await openTree({ root, driver, removeFolder, systemctl });
    if ("problem" in found) return this.#giveUp(found.problem);
    const { tree } = found;
    return { names, tree, weights: new TierWeights({ names, tree, rootShares: cpuSharesOf(BigInt(cpus) * 1000n) }) };
  }

  #giveUp(error: unknown): undefined {
    if (!this.#isOff) {
      const why = typeof error === "string" ? error : messageOf(error);
      const message = "pods have no cgroups of their own, and no limits as a whole; logged once. cgroupsPerQOS: false turns them off";
      this.#options.logger.warn({ why }, message);
    }
    this.#isOff = true;
    return undefined;
  }
}

/** `undefined` means no limit. */
function isMore(wanted: number | undefined, held: number | undefined): boolean {
  return wanted !== undefined && held !== undefined && wanted > held;
}
