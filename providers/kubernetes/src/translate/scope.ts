import type { Pod, PodSpec, Container } from "@virtual-kubelet/kube-client";
import type { ResolvedEnvVar } from "@virtual-kubelet/core";
import type { FarVolumeSources } from "../claims/far-volume-source.ts";
import type { KubernetesConfig } from "../config.ts";
import type { NamespaceMap } from "../identity/namespaces.ts";
import type { FarOwner } from "../identity/tags.ts";
import type { References } from "./references.ts";
import type { Findings } from "./findings.ts";

export type Volume = NonNullable<PodSpec["volumes"]>[number];
export type EphemeralContainer = NonNullable<PodSpec["ephemeralContainers"]>[number];
/** A container of any kind, with the fields that all kinds have. */
export type AnyContainer = Container | EphemeralContainer;

/** What a translation needs to know besides the pod. */
export interface TranslationContext {
  readonly owner: FarOwner;
  readonly config: Pick<KubernetesConfig, "carry" | "claims" | "network" | "scheduling">;
  readonly namespaces: NamespaceMap;
}

/** Facts about a pod that only the home cluster knows, read before the translation. */
export interface TranslationFacts {
  readonly claims: FarVolumeSources;
  /** The variables of home's services, as a kubelet of the home cluster would set them. Default: none are needed. */
  readonly serviceVariables?: readonly ResolvedEnvVar[] | undefined;
}

/** One translation: what is known, and what is collected on the way. */
export interface Scope {
  /** A copy of the home pod of its own. */
  readonly home: Pod;
  readonly spec: PodSpec;
  readonly homeNamespace: string;
  readonly context: TranslationContext;
  readonly facts: TranslationFacts;
  readonly references: References;
  readonly findings: Findings;
  /** Volumes that the far pod lacks. */
  readonly droppedVolumes: ReadonlySet<string>;
}
