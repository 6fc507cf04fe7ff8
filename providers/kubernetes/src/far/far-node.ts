import type { ProviderHost } from "@virtual-kubelet/core";
import type { KubernetesConfig } from "../config.ts";
import type { NamespaceMap } from "../identity/namespaces.ts";
import type { FarOwner } from "../identity/tags.ts";
import type { FarCluster } from "./far-cluster.ts";

/** What each part of one virtual node's provider is made of. */
export interface FarNode {
  readonly host: ProviderHost;
  readonly config: KubernetesConfig;
  readonly owner: FarOwner;
  readonly namespaces: NamespaceMap;
  readonly far: FarCluster;
}
