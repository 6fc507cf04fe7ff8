import { Signal } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import { InvalidInputError, isUnsupported, messageOf } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, EventRecorder, Node, Pod } from "@virtual-kubelet/kube-client";
import { Memo } from "../env/memo.ts";
import type { ResolvedPod } from "../provider/resolved-pod.ts";
import type { ClaimedVolume } from "../provider/claimed-volume.ts";
import { claimNameOf, readClaimedVolume, type ClaimReader } from "./read-claimed-volume.ts";
import { mountError, mountEventReason, waitingForVolumes } from "./mount-error.ts";
import type { PodSources } from "../pod-sources/pod-sources.ts";
import { hasPayload, readVolume, type Volume, type VolumeContent } from "./volume-content.ts";
import type { VolumePayload } from "../provider/volume-payload.ts";
import { isSamePayload } from "./same-payload.ts";
import type { CoreReason } from "../reasons/core-reasons.ts";

/** Interval of checks of a watched volume without a change, minus a random quarter. Source: the kubelet's syncFrequency. */
const resyncMs = 60_000;

/** Minimum interval of checks without a change. */
const minWaitMs = 1_000;

export interface PodVolumesOptions {
  readonly sources: PodSources;
  /** The registered node; absent before it is registered. */
  node(): DeepReadonly<Node> | undefined;
  /** Records an event on why a volume could not be filled. */
  readonly recorder: Pick<EventRecorder<CoreReason>, "event">;
  readonly clock: Clock;
  readonly random: Random;
}

/** The methods of {@link ResolvedPod} about volumes. */
export type ResolvedVolumes = Pick<ResolvedPod, "volume" | "watchVolume" | "claimedVolume">;

/** The contents of one pod's volumes. See {@link ResolvedPod}. */
export class PodVolumes implements ResolvedVolumes {
  readonly #pod: DeepReadonly<Pod>;
  readonly #options: PodVolumesOptions;
  readonly #payloads = new Memo<VolumePayload>();

  constructor(pod: DeepReadonly<Pod>, options: PodVolumesOptions) {
    this.#pod = pod;
    this.#options = options;
  }

  volume(name: string, signal: AbortSignal): Promise<VolumePayload> {
    return this.#payloads.get(name, async (inner) => (await this.#read(this.#pod, name, inner)).payload, signal);
  }

  async *watchVolume(name: string, signal: AbortSignal): AsyncGenerator<VolumePayload, void> {
    const { sources, clock, random } = this.#options;
    const uid = this.#pod.metadata?.uid ?? "";
    const wake = new Signal();
    using _changes = sources.onPodChange(uid, () => wake.notify());
    let last: VolumePayload | undefined;
    for (let pod = sources.livePod(uid); pod; pod = sources.livePod(uid)) {
      const content = await this.#tryRead(pod, name, signal);
      if (content && !(last && isSamePayload(last, content.payload))) {
        last = content.payload;
        yield last;
      }
      const untilResyncMs = resyncMs * (1 - 0.25 * random.next());
      const untilRefreshMs = (content?.refreshAtMs ?? Infinity) - clock.monotonic();
      await wake.wait(Math.max(minWaitMs, Math.min(untilResyncMs, untilRefreshMs)), clock, signal);
    }
  }

  /** Not cached, so that the next call sees an object that the pod waits for. */
  async claimedVolume(name: string, signal: AbortSignal): Promise<ClaimedVolume> {
    const pod = this.#pod;
    const volume = pod.spec?.volumes?.find((candidate) => candidate.name === name);
    const claimName = volume && claimNameOf({ pod, volume });
    if (!volume || claimName === undefined) {
      const problem = volume ? "it is no claim" : "there is none";
      throw new InvalidInputError(
        `find the claim of volume "${name}" of pod ${pod.metadata?.name}: ${problem}, expected a volume of type persistentVolumeClaim or ephemeral`,
      );
    }
    const { sources, node } = this.#options;
    const reader: ClaimReader = {
      node,
      getClaim: (...claim) => sources.getClaim(...claim),
      getPersistentVolume: (...of) => sources.getPersistentVolume(...of),
    };
    try {
      return await readClaimedVolume({ pod, volume }, claimName, reader, signal);
    } catch (error) {
      signal.throwIfAborted();
      // All that it throws is its own.
      const failure = waitingForVolumes(error as Error);
      this.#tell(pod, failure);
      throw failure;
    }
  }

  /** Returns the content; `undefined` if it cannot be read now, so that the written files stay. */
  async #tryRead(pod: DeepReadonly<Pod>, name: string, signal: AbortSignal): Promise<VolumeContent | undefined> {
    this.#volume(pod, name);
    try {
      return await this.#read(pod, name, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (isUnsupported(error)) throw error;
      return undefined;
    }
  }

  async #read(pod: DeepReadonly<Pod>, name: string, signal: AbortSignal): Promise<VolumeContent> {
    const volume = this.#volume(pod, name);
    const { sources, node } = this.#options;
    const { namespace = "default", uid = "" } = pod.metadata ?? {};
    try {
      return await readVolume(
        volume,
        pod,
        {
          getSecret: (object, inner) => sources.getSecret(namespace, object, inner, uid),
          getConfigMap: (object, inner) => sources.getConfigMap(namespace, object, inner, uid),
          getToken: (wish, inner) => sources.getToken(uid, wish, inner),
          getTrustAnchors: (query, inner) => sources.getTrustAnchors(query, inner),
          allocatable: node()?.status?.allocatable,
        },
        signal,
      );
    } catch (error) {
      signal.throwIfAborted();
      if (isUnsupported(error)) throw error;
      const failure = mountError(name, error);
      this.#tell(pod, failure);
      throw failure;
    }
  }

  #tell({ metadata }: DeepReadonly<Pod>, failure: Error): void {
    const { namespace = "default", name = "", uid = "" } = metadata ?? {};
    const regarding = { apiVersion: "v1", kind: "Pod", namespace, name, uid };
    this.#options.recorder.event(regarding, "Warning", mountEventReason, messageOf(failure));
  }

  #volume({ metadata, spec }: DeepReadonly<Pod>, name: string): Volume {
    const volume = spec?.volumes?.find((candidate) => candidate.name === name);
    if (volume && hasPayload(volume)) return volume;
    const names = (spec?.volumes ?? []).filter(hasPayload).map((candidate) => candidate.name);
    const problem = volume ? "its content does not come from the API server" : "there is none";
    const expected = names.length > 0 ? `one of ${names.join(", ")}` : "a pod with configMap, secret, downwardAPI or projected volumes";
    throw new InvalidInputError(`read volume "${name}" of pod ${metadata?.name}: ${problem}, expected ${expected}`);
  }
}
