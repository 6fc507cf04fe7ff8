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

/** How often a cgroup is tried to be removed in which processes are ending, and how long apart, in milliseconds. */
const removalTries = 10;
const removalPauseMs = 50;

/** What {@link PodCgroups} needs. */
export interface PodCgroupsOptions {
  /**
   * Who makes the runtime's cgroups; asked before the first pod. `undefined`: pods have no cgroups of their own.
   *
   * @throws what keeps the first pod from being begun, until it can be told
   */
  driver(signal: AbortSignal): Promise<CgroupDriver | undefined>;
  /** What all pods' cgroups are in: a path, or a slice with the systemd driver. Default `/vkpods`. */
  readonly prefix?: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether CPU limits are enforced. Default `true`. */
  readonly cpuQuota?: boolean | undefined;
  /** Where the machine's cgroups are. Default `/sys/fs/cgroup`. */
  readonly root?: string | undefined;
  /** CPUs of the machine, which the weight of all pods together follows from. Default: what the system says. */
  readonly cpus?: number | undefined;
  /** How an empty cgroup is removed. Default: the system's rmdir. */
  readonly removeFolder?: RemoveFolder | undefined;
  /** How systemctl is run, with the systemd driver. Default: as a program of the machine. */
  readonly systemctl?: Systemctl | undefined;
}

interface Opened {
  readonly names: CgroupNames;
  readonly tree: CgroupTree;
  readonly weights: TierWeights;
}

/**
 * A cgroup for each pod, in which its sandbox and its containers are: what they may use together. Nothing is kept but on the
 * machine, so that the next program goes on with the same. Where the machine's cgroups cannot be written, that is said once, and
 * pods go without.
 */
export class PodCgroups {
  readonly #options: PodCgroupsOptions;
  readonly #meter: CgroupMeter;
  #opened: Promise<Opened | undefined> | undefined;
  #isOff = false;
  /** Pods that the last sweep found nobody to know. */
  #unknown: ReadonlySet<string> = new Set();

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
    this.#meter = new CgroupMeter(options);
  }

  /**
   * Makes the pod's cgroup, with the limits of its spec; idempotent.
   *
   * @returns what a runtime is to be told for the sandbox's parent; `undefined`: the pod has no cgroup of its own
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
      // A kubelet, too, begins such a pod.
      this.#options.logger.warn({ uid: podRef(pod).uid, err: error }, "a pod's cgroup does not have all of the pod's limits");
    }
    return name.parent;
  }

  /** Raises what is less than the pod's spec says, before its containers grow. A pod without a cgroup stays without. */
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

  /** Sets what the pod's spec says, after its containers have shrunk. @throws an Error for less memory than is in use */
  async fit(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<void> {
    await this.#change(pod, signal, async (held, wanted, { tree }, name) => {
      const { memoryBytes } = wanted;
      if (memoryBytes !== undefined && memoryBytes < (held.memoryBytes ?? Infinity)) {
        // Version 2 would end a process at once. Source: validateMemoryResizeAction in kubernetes v1.36.3 kuberuntime_manager.go.
        const usage = await tree.memoryUsage(name);
        if (usage > memoryBytes) throw new Error(`attempting to set pod memory limit (${memoryBytes}) below current usage (${usage})`);
      }
      return wanted;
    });
  }

  /**
   * Limits what all pods use together. The cgroup that pods' are in has to be ours: nothing is limited if something else is in it.
   *
   * @returns whether pods have cgroups of their own
   * @throws ConflictError if there is something else in it; an Error if the kernel does not take the limit, as version 1 of cgroups does not
   * where more memory is in use
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
        `limit what pods use together: cgroup ${names.root.path} holds ${JSON.stringify(stranger)}, which is no pod's; cgroupParent names another for pods`,
      );
    }
    await tree.make(names.root);
    await tree.write(names.root, limits);
    return true;
  }

  /** What all that has run in the pod's cgroup has used, also containers that are gone; `undefined`: the pod has no cgroup of its own. */
  async usage(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<CgroupUsage | undefined> {
    const opened = await this.#open(signal);
    return opened && this.#meter.ofPath(opened.names.pod(podRef(pod).uid, qosClass(pod)).path);
  }

  /** What all pods use together; `undefined`: they have no cgroups. */
  async totalUsage(signal: AbortSignal): Promise<CgroupUsage | undefined> {
    const opened = await this.#open(signal);
    return opened && this.#meter.ofPath(opened.names.root.path);
  }

  /** Removes the pod's cgroup; idempotent. Processes that are still in it are not ended: then it is left to {@link sweep}. */
  async release({ uid }: PodRef, signal: AbortSignal): Promise<void> {
    const opened = await this.#open(signal);
    if (!opened) return;
    for (const quality of qualities) {
      try {
        if (await this.#remove(opened, opened.names.pod(uid, quality), signal)) await opened.weights.follow(quality);
      } catch (error) {
        signal.throwIfAborted();
        this.#options.logger.warn({ uid, err: error }, "the cgroup of a pod that is gone could not be removed; tried again");
      }
    }
  }

  /**
   * Removes what pods have left that nobody knows any more, not now and not at the call before. Of others below the same prefix
   * those stay in which something runs, for the kernel removes none of them.
   *
   * @param isKnown - asked for each pod after the cgroups were listed
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
        // Another program's may be about to be used: on another engine of this machine, nobody here knows of it.
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

  /** @returns whether there was one */
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

  /** Opened once; a driver that could not be asked is asked again. */
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
      const message = "pods have no cgroups of their own, and no limits as a whole; said once. cgroupsPerQOS: false does without";
      this.#options.logger.warn({ why }, message);
    }
    this.#isOff = true;
    return undefined;
  }
}

/** Absent is without limit. */
function isMore(wanted: number | undefined, held: number | undefined): boolean {
  return wanted !== undefined && held !== undefined && wanted > held;
}
