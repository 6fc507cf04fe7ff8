/** What a condition means to the people who find it on a node or a pod. */
export interface ConditionInfo {
  readonly on: "node" | "pod";
  /** What each status means. */
  readonly meaning: string;
  /** What to do, with commands in backquotes. */
  readonly remedy: string;
}

/** Conditions that Kubernetes itself does not have, by their type. `virtual-kubelet explain` and the reference are made from it. */
export type ConditionCatalogue = Readonly<Record<string, ConditionInfo>>;
