import { podRef } from "@virtual-kubelet/core";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { CarryConfig } from "../config/carry.ts";
import { matchesAny } from "../config/pattern.ts";
import { homeClustersOf, labelValue, ownerTags, tagAnnotations, tagLabels } from "../identity/tags.ts";
import { recordOf, recordText, sentTagsHash, tagsHash } from "./carried-record.ts";
import type { TranslationContext } from "./scope.ts";

/** Labels that say where the home pod's node is. The far cluster gives its own. */
const placeLabels = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/** Annotations for a kubelet of home: a far kubelet would take such a pod for one of its files. */
const kubeletAnnotations = ["kubernetes.io/config.*"];

const ownLabels = new Set<string>(Object.values(tagLabels));
const ownAnnotations = new Set<string>(Object.values(tagAnnotations));

/** Longest part of a label's key after its prefix. */
const maxLabelName = 63;

/** Returns the far key of a label; `undefined` if the label stays at home. */
export function farLabelKey(key: string, { labels: { prefix = "", exclude } }: Pick<CarryConfig, "labels">): string | undefined {
  if (ownLabels.has(key) || placeLabels.includes(key) || matchesAny(exclude, key)) return undefined;
  return prefix === ""
    ? key
    : `${prefix}${key
        .replace("/", "_")
        .slice(0, maxLabelName)
        .replace(/[-_.]+$/, "")}`;
}

/** Whether the far pod gets the annotation. */
export function carriesAnnotation(key: string, { annotations: { exclude } }: Pick<CarryConfig, "annotations">): boolean {
  return !ownAnnotations.has(key) && !matchesAny([...kubeletAnnotations, ...exclude], key);
}

/** Labels and annotations of a far pod. */
export interface FarTags {
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}

type TagContext = Pick<TranslationContext, "owner" | "config">;

/** Returns labels and annotations of the far pod, with the record of what is sent. */
export function farTags(home: DeepReadonly<Pod>, context: TagContext): FarTags {
  const { labels, annotations } = changingTags(home, context);
  const { namespace, name, uid } = podRef(home);
  const tags = ownerTags(context.owner);
  return {
    labels: { ...labels, ...tags.labels, [tagLabels.podUid]: uid },
    annotations: {
      ...annotations,
      ...tags.annotations,
      [tagAnnotations.pod]: `${namespace}/${name}`,
      [tagAnnotations.carried]: recordText(recordOf(home, { labels, annotations }, context.config.scheduling)),
    },
  };
}

/** Whether other labels or annotations were sent than the home pod has now. */
export function isOutdated(home: DeepReadonly<Pod>, far: DeepReadonly<Pod>, context: TagContext): boolean {
  const sent = sentTagsHash(far.metadata?.annotations?.[tagAnnotations.carried]);
  return sent !== undefined && sent !== tagsHash(changingTags(home, context));
}

/** Returns the labels and annotations by which a far pod is not found, so that they may change, or be changed in the far cluster. */
export function changingTags(home: DeepReadonly<Pod>, { config }: TagContext): FarTags {
  const { labels, annotations, ownerReferences } = home.metadata ?? {};
  const earlier = homeClustersOf(home.metadata);
  const controller = ownerReferences?.find((reference) => reference.controller);
  return {
    labels: { ...carriedLabels(labels, config.carry), [tagLabels.namespace]: labelValue(podRef(home).namespace) },
    annotations: {
      ...carriedAnnotations(annotations, config.carry),
      ...(earlier.length > 0 && { [tagAnnotations.earlierClusters]: JSON.stringify(earlier) }),
      ...(controller && { [tagAnnotations.controller]: `${controller.kind}/${controller.name}` }),
    },
  };
}

/** Returns the home pod's labels as the far pod has them. */
function carriedLabels(labels: Readonly<Record<string, string>> = {}, carry: Pick<CarryConfig, "labels">): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).flatMap(([key, value]) => {
      const farKey = farLabelKey(key, carry);
      return farKey === undefined ? [] : [[farKey, value]];
    }),
  );
}

/** Returns the home pod's annotations as the far pod has them. */
function carriedAnnotations(
  annotations: Readonly<Record<string, string>> = {},
  carry: Pick<CarryConfig, "annotations">,
): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => carriesAnnotation(key, carry)));
}
