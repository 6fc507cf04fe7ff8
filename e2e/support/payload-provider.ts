import type {
  Capabilities,
  ClaimedVolume,
  DeepReadonly,
  Pod,
  ProviderDefinition,
  ProviderHost,
  ResolvedPod,
  VolumePayload,
} from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { RecordingProvider } from "@virtual-kubelet/testing";

/** Data that the back end received for a pod. */
export interface SeenPod {
  readonly pod: DeepReadonly<Pod>;
  /** Variables of the pod's first container. */
  readonly env: Readonly<Record<string, string>>;
  /** Current content of each file, by `volume/path`; the error under `volume/error` if following the volume failed. */
  readonly files: Map<string, string>;
  /** Current permission bits of each file in octal, by `volume/path`. */
  readonly modes: Map<string, string>;
  /** Bound volumes of the claims, by volume name. */
  readonly claimed: Map<string, ClaimedVolume>;
  /** Number of times that a volume was written, including the first write of each volume. */
  writes: number;
  readonly stop: AbortController;
}

const capabilities: Capabilities = {
  env: true,
  restarts: true,
  volumes: ["configMap", "secret", "downwardAPI", "projected", "emptyDir", "persistentVolumeClaim", "ephemeral"],
};

/**
 * A recording provider that also reads the environment, files, tokens and claimed volumes of its pods, and follows the volumes
 * until the pod is deleted.
 */
export class PayloadProvider {
  readonly definition: ProviderDefinition;
  /** By pod name. */
  readonly pods: Map<string, SeenPod> = new Map();
  host: ProviderHost | undefined;

  constructor() {
    const { definition } = new RecordingProvider({ capabilities });
    this.definition = {
      ...definition,
      name: "payload",
      create: async (host) => {
        this.host = host;
        const recording = await definition.create(host, {});
        return {
          ...recording,
          createPod: async (pod, resolved, signal) => {
            this.pods.set(pod.metadata?.name ?? "", await this.#fill(pod, resolved, signal));
            await recording.createPod(pod, resolved, signal);
          },
          deletePod: async (ref, options, signal) => {
            await recording.deletePod(ref, options, signal);
            this.seen(ref.name).stop.abort();
          },
        };
      },
    };
  }

  /** Data of the pod with that name. */
  seen(name: string): SeenPod {
    const seen = this.pods.get(name);
    if (!seen) throw new NotFoundError(`pod ${name} was not created`);
    return seen;
  }

  /** Reads all data of the pod, as a back end that starts containers does, and follows the volumes. */
  async #fill(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<SeenPod> {
    const variables = await resolved.environment(pod.spec?.containers[0]?.name ?? "", signal);
    const env = Object.fromEntries(variables.map(({ name, value }) => [name, value]));
    const seen: SeenPod = { pod, env, files: new Map(), modes: new Map(), claimed: new Map(), writes: 0, stop: new AbortController() };
    const volumes = (pod.spec?.volumes ?? []).filter(({ emptyDir }) => !emptyDir);
    const isClaim = ({ persistentVolumeClaim, ephemeral }: (typeof volumes)[number]): boolean =>
      Boolean(persistentVolumeClaim ?? ephemeral);
    for (const { name } of volumes.filter(isClaim)) {
      const claimed = await resolved.claimedVolume?.(name, signal);
      if (claimed) seen.claimed.set(name, claimed);
    }
    const names = volumes.filter((volume) => !isClaim(volume)).map(({ name }) => name);
    for (const name of names) write(seen, name, await resolved.volume(name, signal));
    for (const name of names) void this.#follow(seen, name, resolved);
    return seen;
  }

  async #follow(seen: SeenPod, name: string, resolved: ResolvedPod): Promise<void> {
    try {
      for await (const payload of resolved.watchVolume(name, seen.stop.signal)) write(seen, name, payload);
    } catch (error) {
      if (!seen.stop.signal.aborted) seen.files.set(`${name}/error`, String(error));
    }
  }
}

function write(seen: SeenPod, name: string, { files }: VolumePayload): void {
  for (const path of [...seen.files.keys()]) if (path.startsWith(`${name}/`)) seen.files.delete(path);
  for (const { path, content, mode } of files) {
    seen.files.set(`${name}/${path}`, Buffer.from(content).toString());
    seen.modes.set(`${name}/${path}`, mode.toString(8));
  }
  seen.writes++;
}
