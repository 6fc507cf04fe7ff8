import { problemOf, type Owner, type PodRef } from "@virtual-kubelet/core";
import { isNotFound, NotFoundError } from "@virtual-kubelet/errdefs";
import type { z } from "zod";
import { objectName, readLabels, type PodLabels } from "../pod/pod-labels.ts";
import { observeCapsule, observeContainer, oldestFirst, type Observation, type UnreadObject } from "../status/observation.ts";
import type { PodRegistry } from "../status/pod-registry.ts";
import { UnreadableError } from "../zun/unreadable-error.ts";
import { uuidOf, type ZunApi, type ZunObjectKind, type ZunObjectReader } from "../zun/zun-api.ts";
import { capsuleSchema, containerSchema, identitySchema } from "../zun/zun-schemas.ts";
import { copiesAmong } from "./pod-copies.ts";

export interface PodFinderOptions {
  readonly api: Pick<ZunApi, "listContainers" | "listCapsules" | "showContainer" | "showCapsule">;
  readonly registry: PodRegistry;
  readonly owner: Owner;
  /** Reads objects and logs those that are skipped. */
  readonly reader: Pick<ZunObjectReader, "skip" | "accept">;
}

/** All that Zun holds of the node, without copies of its pods' objects. */
export interface Listing {
  readonly pods: readonly Observation[];
  readonly unread: readonly UnreadObject[];
}

/** Part of one of Zun's lists that belongs to the node. */
type Found = Observation | UnreadObject;

/** Finds pods in Zun, by label in its lists and by uuid once they are known, and notes them in the registry. */
export class PodFinder {
  readonly #options: PodFinderOptions;
  /** Unreadable objects of the last lists. */
  readonly #unread = new Map<ZunObjectKind, readonly UnreadObject[]>();

  constructor(options: PodFinderOptions) {
    this.#options = options;
  }

  /**
   * All containers and capsules of this cluster and node, as Zun's database has them: up to a minute old. Copies are logged and left out.
   *
   * @param withCapsules - one more request
   */
  async list(signal: AbortSignal, { withCapsules }: { readonly withCapsules: boolean }): Promise<Listing> {
    const { api } = this.#options;
    const [containers, capsules] = await Promise.all([api.listContainers(signal), withCapsules ? api.listCapsules(signal) : undefined]);
    const lists: ReadonlyMap<ZunObjectKind, readonly unknown[]> = new Map([
      ["container", containers],
      ...(capsules ? ([["capsule", capsules]] as const) : []),
    ]);
    const found = [...lists].flatMap(([kind, objects]) => this.#read(kind, objects));
    const copies = copiesAmong([...found, ...(capsules ? [] : (this.#unread.get("capsule") ?? []))], this.#options.registry);
    for (const each of found) this.#tell(each, copies.has(each));
    const own = found.filter((each) => !copies.has(each));
    const unread = own.filter(isUnread);
    for (const kind of lists.keys())
      this.#unread.set(
        kind,
        unread.filter((each) => each.kind === kind),
      );
    return { pods: own.flatMap((each) => (isUnread(each) || each.status === "Deleted" ? [] : [each])), unread };
  }

  /** Unreadable object of the pod in the last list. It proves that the pod exists. */
  unreadOf(ref: PodRef): UnreadObject | undefined {
    return [...this.#unread.values()].flat().find((each) => (each.ref ? each.ref.uid === ref.uid : each.name === objectName(ref)));
  }

  /** The pod as it is now. @throws NotFoundError when Zun holds none of that UID for this node; UnreadableError */
  async find(ref: PodRef, signal: AbortSignal): Promise<Observation> {
    const { registry } = this.#options;
    const known = registry.observed(ref.uid);
    const fresh = (known && (await this.look(known, signal))) ?? (await this.#findByLabel(ref, signal));
    if (!fresh) {
      throw new NotFoundError(`find pod ${ref.namespace}/${ref.name}: Zun has no container and no capsule labeled with UID ${ref.uid}`);
    }
    registry.note(fresh);
    return fresh;
  }

  /** Looks at one container or capsule. @returns `undefined` if it is gone. @throws UnreadableError */
  async look(known: Pick<Observation, "kind" | "uuid" | "labels">, signal: AbortSignal): Promise<Observation | undefined> {
    const { api } = this.#options;
    const { kind, uuid, labels } = known;
    try {
      const observed =
        kind === "container"
          ? observeContainer(await api.showContainer(uuid, signal), labels)
          : observeCapsule(await api.showCapsule(uuid, signal), labels);
      return observed.status === "Deleted" ? undefined : observed;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #findByLabel(ref: PodRef, signal: AbortSignal): Promise<Observation | undefined> {
    const { pods } = await this.list(signal, { withCapsules: true });
    const [oldest] = oldestFirst(pods.filter(({ labels }) => labels.ref.uid === ref.uid));
    if (oldest) return needsLook(oldest) ? this.look(oldest, signal) : oldest;
    const unread = this.unreadOf(ref);
    if (unread) throw new UnreadableError(unreadMessage(ref, unread));
    return undefined;
  }

  #read(kind: ZunObjectKind, objects: readonly unknown[]): readonly Found[] {
    const known = new Map(this.#options.registry.all().map((each) => [each.uuid, each.labels]));
    return objects.flatMap((value) => this.#meaningOf(kind, value, known) ?? []);
  }

  /** Logs objects that are skipped, and those that can be read again. */
  #tell(found: Found, isCopy: boolean): void {
    const { reader } = this.#options;
    const { kind, uuid = "without a UUID" } = found;
    const { namespace, name } = (isUnread(found) ? found.ref : found.labels.ref) ?? {};
    if (isCopy)
      reader.skip(
        kind,
        uuid,
        `its labels are those of pod ${namespace}/${name}, whose ${kind} it is not: it is a copy; delete it, or its labels`,
      );
    else if (isUnread(found)) reader.skip(kind, uuid, found.why);
    else reader.accept(kind, uuid);
  }

  /** @returns `undefined` for what is no pod of the node */
  #meaningOf(kind: ZunObjectKind, value: unknown, all: ReadonlyMap<string, PodLabels>): Found | undefined {
    const uuid = uuidOf(value);
    const known = all.get(uuid ?? "");
    const { name, labels } = identitySchema.safeParse(value).data ?? {};
    const unread = { kind, uuid, ref: known?.ref, labels: known, name: typeof name === "string" ? name : undefined };
    if (typeof value !== "object" || value === null) return { ...unread, why: "it is no object" };
    const meaning = readLabels(labels, this.#options.owner);
    if (meaning.kind === "foreign") return undefined;
    if (meaning.kind === "unreadable") return { ...unread, ref: unread.ref ?? meaning.ref, why: meaning.why };
    const ours = { ...unread, ref: meaning.labels.ref, labels: meaning.labels };
    if (uuid === undefined) return { ...ours, why: "uuid: expected a UUID" };
    const observed =
      kind === "container"
        ? readWith(containerSchema, value, (container) => observeContainer(container, meaning.labels))
        : readWith(capsuleSchema, value, (capsule) => observeCapsule(capsule, meaning.labels));
    return typeof observed === "string" ? { ...ours, why: observed } : observed;
  }
}

function isUnread(found: Found): found is UnreadObject {
  return !("status" in found);
}

/** @returns what is wrong with the object, or what it says */
function readWith<T>(schema: z.ZodType<T>, value: unknown, observe: (object: T) => Observation): Observation | string {
  const { success, data, error } = schema.safeParse(value);
  return success ? observe(data) : problemOf(error);
}

/** Error message for a pod that exists and cannot be read. */
export function unreadMessage({ namespace, name }: PodRef, { kind, uuid = "without a UUID", why }: UnreadObject): string {
  return `find pod ${namespace}/${name}: its ${kind} ${uuid} is in Zun and cannot be read: ${why}`;
}

/** In a list a container that has ended has no exit code, or that of an earlier end. */
export function needsLook({ kind, status }: Observation): boolean {
  return kind === "container" && status === "Stopped";
}
