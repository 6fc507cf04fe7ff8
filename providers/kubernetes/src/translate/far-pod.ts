import { podRef } from "@virtual-kubelet/core";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { Carried } from "../carry/carried.ts";
import { farPodName } from "../identity/names.ts";
import { homeClustersOf, tagAnnotations, tagLabels } from "../identity/tags.ts";
import type { KubernetesReason } from "../reasons.ts";
import { farTags } from "./far-metadata.ts";
import { farEphemeralContainers, farSpec } from "./far-spec.ts";
import { Findings, type FieldNote } from "./findings.ts";
import { References } from "./references.ts";
import type { Scope, TranslationContext, TranslationFacts } from "./scope.ts";
import { isTokenVolume } from "./token-volume.ts";

/** A home pod, translated. */
export interface FarPod {
  /** The far pod, without `ownerReferences`. */
  readonly pod: Pod;
  /** What has to be there before the pod. */
  readonly carried: Carried;
  /** What is left out or changed, for events on the home pod. */
  readonly notes: readonly TranslationNote[];
}

/** Something that is told once, in an event on the home pod. */
interface TranslationNote {
  readonly reason: KubernetesReason;
  readonly message: string;
}

/**
 * Translates a home pod for the far cluster.
 *
 * @throws UnsupportedError with the field's path for what cannot travel; InvalidInputError for a namespace without a far one
 */
export function farPodOf(pod: DeepReadonly<Pod>, facts: TranslationFacts, context: TranslationContext): FarPod {
  const scope = scopeOf(pod, facts, context);
  const spec = farSpec(scope);
  refuseFarPod(scope);
  scope.findings.throwRefused();
  const ref = podRef(pod);
  return {
    pod: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: farPodName(context.owner, ref),
        namespace: context.namespaces.toFar(ref.namespace),
        ...farTags(pod, context),
      },
      spec,
    },
    carried: scope.references.carried,
    notes: notesOf(scope.findings.notes),
  };
}

/**
 * Returns what has to be in the far cluster for a pod that runs there. Refuses nothing: a pod that was accepted once keeps what it has.
 *
 * @param ephemeralContainers - names of those that the far pod has, or gets; the others may refer to what must stay at home
 */
export function carriedBy(pod: DeepReadonly<Pod>, context: TranslationContext, ephemeralContainers: ReadonlySet<string>): Carried {
  const scope = scopeOf(pod, { claims: new Map() }, context);
  farSpec(scope);
  farEphemeralContainers(scope, ephemeralContainers);
  return scope.references.carried;
}

/**
 * Refuses a pod that has begun in this home cluster as another pod, whose far pod it is, however many clusters it has come through. Where the far
 * cluster is the home cluster, or clusters are each other's nodes, such a pod would have another far pod, and so on without end.
 */
function refuseFarPod({ home: { metadata }, context, findings }: Scope): void {
  const clusters = homeClustersOf(metadata);
  if (!clusters.includes(context.owner.clusterId)) return;
  const isLast = clusters.at(-1) === context.owner.clusterId;
  findings.refuse(
    isLast ? `metadata.labels['${tagLabels.cluster}']` : `metadata.annotations['${tagAnnotations.earlierClusters}']`,
    isLast
      ? "the pod is itself the far pod of a pod of this cluster, and must not be sent on; if cluster.kubeconfig is that of the home cluster, set another, otherwise remove the label"
      : "the pod has begun in this cluster and has come back through others, and must not go round again; taint the virtual nodes of the clusters between, or give them the label type=virtual-kubelet",
  );
}

/** One event for all that is left out. */
function notesOf(notes: readonly FieldNote[]): readonly TranslationNote[] {
  if (notes.length === 0) return [];
  return [{ reason: "NotCarried", message: notes.map(({ fieldPath, message }) => `${fieldPath}: ${message}`).join("; ") }];
}

/** Starts a translation. */
export function scopeOf(pod: DeepReadonly<Pod>, facts: TranslationFacts, context: TranslationContext): Scope {
  // A copy may be changed.
  const home = structuredClone(pod) as Pod;
  const spec = home.spec ?? { containers: [] };
  const ref = podRef(pod);
  const findings = new Findings();
  const keepsToken = context.config.carry.serviceAccountToken === "home";
  return {
    home,
    spec,
    homeNamespace: ref.namespace,
    context,
    facts,
    references: new References(ref, context.owner, context.config.carry, findings),
    findings,
    droppedVolumes: new Set(keepsToken ? [] : (spec.volumes ?? []).filter(isTokenVolume).map(({ name }) => name)),
  };
}
