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
import type { PodBook } from "../status/pod-book.ts";
import { UnreadableError } from "../zun/unreadable-error.ts";
import type { ZunApi } from "../zun/zun-api.ts";
import { unreadMessage, type PodFinder } from "./pod-finder.ts";
import type { PodNetwork } from "./pod-network.ts";
import { requestOf, type PodPlan } from "./pod-plan.ts";

/** What {@link PodCreator} needs. */
export interface PodCreatorDeps {
  readonly api: Pick<ZunApi, "createContainer" | "createCapsule" | "deleteCapsule" | "minor">;
  readonly finder: PodFinder;
  readonly book: PodBook;
  readonly network: PodNetwork;
  readonly config: ZunConfig;
  readonly logger: Logger;
}

/** Makes pods, each once: Zun itself makes another container for every request. */
export class PodCreator {
  readonly #deps: PodCreatorDeps;
  /** Pods that Zun may hold though no list has shown them: a create was begun. */
  readonly #attempted = new Set<string>();
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #disposal = new AbortController();
  #hasListed = false;

  constructor(deps: PodCreatorDeps) {
    this.#deps = deps;
  }

  /** A whole list has been seen: what is not in the book, and was not attempted, Zun does not hold. */
  noteListed(): void {
    this.#hasListed = true;
  }

  /** UIDs of pods that are being made. */
  get underWay(): ReadonlySet<string> {
    return new Set(this.#underWay.keys());
  }

  /** Waits until a create of this pod that was left to itself has ended. */
  async settled(uid: string): Promise<void> {
    await this.#underWay.get(uid)?.catch(() => {});
  }

  /**
   * Makes the pod, or adopts what is there. Aborting leaves a request that was sent to itself: its answer is worth having,
   * and the next create of the pod waits for it.
   *
   * @throws what the plan's fields come to at Zun; `signal.reason`
   */
  async create(plan: PodPlan, signal: AbortSignal): Promise<void> {
    const { uid } = plan.labels.ref;
    signal.throwIfAborted();
    await untilAborted(this.settled(uid), signal);
    if (await this.#adopt(plan.labels.ref, signal)) return;
    signal.throwIfAborted();
    const work = this.#make(plan).finally(() => this.#underWay.delete(uid));
    this.#underWay.set(uid, work);
    await untilAborted(work, signal);
  }

  /** Ends what was left to itself. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort(new Error("the provider is disposed"));
    await Promise.allSettled(this.#underWay.values());
  }

  async #make(plan: PodPlan): Promise<void> {
    const { api, book, network, config } = this.#deps;
    const { signal } = this.#disposal;
    const { labels } = plan;
    this.#attempted.add(labels.ref.uid);
    try {
      const nets = plan.kind === "container" ? await network.prepare(labels, plan.settings, signal) : [];
      const { body } = requestOf(plan, { config, nets, minor: await api.minor(signal) });
      book.note(
        plan.kind === "container"
          ? observeContainer(await api.createContainer(body, signal), labels)
          : observeCapsule(await api.createCapsule(body, signal), labels),
      );
    } catch (error) {
      throw await this.#afterFailure(plan, error);
    }
  }

  /** @throws UnreadableError where Zun holds the pod, and what it says of it cannot be read: another one would run twice */
  async #adopt(ref: PodRef, signal: AbortSignal): Promise<boolean> {
    const { book, finder } = this.#deps;
    const { uid } = ref;
    if (book.observed(uid)) return true;
    if (this.#hasListed && !this.#attempted.has(uid) && !finder.unreadOf(ref)) return false;
    const { pods } = await finder.list(signal, { withCapsules: true });
    const [oldest] = oldestFirst(pods.filter(({ labels }) => labels.ref.uid === uid));
    const unread = oldest ? undefined : finder.unreadOf(ref);
    if (unread) throw new UnreadableError(unreadMessage(ref, unread));
    if (!oldest) return false;
    if (await this.#removeHalfMade(oldest, signal)) return false;
    book.note(oldest);
    return true;
  }

  /** A template that Zun trips over leaves a capsule without containers, which it never finishes. */
  async #removeHalfMade(listed: Observation, signal: AbortSignal): Promise<boolean> {
    const { kind, uuid, labels } = listed;
    if (kind !== "capsule" || !isHalfMade(listed)) return false;
    // One answer without containers is too little to delete a pod for.
    const observed = await this.#deps.finder.look(listed, signal);
    if (!observed) return true;
    if (!isHalfMade(observed)) return false;
    await this.#deps.api.deleteCapsule(uuid, signal);
    this.#deps.logger.warn({ pod: `${labels.ref.namespace}/${labels.ref.name}`, capsule: uuid }, "deleted a half-made capsule");
    return true;
  }

  /** What was refused for certain leaves no ports behind. @returns the error to throw */
  async #afterFailure({ labels }: PodPlan, error: unknown): Promise<unknown> {
    const isRefused = isInvalidInput(error) || isForbidden(error) || isQuotaExceeded(error) || isUnsupported(error) || isNotFound(error);
    if (isRefused) {
      const { network, logger } = this.#deps;
      await network
        .release(labels, this.#disposal.signal)
        .catch((err: unknown) => logger.warn({ err }, "ports of a pod that was refused stay for now"));
    }
    // A pod whose network is missing is not itself missing.
    return isNotFound(error) ? new InvalidInputError(messageOf(error), { cause: error }) : error;
  }
}

function isHalfMade({ members, status }: Observation): boolean {
  return members.length === 0 && (status === "Creating" || status === "Error");
}
