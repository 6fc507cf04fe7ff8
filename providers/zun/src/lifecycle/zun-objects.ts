import type { Clock } from "@virtual-kubelet/clock";
import type { Logger, Owner } from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import type { Ending, EndStep, RemoteDescriptions, RemoteListing, RemoteTarget } from "@virtual-kubelet/remote-pods";
import type { PodLabels } from "../pod/pod-labels.ts";
import type { ObjectKind } from "../pod/pod-mode.ts";
import { observeCapsule, observeContainer, unreadStatus, type ZunObject } from "../status/zun-object.ts";
import { UnreadableError } from "../zun/unreadable-error.ts";
import type { ZunApi } from "../zun/zun-api.ts";
import { endStep } from "./end-step.ts";
import { objectId, readListed, readObjectId } from "./listed-object.ts";

/** Longest interval between two lists of capsules while none of the node is known, in milliseconds. */
const capsulesMs = 60_000;

export interface ZunObjectsOptions {
  readonly api: Pick<
    ZunApi,
    | "createContainer"
    | "createCapsule"
    | "listContainers"
    | "listCapsules"
    | "showContainer"
    | "showCapsule"
    | "stopContainer"
    | "signalContainer"
    | "unpauseContainer"
    | "deleteContainer"
    | "deleteCapsule"
  >;
  readonly owner: Owner;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Containers and capsules of the node: creates, lists, shows and ends them. */
export class ZunObjects {
  readonly #options: ZunObjectsOptions;
  /** Labels by id, as they were written or listed; they stay, whatever somebody makes of them. */
  readonly #labels = new Map<string, PodLabels>();
  /** Objects whose last description could not be read. */
  readonly #unread = new Set<string>();
  #capsulesDueMs = Number.NEGATIVE_INFINITY;

  constructor(options: ZunObjectsOptions) {
    this.#options = options;
  }

  /** As `RemoteBackend.create`. */
  async create(
    kind: ObjectKind,
    body: object,
    labels: PodLabels,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly remote: ZunObject }> {
    const { api } = this.#options;
    if (kind === "capsule") this.#capsulesDueMs = Number.NEGATIVE_INFINITY;
    const remote =
      kind === "container"
        ? observeContainer(await api.createContainer(body, signal), labels)
        : observeCapsule(await api.createCapsule(body, signal), labels);
    const id = objectId(kind, remote.uuid);
    this.#labels.set(id, labels);
    return { id, remote };
  }

  /** As `RemoteBackend.list`. Capsules cost a second request, which is rare while the node has none. */
  async list(signal: AbortSignal): Promise<RemoteListing<ZunObject>> {
    const { api, owner, clock } = this.#options;
    const withCapsules = clock.monotonic() >= this.#capsulesDueMs;
    if (withCapsules) this.#capsulesDueMs = clock.monotonic() + capsulesMs;
    try {
      const [containers, capsules] = await Promise.all([api.listContainers(signal), withCapsules ? api.listCapsules(signal) : []]);
      const found = [
        ...containers.flatMap((value) => readListed("container", value, owner) ?? []),
        ...capsules.flatMap((value) => readListed("capsule", value, owner) ?? []),
      ];
      for (const { entry, labels } of found) if (labels) this.#labels.set(entry.id, labels);
      if (found.some(({ entry }) => readObjectId(entry.id).kind === "capsule")) this.#capsulesDueMs = Number.NEGATIVE_INFINITY;
      return { objects: found.map(({ entry }) => entry), problems: [] };
    } catch (error) {
      if (withCapsules) this.#capsulesDueMs = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }

  /** As `RemoteBackend.describe`, for one object. */
  async describe(id: string, signal: AbortSignal): Promise<RemoteDescriptions<ZunObject>> {
    try {
      const remote = await this.#show(id, signal);
      this.#unread.delete(id);
      if (remote.status !== "Deleted") return { found: [{ id, remote }], missing: [] };
    } catch (error) {
      if (error instanceof UnreadableError) {
        this.#unread.add(id);
        return { found: [], missing: [], unreadable: [{ id, why: error.message }] };
      }
      if (!isNotFound(error)) throw error;
    }
    this.#unread.delete(id);
    this.#labels.delete(id);
    return { found: [], missing: [id] };
  }

  /** As `RemoteBackend.end`. */
  async end(
    { id, remote }: RemoteTarget<ZunObject>,
    { graceLeftMs, isAsked, killedAgoMs, isDeleted }: Ending,
    signal: AbortSignal,
  ): Promise<EndStep> {
    const { api } = this.#options;
    const { kind, uuid } = readObjectId(id);
    const status = this.#unread.has(id) ? unreadStatus : (remote?.status ?? unreadStatus);
    const step = endStep({ kind, status, asked: isAsked, killedAgoMs, deleted: isDeleted, graceLeftMs });
    switch (step.kind) {
      case "stop":
        await api.stopContainer(uuid, step.timeoutSeconds, signal);
        return "asked";
      case "terminate":
        await api.signalContainer(uuid, "SIGTERM", signal);
        return "asked";
      case "kill":
        await api.signalContainer(uuid, "SIGKILL", signal);
        return "killed";
      case "unpause":
        await api.unpauseContainer(uuid, signal);
        return "wait";
      case "delete":
        await (kind === "container" ? api.deleteContainer(uuid, signal) : api.deleteCapsule(uuid, signal));
        return "deleted";
      default:
        return step.kind;
    }
  }

  /** Removes a capsule without containers, which Zun leaves behind when it fails on a template. @returns whether it is gone */
  async discardIncomplete({ id, identity: { ref } }: RemoteTarget<ZunObject>, signal: AbortSignal): Promise<boolean> {
    const { kind, uuid } = readObjectId(id);
    if (kind !== "capsule") return false;
    const { found, missing } = await this.describe(id, signal);
    if (missing.length > 0) return true;
    const [shown] = found;
    if (!shown || shown.remote.members.length > 0 || !["Creating", "Error"].includes(shown.remote.status)) return false;
    await this.#options.api.deleteCapsule(uuid, signal);
    this.#options.logger.warn({ pod: `${ref.namespace}/${ref.name}`, capsule: uuid }, "deleted an incomplete capsule");
    return true;
  }

  /** @throws NotFoundError; UnreadableError */
  async #show(id: string, signal: AbortSignal): Promise<ZunObject> {
    const { api } = this.#options;
    const { kind, uuid } = readObjectId(id);
    const labels = this.#labels.get(id);
    if (kind === "capsule") {
      const capsule = await api.showCapsule(uuid, signal);
      if (labels) return observeCapsule(capsule, labels);
    } else {
      const container = await api.showContainer(uuid, signal);
      if (labels) return observeContainer(container, labels);
    }
    throw new UnreadableError("its labels could not be read");
  }
}
