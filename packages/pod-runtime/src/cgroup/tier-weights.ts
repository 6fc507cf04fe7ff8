import type { QosClass } from "@virtual-kubelet/kubernetes";
import type { CgroupNames } from "./cgroup-names.ts";
import type { CgroupTree } from "./cgroup-tree.ts";
import { maxShares, minShares } from "./cpu-amounts.ts";

export interface TierWeightsOptions {
  readonly names: CgroupNames;
  readonly tree: CgroupTree;
  /** CPU shares of all pods together, relative to the rest of the machine. */
  readonly rootShares: number;
}

/**
 * CPU weights of the cgroups that contain the pods' cgroups: best effort pods together have the minimum, burstable pods together the sum of
 * their requests, including those of other programs. The parent of all has the machine's CPUs, if this program created it. Source:
 * kubernetes v1.36.3 pkg/kubelet/cm/qos_container_manager_linux.go.
 */
export class TierWeights {
  readonly #options: TierWeightsOptions;
  readonly #made = new Set<QosClass>();
  /** An update that has not started yet, which serves all callers until then. */
  #next: Promise<void> | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: TierWeightsOptions) {
    this.#options = options;
  }

  /** Creates the cgroup for pods of a QoS class. Returns at once after the first time. @throws as the file system */
  async makeTier(quality: QosClass): Promise<void> {
    if (this.#made.has(quality)) return;
    const { names, tree, rootShares } = this.#options;
    if (await tree.make(names.root)) await tree.write(names.root, { cpuShares: rootShares });
    if (quality !== "Guaranteed" && (await tree.make(names.tier(quality)))) await tree.write(names.tier(quality), { cpuShares: minShares });
    this.#made.add(quality);
  }

  /** Updates the weights after a pod of a QoS class was added, changed or removed. */
  follow(quality: QosClass): Promise<void> {
    if (quality !== "Burstable") return Promise.resolve();
    if (this.#next) return this.#next;
    const next = this.#running.then(() => {
      this.#next = undefined;
      return this.#sum();
    });
    this.#next = next;
    this.#running = next.catch(() => {});
    return next;
  }

  async #sum(): Promise<void> {
    const { names, tree } = this.#options;
    const tier = names.tier("Burstable");
    const uids = (await tree.children(tier)).flatMap((folder) => names.tryUid(folder, "Burstable") ?? []);
    const held = await Promise.all(uids.map((uid) => tree.tryRead(names.pod(uid, "Burstable"))));
    const cpuShares = held.reduce((sum, limits) => sum + (limits?.cpuShares ?? 0), 0);
    await tree.write(tier, { cpuShares: Math.min(Math.max(cpuShares, minShares), maxShares) });
  }
}
