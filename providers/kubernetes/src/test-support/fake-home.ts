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
  readonly #listeners = new Set<(pod: PodRef) => void>();
  readonly #wakes = new Set<() => void>();
  #version = 0;
  /** Number of times that objects were read. */
  reads = 0;
  /** Thrown by every read of an object. */
  failure: Error | undefined;

  /** Stores a config map or secret, and tells all pods. Another UID makes it another object. */
  put(kind: "ConfigMap" | "Secret", name: string, parts: Partial<ConfigMap & Secret>, uid = `uid-of-${name}`): void {
    const metadata = { namespace: "shop", name, uid, resourceVersion: `${++this.#version}` };
    this.#objects.set(`${kind}/shop/${name}`, { metadata, ...parts });
    this.#tell();
  }

  /** Deletes it, and tells all pods. */
  remove(kind: "ConfigMap" | "Secret", name: string): void {
    this.#objects.delete(`${kind}/shop/${name}`);
    this.#tell();
  }

  addPod(pod: Pod): void {
    this.#pods.set(pod.metadata?.uid ?? "", pod);
  }

  removePod(pod: Pod): void {
    this.#pods.delete(pod.metadata?.uid ?? "");
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
      configMap: (name) => this.#read("ConfigMap", namespace, name),
      secret: (name) => this.#read("Secret", namespace, name),
      volume: async (name) => ({ files: this.#files.get(name) ?? [] }),
      watchVolume: (name, signal) => this.#watch(name, signal),
    });
  }

  async #read(kind: string, namespace: string, name: string): Promise<ConfigMap & Secret> {
    this.reads++;
    if (this.failure) throw this.failure;
    const found = this.#objects.get(`${kind}/${namespace}/${name}`);
    if (!found) throw new NotFoundError(`${kind} ${namespace}/${name} not found`);
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

  #tell(): void {
    for (const listener of this.#listeners) for (const pod of this.#pods.values()) listener(podRef(pod));
  }
}
