import type { PodRef, ResolvedPod, VolumeFile } from "@virtual-kubelet/core";
import { podRef } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import type { ConfigMap, DeepReadonly, Pod, Secret } from "@virtual-kubelet/kube-client";
import { resolverOf } from "./far-rig.ts";

/** Config maps, secrets and pods of a home cluster, and its notifications. */
export class FakeHome {
  readonly #objects = new Map<string, ConfigMap & Secret>();
  readonly #pods = new Map<string, Pod>();
  readonly #files = new Map<string, readonly VolumeFile[]>();
  /** UIDs of the pods that have read an object, whether it is there or not: only they are told of its changes. */
  readonly #holders = new Map<string, Set<string>>();
  readonly #listeners = new Set<(pod: PodRef) => void>();
  readonly #wakes = new Set<() => void>();
  #version = 0;
  /** Thrown by every read of an object. */
  failure: Error | undefined;

  /** Stores a config map or secret, and tells the pods that have read it. Another UID makes it another object. */
  put(kind: "ConfigMap" | "Secret", name: string, parts: Partial<ConfigMap & Secret>, uid = `uid-of-${name}`): void {
    const metadata = { namespace: "shop", name, uid, resourceVersion: `${++this.#version}` };
    this.#objects.set(`${kind}/shop/${name}`, { metadata, ...parts });
    this.#tell(`${kind}/shop/${name}`);
  }

  /** Deletes it, and tells the pods that have read it. */
  remove(kind: "ConfigMap" | "Secret", name: string): void {
    this.#objects.delete(`${kind}/shop/${name}`);
    this.#tell(`${kind}/shop/${name}`);
  }

  /** Forgets which pods have read what, as a restart of the program does. */
  restart(): void {
    this.#holders.clear();
  }

  addPod(pod: Pod): void {
    this.#pods.set(pod.metadata?.uid ?? "", pod);
  }

  removePod(pod: Pod): void {
    const { uid = "" } = pod.metadata ?? {};
    this.#pods.delete(uid);
    for (const holders of this.#holders.values()) holders.delete(uid);
  }

  /** Sets the files of a volume of every pod, such as tokens. */
  setFiles(volume: string, files: Readonly<Record<string, string>>): void {
    this.#files.set(
      volume,
      Object.entries(files).map(([path, text]) => ({ path, mode: 0o644, content: Buffer.from(text) })),
    );
    for (const wake of [...this.#wakes]) wake();
  }

  findPod({ uid }: PodRef): DeepReadonly<Pod> | undefined {
    return this.#pods.get(uid);
  }

  onConfigChanged(listener: (pod: PodRef) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** @throws NotFoundError for a pod that it does not have */
  resolvePod({ namespace, uid }: PodRef): ResolvedPod {
    if (!this.#pods.has(uid)) throw new NotFoundError("no such pod");
    return resolverOf({
      configMap: (name) => this.#read(`ConfigMap/${namespace}/${name}`, uid),
      secret: (name) => this.#read(`Secret/${namespace}/${name}`, uid),
      volume: async (name) => ({ files: this.#files.get(name) ?? [] }),
      watchVolume: (name, signal) => this.#watch(name, signal),
    });
  }

  async #read(key: string, uid: string): Promise<ConfigMap & Secret> {
    if (this.failure) throw this.failure;
    this.#holders.set(key, (this.#holders.get(key) ?? new Set<string>()).add(uid));
    const found = this.#objects.get(key);
    if (!found) throw new NotFoundError(`${key} not found`);
    return found;
  }

  async *#watch(name: string, signal: AbortSignal): AsyncGenerator<{ readonly files: readonly VolumeFile[] }> {
    for (;;) {
      yield { files: this.#files.get(name) ?? [] };
      await new Promise<void>((resolve, reject) => {
        this.#wakes.add(resolve);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    }
  }

  #tell(key: string): void {
    for (const uid of this.#holders.get(key) ?? []) {
      const pod = this.#pods.get(uid);
      for (const listener of this.#listeners) if (pod) listener(podRef(pod));
    }
  }
}
