import type { KubernetesObject } from "@virtual-kubelet/kube-client";

/** An object for `kubectl apply`, with a comment about its purpose. */
export interface ExplainedObject {
  readonly why: string;
  readonly object: KubernetesObject & Readonly<Record<string, unknown>>;
}

/** Objects that an administrator of the back end applies there. */
export interface BackEndManifest {
  /** Lines of an introductory comment. */
  readonly head: readonly string[];
  readonly objects: readonly ExplainedObject[];
}

/** Context of {@link ProviderDefinition.backEndManifest}. */
export interface BackEndManifestContext {
  /** Name of the configured node. */
  readonly nodeName: string;
}

/** Rights at the cluster's API server, as in a Role. */
export interface NeededRights {
  /** What they are for, as in `mirrors Services`. */
  readonly why: string;
  /** `undefined`: in the whole cluster. */
  readonly namespace?: string | undefined;
  readonly rules: readonly {
    /** The core group is empty. */
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    readonly resourceNames?: readonly string[] | undefined;
  }[];
}
