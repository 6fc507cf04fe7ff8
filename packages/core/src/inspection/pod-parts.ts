import type { DeepReadonly, KeyInspection, Pod } from "@virtual-kubelet/kube-client";
import type { PodState } from "../pod/state/pod-state.ts";

/** Parts of the program that know something about a pod. */
export interface PodParts {
  readonly state: PodState;
  /** The API server's object; `undefined` if the store has none. */
  readonly pod: DeepReadonly<Pod> | undefined;
  /** Its work; `undefined` when none is queued. */
  readonly work: KeyInspection | undefined;
  /** The writing of its status; `undefined` when none is queued. */
  readonly writing: KeyInspection | undefined;
}
