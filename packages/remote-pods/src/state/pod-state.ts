import type { ContainerStatus, DeepReadonly } from "@virtual-kubelet/core";
import type { Observation, PodIdentity } from "../backend/observation.ts";

/** A pod's object at the back end, as last described. */
export interface KnownObject<Remote, Memory> {
  readonly id: string;
  readonly identity: PodIdentity;
  /** Monotonic milliseconds at which this program created or first saw it. */
  readonly sinceMs: number;
  /** Whether a list or a description has shown it, and not only the answer to its create. */
  readonly isVisible: boolean;
  /** RFC 3339. */
  readonly createdAt: string | undefined;
  /** `undefined` before the first description. */
  readonly remote: Remote | undefined;
  readonly observation: Observation<Memory> | undefined;
  /** What the pod's earlier objects have left, by container. */
  readonly earlier: EarlierRuns;
  /** The object that this one has replaced, as long as this program knows it. */
  readonly before?: KnownObject<Remote, Memory> | undefined;
}

/** Restarts and last ends of a pod's containers in its earlier objects. */
export type EarlierRuns = ReadonlyMap<
  string,
  { readonly restarts: number; readonly lastState: DeepReadonly<ContainerStatus>["lastState"] }
>;

/** A pod's deletion. */
export interface Deletion {
  /** Monotonic milliseconds at which the grace ends. */
  readonly deadlineMs: number;
  readonly sinceMs: number;
  readonly isAsked: boolean;
  readonly killedAtMs: number | undefined;
  readonly isDeleted: boolean;
  /** Monotonic milliseconds at which the back end accepted the object's deletion. */
  readonly deletedAtMs?: number | undefined;
}

/**
 * State of a pod at a back end.
 *
 * ```text
 *            create                created, seen                 seen, ended              delete
 * (unknown) ───────► creating ───────────────────► present ──────────────────► ended ───────────────┐
 *    ▲  ▲               │  │ unclear                │  ▲ │ delete              ▲ new object needed  │
 *    │  └─ refused ─────┘  ▼            seen        │  │ └───────► deleting ◄──┼───── waiting ◄──────┤
 *    └──── absent ─── unclear ──────────────────────┘  │              │        └── creating (next)    │
 *                                       absent ► missing ► gone ◄─────┘ absent                       ▼
 * ```
 */
export type PodState<Remote, Memory> =
  /** The create was sent, and its answer is outstanding. `before`: the earlier object that it replaces. */
  | {
      readonly kind: "creating";
      readonly identity: PodIdentity;
      readonly sinceMs: number;
      readonly before?: KnownObject<Remote, Memory> | undefined;
    }
  /** The create's answer was lost: the object may exist, or may still appear. */
  | {
      readonly kind: "unclear";
      readonly identity: PodIdentity;
      readonly sinceMs: number;
      readonly before?: KnownObject<Remote, Memory> | undefined;
    }
  | { readonly kind: "present"; readonly object: KnownObject<Remote, Memory> }
  /** The back end said, at `sinceMs` for the first time, that it has no such object. */
  | { readonly kind: "missing"; readonly object: KnownObject<Remote, Memory>; readonly sinceMs: number }
  /** The object has ended, and the next one is created at `atMs` (monotonic). */
  | { readonly kind: "waiting"; readonly object: KnownObject<Remote, Memory>; readonly atMs: number }
  /** The pod has ended for good. `isForgotten`: the back end no longer has the object. */
  | { readonly kind: "ended"; readonly object: KnownObject<Remote, Memory>; readonly isForgotten: boolean }
  /** `object` is `undefined` while an unclear create may still appear. */
  | {
      readonly kind: "deleting";
      readonly identity: PodIdentity;
      readonly object: KnownObject<Remote, Memory> | undefined;
      readonly deletion: Deletion;
    }
  /** Remembered, so that an object that appears late is deleted. `keptId`: its ended object, which the back end removes by itself. */
  | { readonly kind: "gone"; readonly identity: PodIdentity; readonly sinceMs: number; readonly keptId?: string | undefined };

/** The object that a state refers to. */
export function objectOf<Remote, Memory>(state: PodState<Remote, Memory> | undefined): KnownObject<Remote, Memory> | undefined {
  if (state === undefined || state.kind === "gone") return undefined;
  return state.kind === "creating" || state.kind === "unclear" ? undefined : state.object;
}

/** Id by which the back end may still name the pod's object. */
export function idOf<Remote, Memory>(state: PodState<Remote, Memory> | undefined): string | undefined {
  return state?.kind === "gone" ? state.keptId : objectOf(state)?.id;
}

/** Identity of the pod's latest object. */
export function identityOf<Remote, Memory>(state: PodState<Remote, Memory>): PodIdentity {
  return "identity" in state ? state.identity : state.object.identity;
}
