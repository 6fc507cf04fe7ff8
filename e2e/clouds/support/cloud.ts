import type { ContainerRun } from "../../support/container-host/container-host.ts";

/** What a cloud holds of a pod: a task of ECS, or a container group of Azure. */
export interface CloudObject {
  /** Name of its containers' group on the engine. */
  readonly group: string;
  /** Whether the cloud keeps it running, or starts it. */
  readonly isLive: boolean;
  /** Runs of its first container, in order. */
  readonly runs: readonly ContainerRun[];
}

/** An object that no pod belongs to. */
export interface ForeignObject {
  /** All that the cloud says of it, which never changes while nobody touches it. */
  describe(): unknown;
}

/** A fake of a cloud whose containers run on a Docker engine, and how the program reaches it. */
export interface Cloud extends AsyncDisposable {
  /** Configuration of the provider as in its README. */
  readonly providerConfig: object;
  /** Environment variables of the program, such as credentials. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether each pod has an address. */
  readonly hasAddresses: boolean;
  /** Annotations with which pods may use the keys `password` and `token` of the Secret `door`. */
  readonly secretAnnotations: Readonly<Record<string, string>>;
  /** Values that may be nowhere in the program's log. */
  readonly credentials: readonly string[];
  /** Objects of a pod, with those that have ended as long as the cloud shows them. */
  objectsOf(podUid: string): readonly CloudObject[];
  /** Number of requests so far that create objects. */
  countCreates(): number;
  /** Has the next request that creates an object carried out, but never answered. */
  leaveNextCreateUnanswered(): void;
  /** Creates an object as another user of the account. */
  createForeign(): Promise<ForeignObject>;
}

/** Value of each key of the Secret `door`. */
export const door = { password: "open-sesame-3f9b", token: "token-of-the-door-77c2" } as const;
