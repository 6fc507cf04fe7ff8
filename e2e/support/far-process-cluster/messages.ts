import type { RuleMatch } from "@virtual-kubelet/embedded-apiserver";

/** Name of the virtual node in the home cluster that uses the far cluster. */
export const homeNode = "conformance-node";

/** The provider's configuration, without the connection. The node has the rights in the far cluster that are printed for it. */
export const farConfig = { namespaces: { mode: "one", name: "from-home" }, usage: "kubelets" } as const;

/** What the far cluster's process says. */
export interface FarMessage {
  readonly ready?: {
    readonly kubeconfigs: { readonly home: string; readonly admin: string };
    readonly version: string;
  };
  /** A request of the home cluster for pods has failed since the order to let them fail. */
  readonly failing?: true;
}

/** What the test says to the far cluster's process. */
export interface FarOrder {
  /** Requests of the home cluster that fail, and watches that end; absent: none any more. */
  readonly fail?: Omit<RuleMatch, "user"> | undefined;
}
