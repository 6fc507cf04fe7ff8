import { SingleFlight } from "@virtual-kubelet/async";
import type { Logger, Owner, PodRef } from "@virtual-kubelet/core";
import { ConflictError, isInvalidInput, isNotFound, messageOf, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { PodIdentity } from "../backend/observation.ts";
import type { ListedObject, RemoteBackend, RemoteDescriptions, RemoteListing } from "../backend/remote-backend.ts";
import { identityOf, objectOf } from "../state/pod-state.ts";
import type { Meaning, ObjectObserver } from "./object-observer.ts";
import type { PodTable } from "./pod-table.ts";

export interface PodFinderOptions<Request, Remote, Memory> {
  readonly backend: RemoteBackend<Request, Remote, Memory>;
  readonly table: PodTable<Remote, Memory>;
  readonly observer: ObjectObserver<Request, Remote, Memory>;
  readonly owner: Owner;
  readonly logger: Logger;
}

/** Contents of a list, besides the pods that were noted in the table. */
export interface Listing {
  /** UIDs of pods of which an object was listed. */
  readonly listed: ReadonlySet<string>;
  /** Ids with the version that the list shows. */
  readonly versions: ReadonlyMap<string, string | undefined>;
  /** Pods whose objects exist but cannot be read. */
  readonly unreadable: readonly { readonly id: string; readonly ref: PodRef; readonly why: string }[];
  /** Whether every pod that is not listed has no object. */
  readonly isComplete: boolean;
}

/** Lists and describes objects, and notes them in the table. */
export class PodFinder<Request, Remote, Memory> {
  readonly #options: PodFinderOptions<Request, Remote, Memory>;
  readonly #lists = new SingleFlight<Listing>();
  #problems = "";
  #hasListed = false;
  /** Number of times that {@link expireLists} was called. */
  #generation = 0;
  /** Number of requests for a list so far. */
  #requests = 0;
  /** The latest request whose answer was noted. */
  #noted = 0;
  /** The latest request whose list was processed to its end. */
  #finished = 0;
  /** UIDs of pods whose objects the list of that request showed and that could not be read. */
  #unreadable: ReadonlySet<string> = new Set();

  constructor(options: PodFinderOptions<Request, Remote, Memory>) {
    this.#options = options;
  }

  /** Whether a complete list was read, so that an object of an unknown pod does not exist. */
  get hasListed(): boolean {
    return this.#hasListed;
  }

  /** Whether the last list showed an object of the pod that could not be read. */
  isUnreadable(uid: string): boolean {
    return this.#unreadable.has(uid);
  }

  /** Whether the object is known to belong to somebody else. */
  isForeign(id: string): boolean {
    return this.#options.observer.isForeign(id);
  }

  /** Lists all objects of the node; calls at the same time share one list. @throws what the back end throws */
  list(signal: AbortSignal): Promise<Listing> {
    return this.#lists.run(`list ${this.#generation}`, (shared) => this.#list(shared), signal);
  }

  /** Makes the next call of {@link list} send its own request: one that is under way may be older than what has just happened. */
  expireLists(): void {
    this.#generation++;
  }

  /** Describes objects, in batches, and notes them. @returns ids that could not be described */
  describe(ids: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    return this.#describeAll(ids, {}, signal);
  }

  async #describeAll(ids: readonly string[], context: DescribeContext<Remote>, signal: AbortSignal): Promise<readonly string[]> {
    const { describeBatch } = this.#options.backend.limits;
    const batches = Array.from({ length: Math.ceil(ids.length / describeBatch) }, (_, index) =>
      ids.slice(index * describeBatch, (index + 1) * describeBatch),
    );
    const failed: string[] = [];
    const next = batches.values();
    const work = async (): Promise<void> => {
      for (const batch of next) failed.push(...(await this.#describeBatch(batch, context, signal)));
    };
    await Promise.all(Array.from({ length: Math.min(describesAtOnce, batches.length) }, work));
    return failed;
  }

  /**
   * Looks for a pod's object by itself.
   *
   * @param acceptUnreadable - an object of the pod that cannot be read counts as found. Default: `false`
   * @throws NotFoundError if the back end has none; UnavailableError if an incomplete list does not tell; what the back end throws
   */
  async find(ref: PodRef, signal: AbortSignal, { acceptUnreadable = false }: { readonly acceptUnreadable?: boolean } = {}): Promise<void> {
    const { backend, table } = this.#options;
    const state = table.get(ref.uid);
    const id = objectOf(state)?.id ?? (state && backend.idOf?.(identityOf(state)));
    if (id === undefined) await this.#findByList(ref, signal, { acceptUnreadable });
    else await this.look(id, signal);
    const found = objectOf(table.get(ref.uid));
    if (id === undefined && found && found.remote === undefined && !acceptUnreadable) await this.look(found.id, signal);
    const after = table.get(ref.uid);
    if (after === undefined || after.kind === "gone") throw notFound(backend.name, ref);
  }

  /** Describes one object. @returns whether it exists. @throws what the back end throws */
  async look(id: string, signal: AbortSignal): Promise<boolean> {
    const { backend } = this.#options;
    const { found, missing, unreadable = [] } = await backend.describe([id], signal);
    this.#note({ found, missing, unreadable });
    const [unread] = unreadable;
    if (unread) throw new UnavailableError(`describe ${id}: the answer of ${backend.name} cannot be read: ${unread.why}`);
    if (found.length === 0 && missing.length === 0)
      throw new UnavailableError(`describe ${id}: ${backend.name} answered with neither the object nor its absence`);
    return found.length > 0;
  }

  /** Looks for the object with the id that the identity implies, or in the list. @returns whether the pod has an object now */
  async adopt(identity: PodIdentity, signal: AbortSignal): Promise<boolean> {
    const { backend, table } = this.#options;
    const { ref } = identity;
    if (!backend.idOf) {
      await this.#findByList(ref, signal, { mayBeMissing: true });
      return objectOf(table.get(ref.uid)) !== undefined;
    }
    const id = backend.idOf(identity);
    const exists = await this.look(id, signal);
    if (objectOf(table.get(ref.uid))) return true;
    // A name that another object has cannot be the name of the pod's; there is nothing to delete.
    if (exists && table.get(ref.uid)?.kind !== "deleting")
      throw new ConflictError(
        `create pod ${ref.namespace}/${ref.name}: ${backend.name} has an object ${id} that does not belong to the pod; delete it, or its tags`,
      );
    table.dispatch(ref.uid, { kind: "absent", id: undefined });
    return false;
  }

  async #findByList(ref: PodRef, signal: AbortSignal, { mayBeMissing = false, acceptUnreadable = false } = {}): Promise<void> {
    const { backend, table, observer, owner } = this.#options;
    const { isComplete, unreadable } = await this.list(signal);
    if (objectOf(table.get(ref.uid))) return;
    const pod = `${ref.namespace}/${ref.name}`;
    const unread = unreadable.find((each) => each.ref.uid === ref.uid);
    if (unread && acceptUnreadable) return observer.note(unread.id, { ref, owner, attempt: 0 }, undefined);
    if (unread) throw new UnavailableError(`find pod ${pod}: its object is in ${backend.name} and cannot be read: ${unread.why}`);
    if (!isComplete) throw new UnavailableError(`find pod ${pod}: the list of ${backend.name} is incomplete`);
    table.dispatch(ref.uid, { kind: "absent", id: undefined });
    if (!mayBeMissing && table.get(ref.uid) === undefined) throw notFound(backend.name, ref);
  }

  async #list(signal: AbortSignal): Promise<Listing> {
    const { observer, table, logger } = this.#options;
    const request = ++this.#requests;
    const { objects, problems } = await this.#objectsNow(request, signal);
    this.#tellProblems(problems, logger);
    const described = objects.filter(({ remote }) => remote !== undefined);
    const unknown = objects.filter((each) => each.remote === undefined && observer.meaningOf(each) === undefined);
    const unreadable: { id: string; ref: PodRef; why: string }[] = [];
    let isAnyUnidentified = false;
    let isComplete = problems.length === 0;
    const judge = (id: string, meaning: Meaning): void => {
      if (typeof meaning !== "object") return;
      if (meaning.unreadable) unreadable.push({ id, ref: meaning.unreadable, why: meaning.why });
      else isAnyUnidentified = true;
    };
    for (const each of byAge(described)) if (each.remote !== undefined) judge(each.id, observer.see(each.id, each.remote, each));
    for (const each of byAge(objects)) {
      if (each.remote !== undefined || each.identity === undefined || table.byId(each.id)) continue;
      const meaning = observer.meaningOf(each);
      if (meaning === "pod" && each.identity.kind === "pod" && each.hasOtherName) {
        const { identity } = each.identity;
        // An object that cannot be read may be the pod, and this one its copy.
        if (unreadable.some(({ ref }) => ref.uid === identity.ref.uid)) observer.skipCopy(each.id, identity);
        else if (!isAnyUnidentified || table.get(identity.ref.uid)) observer.note(each.id, identity, undefined, each);
      } else if (meaning === "pod" && each.identity.kind === "pod") observer.note(each.id, each.identity.identity, undefined, each);
      else if (meaning) judge(each.id, meaning);
    }
    const listed = new Map(unknown.map((each) => [each.id, each]));
    const failed = await this.#describeAll([...listed.keys()], { listed, judge }, signal);
    if (failed.length > 0 || isAnyUnidentified) isComplete = false;
    if (isComplete) this.#hasListed = true;
    if (request > this.#finished) {
      this.#finished = request;
      this.#unreadable = new Set(unreadable.map(({ ref }) => ref.uid));
    }
    const uids = objects.flatMap(({ id }) => {
      const state = table.byId(id);
      return state ? [identityOf(state).ref.uid] : [];
    });
    return { listed: new Set(uids), versions: new Map(objects.map(({ id, version }) => [id, version])), unreadable, isComplete };
  }

  /** Lists. If a later request was answered before, only the ids still count, so that unknown ones are described. */
  async #objectsNow(request: number, signal: AbortSignal): Promise<RemoteListing<Remote>> {
    const listing = await this.#options.backend.list(signal);
    if (request < this.#noted)
      return { ...listing, objects: listing.objects.map((each) => ({ ...each, remote: undefined, identity: undefined })) };
    this.#noted = request;
    return listing;
  }

  async #describeBatch(ids: readonly string[], context: DescribeContext<Remote>, signal: AbortSignal): Promise<readonly string[]> {
    const { backend, logger } = this.#options;
    try {
      const { found, missing, unreadable = [] } = await backend.describe(ids, signal);
      this.#note({ found, missing, unreadable }, context);
      const told = new Set([...found.map(({ id }) => id), ...missing]);
      return ids.filter((id) => !told.has(id));
    } catch (error) {
      signal.throwIfAborted();
      // One id that the back end refuses must not hide the others.
      if (ids.length > 1 && (isInvalidInput(error) || isNotFound(error)))
        return (await Promise.all(ids.map((id) => this.#describeBatch([id], context, signal)))).flat();
      logger.debug({ objects: ids.length, err: messageOf(error) }, "objects could not be described; their last known state stays in use");
      return ids;
    }
  }

  #note({ found, missing, unreadable = [] }: RemoteDescriptions<Remote>, { listed, judge }: DescribeContext<Remote> = {}): void {
    const { observer, table } = this.#options;
    for (const { id, why } of unreadable) observer.skip(id, why);
    for (const { id, remote } of found) {
      const meaning = observer.see(id, remote, listed?.get(id));
      judge?.(id, meaning);
    }
    for (const id of missing) {
      const state = table.byId(id);
      if (state) table.dispatch(identityOf(state).ref.uid, { kind: "absent", id });
    }
  }

  #tellProblems(problems: readonly string[], logger: Logger): void {
    const told = problems.join("; ");
    if (told !== this.#problems && told !== "")
      logger.warn({ problems }, "the list of pods is incomplete; pods that it lacks keep their state");
    this.#problems = told;
  }
}

/** What a list says of objects that are described to read their tags. */
interface DescribeContext<Remote> {
  readonly listed?: ReadonlyMap<string, ListedObject<Remote>> | undefined;
  readonly judge?: ((id: string, meaning: Meaning) => void) | undefined;
}

/** Batches described at the same time; the call budget sets the pace. */
const describesAtOnce = 4;

/**
 * Oldest first: of several objects of one attempt the first stays, because a create whose answer was lost may have come through. Objects with
 * another name come last, because they are the pod's only if no other object is.
 */
function byAge<Remote>(objects: readonly ListedObject<Remote>[]): readonly ListedObject<Remote>[] {
  const key = ({ createdAt = "unknown", id, hasOtherName = false }: ListedObject<Remote>): string =>
    `${hasOtherName ? 1 : 0} ${createdAt} ${id}`;
  return objects.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

function notFound(backEnd: string, { namespace, name, uid }: PodRef): NotFoundError {
  return new NotFoundError(`find pod ${namespace}/${name}: ${backEnd} has no object tagged with UID ${uid}`);
}
