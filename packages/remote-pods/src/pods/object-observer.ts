import type { Clock } from "@virtual-kubelet/clock";
import { ObjectReader, podRef, type DeepReadonly, type Owner, type Pod, type PodRef, type ProviderHost } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { IdentityReading, Observation, PodIdentity } from "../backend/observation.ts";
import type { ListedObject, RemoteBackend } from "../backend/remote-backend.ts";
import type { RemoteTarget } from "../backend/remote-target.ts";
import { earlierRunsOf } from "../state/earlier-runs.ts";
import { identityOf, idOf, objectOf, type KnownObject, type PodState } from "../state/pod-state.ts";
import type { PodTable } from "./pod-table.ts";

/** Maximum number of objects of others, and of ended objects of earlier attempts, that are remembered, so that they are described once. */
const maxRemembered = 10_000;

export interface ObjectObserverOptions<Request, Remote, Memory> {
  readonly backend: RemoteBackend<Request, Remote, Memory>;
  readonly table: PodTable<Remote, Memory>;
  readonly host: Pick<ProviderHost, "clock" | "findPod" | "logger" | "metrics">;
  readonly owner: Owner;
  /** Called with an object that is not the pod's latest or first one. */
  readonly onSurplus: (id: string, identity: PodIdentity, remote: Remote | undefined) => void;
}

/** Facts about an object that only lists show. */
type ListingFacts<Remote> = Pick<ListedObject<Remote>, "createdAt" | "hasOtherName">;

interface NotedFacts<Remote> extends ListingFacts<Remote> {
  /** Whether the object is known from the answer to its create only. Default: `false`. */
  readonly isCreateAnswer?: boolean | undefined;
}

/** Meaning of an object for this node. */
export type Meaning = "pod" | "foreign" | { readonly unreadable: PodRef | undefined; readonly why: string };

/** Reads objects of the back end: whose they are, and what they say of a pod. */
export class ObjectObserver<Request, Remote, Memory> {
  readonly #options: ObjectObserverOptions<Request, Remote, Memory>;
  readonly #reader: ObjectReader<"object">;
  readonly #foreign = new Set<string>();
  /** Ended objects of earlier attempts, which the back end removes by itself. */
  readonly #past = new Set<string>();
  readonly #clock: Clock;

  constructor(options: ObjectObserverOptions<Request, Remote, Memory>) {
    const { host, backend } = options;
    this.#options = options;
    this.#clock = host.clock;
    const { logger, metrics } = host;
    this.#reader = new ObjectReader({
      logger,
      metrics,
      backEnd: backend.name,
      idOf: () => undefined,
      countSkipped: (kind) => metrics.count("virtual_kubelet_backend_skipped_objects_total", { backend: backend.shortName, kind }),
    });
  }

  /** Whether the object is known to belong to somebody else. */
  isForeign(id: string): boolean {
    return this.#foreign.has(id);
  }

  /** Identity of a listed object that has not been described; `undefined` if it must be described to read it. */
  meaningOf({ id, identity, remote }: ListedObject<Remote>): Meaning | undefined {
    const known = this.#options.table.byId(id);
    if (known && idOf(known) === id) {
      if (identity?.kind === "unreadable") this.skip(id, identity.why);
      return "pod";
    }
    if (this.#foreign.has(id)) return "foreign";
    if (this.#past.has(id)) return "pod";
    const reading = identity ?? (remote === undefined ? undefined : this.#identityOf(remote));
    if (!reading) return undefined;
    const [meaning, own] = this.#judge(id, reading);
    return own && remote === undefined && this.#mayBePast(id, own) ? undefined : meaning;
  }

  /** Names an object that cannot be read. */
  skip(id: string, why: string): void {
    this.#reader.skip("object", id, why);
  }

  /** Takes in a described object. */
  see(id: string, remote: Remote, listed: ListingFacts<Remote> = {}): Meaning {
    const { table } = this.#options;
    const known = table.byId(id);
    // The identity of a known object stays, even if somebody changes its tags.
    const [meaning, identity] =
      known && idOf(known) === id
        ? (["pod", objectOf(known)?.identity ?? identityOf(known)] as const)
        : this.#judge(id, this.#identityOf(remote));
    if (!identity) return meaning;
    this.note(id, identity, remote, listed);
    return "pod";
  }

  /** Whether the object certainly is not the one of this identity. Its tags may be absent from the answer to its create. */
  isAnother(id: string, identity: PodIdentity, remote: Remote | undefined): boolean {
    const { table, backend } = this.#options;
    const { uid } = identity.ref;
    const known = table.byId(id);
    if (known && idOf(known) === id && identityOf(known).ref.uid !== uid) return true;
    if (backend.idOf && backend.idOf(identity) !== id) return true;
    const reading = remote === undefined ? undefined : this.#identityOf(remote);
    return reading?.kind === "pod" && (reading.identity.ref.uid !== uid || reading.identity.attempt !== identity.attempt);
  }

  /** Takes in an object of a pod. */
  note(id: string, identity: PodIdentity, remote: Remote | undefined, facts: NotedFacts<Remote> = {}): void {
    const { createdAt, hasOtherName, isCreateAnswer = false } = facts;
    const { table, backend } = this.#options;
    const { uid } = identity.ref;
    const state = table.get(uid);
    const current = objectOf(state);
    if (this.#past.has(id)) return;
    if (state && current?.id !== id && this.#isSurplus(state, identity)) return this.#noteSurplus(state, { id, identity, remote }, facts);
    // The object of a pod that is gone may appear late under its own name, never under another.
    if (state?.kind === "gone" && hasOtherName) return this.skipCopy(id, identity);
    const before = endedBefore(state);
    if (before !== undefined && before !== id && backend.limits.keepsEndedMs !== undefined) remember(this.#past, before);
    const object = this.#knownObject(id, identity, remote, {
      known: current?.id === id ? current : undefined,
      listedAt: createdAt,
      isVisible: !isCreateAnswer,
    });
    table.dispatch(uid, { kind: "seen", object });
  }

  /** Takes in an object of a pod that has another one of the same attempt or of a later one. */
  #noteSurplus(
    state: PodState<Remote, Memory>,
    { id, identity, remote }: RemoteTarget<Remote>,
    { hasOtherName }: NotedFacts<Remote>,
  ): void {
    const { onSurplus, backend } = this.#options;
    const isEarlier = identity.attempt < identityOf(state).attempt;
    // Only a back end that creates an object for every request can have made a second one.
    if (hasOtherName || !(isEarlier || backend.limits.idempotency === "none")) return this.skipCopy(id, identity);
    if (this.#isPast(id, identity, remote)) remember(this.#past, id);
    else onSurplus(id, identity, remote);
  }

  /** Whether another object is, or will be, the pod's. */
  #isSurplus(state: PodState<Remote, Memory>, { attempt }: PodIdentity): boolean {
    const latest = identityOf(state).attempt;
    return attempt < latest || (attempt === latest && objectOf(state) !== undefined);
  }

  /** Whether the object is an earlier one that may have ended, which only its description tells. */
  #mayBePast(id: string, identity: PodIdentity): boolean {
    const { table, backend } = this.#options;
    const state = table.get(identity.ref.uid);
    if (!state || objectOf(state)?.id === id || backend.limits.keepsEndedMs === undefined) return false;
    return identity.attempt < identityOf(state).attempt;
  }

  /** Whether there is nothing to end: an earlier object has ended, and the back end removes it by itself. */
  #isPast(id: string, identity: PodIdentity, remote: Remote | undefined): boolean {
    if (remote === undefined || this.#options.backend.limits.keepsEndedMs === undefined) return false;
    return this.#observe(id, remote, identity, { pod: this.#podOf(identity.ref), known: undefined })?.progress === "ended";
  }

  #knownObject(
    id: string,
    identity: PodIdentity,
    remote: Remote | undefined,
    {
      known,
      listedAt,
      isVisible,
    }: {
      readonly known: KnownObject<Remote, Memory> | undefined;
      readonly listedAt: string | undefined;
      readonly isVisible: boolean;
    },
  ): KnownObject<Remote, Memory> {
    const pod = this.#podOf(identity.ref);
    const observation = (remote === undefined ? undefined : this.#observe(id, remote, identity, { pod, known })) ?? known?.observation;
    const { containerStatuses = [], initContainerStatuses = [] } = observation?.status ?? {};
    const hasRuns = known !== undefined && (known.observation !== undefined || known.earlier.size > 0);
    return {
      id,
      identity,
      sinceMs: known?.sinceMs ?? this.#clock.monotonic(),
      isVisible,
      createdAt: observation?.createdAt ?? known?.createdAt ?? listedAt,
      remote: remote ?? known?.remote,
      observation,
      before: known?.before,
      earlier: hasRuns ? known.earlier : earlierRunsOf(pod, identity.attempt, [...initContainerStatuses, ...containerStatuses]),
    };
  }

  /** @returns `undefined` if the back end's translation fails: the object exists, and keeps its last known state */
  #observe(
    id: string,
    remote: Remote,
    identity: PodIdentity,
    { pod, known }: { readonly pod: DeepReadonly<Pod> | undefined; readonly known: KnownObject<Remote, Memory> | undefined },
  ): Observation<Memory> | undefined {
    const { backend, table } = this.#options;
    const isEnding = table.get(identity.ref.uid)?.kind === "deleting" || pod?.metadata?.deletionTimestamp !== undefined;
    try {
      const context = { identity, pod, memory: known?.observation?.memory, nowMs: this.#clock.now(), isEnding };
      const observation = backend.observe(remote, context);
      this.#reader.accept("object", id);
      return observation;
    } catch (error) {
      this.skip(id, `its state cannot be read: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** One object that the back end's translation fails on must not hide the others. */
  #identityOf(remote: Remote): IdentityReading {
    try {
      return this.#options.backend.identityOf(remote);
    } catch (error) {
      return { kind: "unreadable", why: `whose it is cannot be told: ${messageOf(error)}` };
    }
  }

  /** The pod at the API server, if it is still the pod of this UID. */
  #podOf(ref: PodRef): DeepReadonly<Pod> | undefined {
    const pod = this.#options.host.findPod(ref);
    return pod && podRef(pod).uid === ref.uid ? pod : undefined;
  }

  #judge(id: string, reading: IdentityReading): readonly [Meaning, PodIdentity?] {
    const { backend, owner } = this.#options;
    switch (reading.kind) {
      case "foreign":
        remember(this.#foreign, id);
        return ["foreign"];
      case "unreadable":
        this.#reader.skip("object", id, reading.why);
        return [{ unreadable: reading.ref, why: reading.why }];
      case "pod": {
        const { identity } = reading;
        if (identity.owner.nodeName !== owner.nodeName || identity.owner.clusterId !== owner.clusterId) {
          remember(this.#foreign, id);
          return ["foreign"];
        }
        if (backend.idOf && backend.idOf(identity) !== id) {
          const { namespace, name } = identity.ref;
          this.#reader.skip(
            "object",
            id,
            `its tags are those of pod ${namespace}/${name}, but not its name: it is a copy; delete it, or its tags`,
          );
          return ["foreign"];
        }
        return ["pod", identity];
      }
      default:
        return reading satisfies never;
    }
  }

  /** Names an object that only has the tags of a pod. */
  skipCopy(id: string, { ref: { namespace, name } }: PodIdentity): void {
    this.#reader.skip(
      "object",
      id,
      `its tags are those of pod ${namespace}/${name}, whose object it is not: it is a copy; delete it, or its tags`,
    );
  }
}

/** Adds an id, and forgets the oldest one if there are too many. */
function remember(ids: Set<string>, id: string): void {
  ids.add(id);
  const [oldest] = ids;
  if (ids.size > maxRemembered && oldest !== undefined) ids.delete(oldest);
}

/** Id of the ended object that the next one of a pod replaces. */
function endedBefore<Remote, Memory>(state: PodState<Remote, Memory> | undefined): string | undefined {
  switch (state?.kind) {
    case "waiting":
      return state.object.id;
    case "creating":
    case "unclear":
      return state.before?.id;
    default:
      return undefined;
  }
}
