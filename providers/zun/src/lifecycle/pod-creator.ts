import { untilAborted } from "@virtual-kubelet/async";
import type { Logger, PodRef } from "@virtual-kubelet/core";
import {
  isForbidden,
  isInvalidInput,
  isNotFound,
  isQuotaExceeded,
  isUnsupported,
  InvalidInputError,
  messageOf,
} from "@virtual-kubelet/errdefs";
import type { ZunConfig } from "../config/schema.ts";
import { observeCapsule, observeContainer, oldestFirst, type Observation } from "../status/observation.ts";
import type { PodRegistry } from "../status/pod-registry.ts";
import { UnreadableError } from "../zun/unreadable-error.ts";
import type { ZunApi } from "../zun/zun-api.ts";
import { unreadMessage, type PodFinder } from "./pod-finder.ts";
import type { PodNetwork } from "./pod-network.ts";
import { requestOf, type TranslatedPod } from "./translate-pod.ts";

export interface PodCreatorOptions {
  readonly api: Pick<ZunApi, "createContainer" | "createCapsule" | "deleteCapsule" | "minor">;
  readonly finder: PodFinder;
  readonly registry: PodRegistry;
  readonly network: PodNetwork;
  readonly config: ZunConfig;
  readonly logger: Logger;
}

/** Creates each pod once, because Zun creates another container for every request. */
export class PodCreator {
  readonly #options: PodCreatorOptions;
  /** Pods whose creation was attempted: Zun may hold them although no list has shown them. */
  readonly #attempted = new Set<string>();
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #disposal = new AbortController();
  #hasListed = false;

  constructor(options: PodCreatorOptions) {
    this.#options = options;
  }

  /** Records that a complete list was read: Zun holds no pod that is neither registered nor attempted. */
  noteListed(): void {
    this.#hasListed = true;
  }

  /** UIDs of pods that are being created. */
  get underWay(): ReadonlySet<string> {
    return new Set(this.#underWay.keys());
  }

  /** Waits for a creation of this pod that continues after its call was aborted. */
  async settled(uid: string): Promise<void> {
    await this.#underWay.get(uid)?.catch(() => {});
  }

  /**
   * Creates the pod, or adopts an existing object. A request that was sent continues after an abort, and the next call for the pod
   * waits for it.
   *
   * @throws what Zun answers to the pod's request; `signal.reason`
   */
  async create(translated: TranslatedPod, signal: AbortSignal): Promise<void> {
    const { uid } = translated.labels.ref;
    signal.throwIfAborted();
    await untilAborted(this.settled(uid), signal);
    if (await this.#adopt(translated.labels.ref, signal)) return;
    signal.throwIfAborted();
    const work = this.#make(translated).finally(() => this.#underWay.delete(uid));
    this.#underWay.set(uid, work);
    await untilAborted(work, signal);
  }

  /** Aborts creations that continue in the background. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort(new Error("the provider is disposed"));
    await Promise.allSettled(this.#underWay.values());
  }

  async #make(translated: TranslatedPod): Promise<void> {
    const { api, registry, network, config } = this.#options;
    const { signal } = this.#disposal;
    const { labels } = translated;
    this.#attempted.add(labels.ref.uid);
    try {
      const nets = translated.kind === "container" ? await network.prepare(labels, translated.settings, signal) : [];
      const { body } = requestOf(translated, { config, nets, minor: await api.minor(signal) });
      registry.note(
        translated.kind === "container"
          ? observeContainer(await api.createContainer(body, signal), labels)
          : observeCapsule(await api.createCapsule(body, signal), labels),
      );
    } catch (error) {
      throw await this.#afterFailure(translated, error);
    }
  }

  /** @throws UnreadableError if Zun holds the pod but it cannot be read, because the pod would then run twice */
  async #adopt(ref: PodRef, signal: AbortSignal): Promise<boolean> {
    const { registry, finder } = this.#options;
    const { uid } = ref;
    if (registry.observed(uid)) return true;
    if (this.#hasListed && !this.#attempted.has(uid) && !finder.unreadOf(ref)) return false;
    const { pods } = await finder.list(signal, { withCapsules: true });
    const [oldest] = oldestFirst(pods.filter(({ labels }) => labels.ref.uid === uid));
    const unread = oldest ? undefined : finder.unreadOf(ref);
    if (unread) throw new UnreadableError(unreadMessage(ref, unread));
    if (!oldest) return false;
    if (await this.#removeHalfMade(oldest, signal)) return false;
    registry.note(oldest);
    return true;
  }

  /** Removes a capsule without containers, which Zun leaves behind when it fails on a template. */
  async #removeHalfMade(listed: Observation, signal: AbortSignal): Promise<boolean> {
    const { kind, uuid, labels } = listed;
    if (kind !== "capsule" || !isHalfMade(listed)) return false;
    // Confirms it by a second answer before the capsule is deleted.
    const observed = await this.#options.finder.look(listed, signal);
    if (!observed) return true;
    if (!isHalfMade(observed)) return false;
    await this.#options.api.deleteCapsule(uuid, signal);
    this.#options.logger.warn({ pod: `${labels.ref.namespace}/${labels.ref.name}`, capsule: uuid }, "deleted an incomplete capsule");
    return true;
  }

  /** Releases the ports of a pod that was definitely refused. @returns the error to throw */
  async #afterFailure({ labels }: TranslatedPod, error: unknown): Promise<unknown> {
    const isRefused = isInvalidInput(error) || isForbidden(error) || isQuotaExceeded(error) || isUnsupported(error) || isNotFound(error);
    if (isRefused) {
      const { network, logger } = this.#options;
      await network
        .release(labels, this.#disposal.signal)
        .catch((err: unknown) => logger.warn({ err }, "ports of a refused pod could not be deleted yet"));
    }
    // A missing network does not mean a missing pod.
    return isNotFound(error) ? new InvalidInputError(messageOf(error), { cause: error }) : error;
  }
}

function isHalfMade({ members, status }: Observation): boolean {
  return members.length === 0 && (status === "Creating" || status === "Error");
}
