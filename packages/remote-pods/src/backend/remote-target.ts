import type { PodIdentity } from "./observation.ts";

/** An object of the back end that belongs to a pod. */
export interface RemoteTarget<Remote> {
  /** Id at the back end: a name, a UUID or an ARN. */
  readonly id: string;
  readonly identity: PodIdentity;
  /** Last description. `undefined` before the first one. */
  readonly remote: Remote | undefined;
}
