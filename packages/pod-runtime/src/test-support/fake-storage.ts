import type { DeepReadonly, Pod, PodRef, VolumeStats } from "@virtual-kubelet/core";
import type { PodStorage } from "../worker/pod-storage.ts";

/** A disk in memory. */
export class FakeStorage implements PodStorage {
  /** UIDs of the pods with data. */
  readonly pods: Set<string> = new Set<string>();
  /** Termination messages by container and attempt: `app/0`. */
  readonly messages: Map<string, string> = new Map<string, string>();
  /** Errors of the next preparations. */
  readonly failures: Error[] = [];
  prepared = 0;

  async prepare({ metadata }: DeepReadonly<Pod>): Promise<void> {
    const failure = this.failures.shift();
    if (failure) throw failure;
    this.prepared++;
    this.pods.add(metadata?.uid ?? "");
  }

  async release({ uid }: PodRef): Promise<void> {
    this.pods.delete(uid);
  }

  async terminationMessage(_pod: PodRef, container: string, attempt: number): Promise<string> {
    return this.messages.get(`${container}/${attempt}`) ?? "";
  }

  async stats(): Promise<readonly VolumeStats[]> {
    return [{ name: "data", time: "2026-01-01T00:00:00Z", usedBytes: 7 }];
  }
}
