import type { ClaimedVolume, ResolvedEnvVar, ResolvedPod, VolumeFile, VolumePayload } from "@virtual-kubelet/core";
import { InvalidInputError, NotFoundError } from "@virtual-kubelet/errdefs";

/** A payload of files by path: their text, or all their fields. */
export function payloadOf(files: Readonly<Record<string, string | Partial<VolumeFile>>>): VolumePayload {
  const entries = Object.entries(files).map(([path, file]): VolumeFile => {
    const { content = Buffer.from(""), mode = 0o644, uid } = typeof file === "string" ? { content: Buffer.from(file) } : file;
    return { path, content, mode, uid };
  });
  return { files: entries.sort((a, b) => (a.path < b.path ? -1 : 1)) };
}

/** Volumes of one pod. Volumes that a test has not set cannot be read. */
export class FakeResolvedPod implements ResolvedPod {
  readonly #payloads = new Map<string, VolumePayload>();
  readonly #claimed = new Map<string, ClaimedVolume>();
  readonly #wakes = new Set<() => void>();
  /** Number of current followers. */
  followers = 0;

  /** Sets a volume's files. */
  set(volume: string, payload: VolumePayload): void {
    this.#payloads.set(volume, payload);
    for (const wake of this.#wakes) wake();
  }

  volume(name: string): Promise<VolumePayload> {
    const payload = this.#payloads.get(name);
    return payload ? Promise.resolve(payload) : Promise.reject(new InvalidInputError(`configmap "${name}" not found`));
  }

  async *watchVolume(name: string, signal: AbortSignal): AsyncGenerator<VolumePayload> {
    this.followers++;
    try {
      for (let last: VolumePayload | undefined; ;) {
        const current = this.#payloads.get(name);
        if (current && current !== last) yield (last = current);
        else await this.#change(signal);
      }
    } finally {
      this.followers--;
    }
  }

  /** Binds a volume's claim. */
  bind(volume: string, claimed: ClaimedVolume): void {
    this.#claimed.set(volume, claimed);
  }

  claimedVolume(name: string): Promise<ClaimedVolume> {
    const claimed = this.#claimed.get(name);
    return claimed ? Promise.resolve(claimed) : Promise.reject(new InvalidInputError(`persistentvolumeclaims of "${name}" not found`));
  }

  configMap(name: string): Promise<never> {
    return Promise.reject(new NotFoundError(`configmap "${name}" not found`));
  }

  secret(name: string): Promise<never> {
    return Promise.reject(new NotFoundError(`secret "${name}" not found`));
  }

  serviceVariables(): Promise<readonly ResolvedEnvVar[]> {
    return Promise.resolve([]);
  }

  environment(): Promise<readonly ResolvedEnvVar[]> {
    return Promise.resolve([]);
  }

  commandLine(): Promise<{ readonly command: readonly string[]; readonly args: readonly string[] }> {
    return Promise.resolve({ command: [], args: [] });
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const wake = (): void => {
        this.#wakes.delete(wake);
        resolve();
      };
      this.#wakes.add(wake);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }
}
