import type {
  Capabilities,
  ClaimedVolume,
  ContainerStatus,
  DeepReadonly,
  Owner,
  Pod,
  PodRef,
  PodUpdate,
  Provider,
  ProviderDefinition,
  ProviderHost,
  ProviderPod,
  ProviderPodStatus,
  ResolvedPod,
  VolumePayload,
} from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";

/** All that a container of the back end would see. */
export interface SeenPod {
  readonly pod: DeepReadonly<Pod>;
  /** Variables of its first container. */
  readonly env: Readonly<Record<string, string>>;
  /** Content by `volume/path`, as now written. */
  readonly files: Map<string, string>;
  /** Permission bits, likewise. */
  readonly modes: Map<string, string>;
  /** Bound volumes of the claims, by volume name. */
  readonly claimed: Map<string, ClaimedVolume>;
  /** How often a volume was written, the first time included. */
  writes: number;
  readonly stop: AbortController;
}

const capabilities: Capabilities = {
  env: true,
  restarts: true,
  volumes: ["configMap", "secret", "downwardAPI", "projected", "emptyDir", "persistentVolumeClaim", "ephemeral"],
};

/** A provider whose pods are what they are given: it reads environments, files and tokens, and follows the files. */
export class PayloadProvider {
  readonly definition: ProviderDefinition;
  /** By pod name. */
  readonly pods: Map<string, SeenPod> = new Map();
  host: ProviderHost | undefined;
  readonly #held = new Map<string, ProviderPod>();
  #report: (update: PodUpdate) => void = () => {};

  constructor() {
    this.definition = {
      name: "payload",
      capabilities,
      configSchema: { safeParse: (data) => ({ success: true, data }) },
      create: (host) => {
        this.host = host;
        return this.#provider({ clusterId: host.clusterId, nodeName: host.nodeName });
      },
    };
  }

  /** Payload of the pod with that name. */
  seen(name: string): SeenPod {
    const seen = this.pods.get(name);
    if (!seen) throw new NotFoundError(`pod ${name} was not created`);
    return seen;
  }

  #provider(owner: Owner): Provider {
    return {
      notifyPods: (listener) => {
        this.#report = listener;
      },
      createPod: async (pod, resolved, signal) => {
        const seen = await this.#fill(pod, resolved, signal);
        const ref = refOf(pod);
        const status = statusOf(pod, "running");
        this.pods.set(ref.name, seen);
        this.#held.set(ref.uid, { ref, owner, status });
        this.#report({ ref, status });
      },
      updatePod: async () => {},
      deletePod: async (ref) => {
        this.#find(ref);
        this.#held.delete(ref.uid);
        const seen = this.seen(ref.name);
        seen.stop.abort();
        this.#report({ ref, status: statusOf(seen.pod, "terminated") });
      },
      getPod: async (ref) => this.#find(ref),
      getPodStatus: async (ref) => this.#find(ref).status,
      getPods: async () => ({ pods: [...this.#held.values()], complete: true }),
    };
  }

  /** Reads all there is, as a back end does that starts containers, and follows the volumes. */
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

  #find({ uid }: PodRef): ProviderPod {
    const held = this.#held.get(uid);
    if (!held) throw new NotFoundError(`no pod with UID ${uid}`);
    return held;
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

function refOf({ metadata }: DeepReadonly<Pod>): PodRef {
  return { namespace: metadata?.namespace ?? "", name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
}

function statusOf(pod: DeepReadonly<Pod>, state: "running" | "terminated"): ProviderPodStatus {
  const containerStatuses = (pod.spec?.containers ?? []).map(({ name, image = "" }): ContainerStatus => ({
    name,
    image,
    imageID: "",
    ready: state === "running",
    restartCount: 0,
    state: state === "running" ? { running: {} } : { terminated: { exitCode: 0 } },
  }));
  return { phase: state === "running" ? "Running" : "Succeeded", podIP: "10.1.2.3", containerStatuses };
}
