import type { Container, DeepReadonly, Patch, Pod, PodSpec } from "@virtual-kubelet/kube-client";
import { compareQuantities, tryParseQuantity } from "@virtual-kubelet/kubernetes";
import { isDeepStrictEqual } from "node:util";
import type { Carried } from "../carry/carried.ts";
import type { SchedulingConfig } from "../config/scheduling.ts";
import { tagAnnotations } from "../identity/tags.ts";
import { readRecord, recordOf, recordText, resourcesHash, tolerationHash, valueHash, type CarriedRecord } from "./carried-record.ts";
import { changingTags } from "./far-metadata.ts";
import { carriedBy, scopeOf } from "./far-pod.ts";
import { farEphemeralContainer } from "./far-container.ts";
import { farTolerations } from "./far-tolerations.ts";
import type { FieldNote } from "./findings.ts";
import type { EphemeralContainer, TranslationContext, TranslationFacts } from "./scope.ts";

type Resources = NonNullable<Container["resources"]>;

/** A patch of a far pod. */
export interface FarPodPatch {
  /** Default: the pod itself. */
  readonly subresource?: "ephemeralcontainers" | "resize";
  readonly patch: Patch;
}

/** A patch of the far pod itself. */
interface MainPatch extends FarPodPatch {
  /** The record that it sets. */
  readonly record: string;
}

/** What a running far pod lacks of its home pod. Each patch can be sent whatever became of the others. */
export interface FarChanges {
  readonly resize: FarPodPatch | undefined;
  readonly ephemeralContainers: FarPodPatch | undefined;
  /** Everything that the pod needs, if new ephemeral containers add to it. It has to be there before their patch is sent. */
  readonly carried: Carried | undefined;
  /** Ephemeral containers that are left out, because they refer to excluded objects. */
  readonly refused: readonly RefusedContainer[];
  /**
   * Changes of the pod itself, with the record of what is sent.
   *
   * @param isResized - whether the resize, if there is one, has been sent and is not to be tried again
   */
  main(isResized: boolean): MainPatch | undefined;
}

/** An ephemeral container that does not travel. */
export interface RefusedContainer extends FieldNote {
  readonly name: string;
}

/** What {@link farChangesOf} compares. */
export interface ComparedPods {
  readonly home: DeepReadonly<Pod>;
  readonly far: DeepReadonly<Pod>;
  /** The record as last sent, for a far pod that has lost it. Default: it is not known. */
  readonly record?: string | undefined;
}

/**
 * Compares a far pod as it is with its home pod. Only what home has changed since it was last sent is a change: whatever the far cluster's admission
 * made of it, or somebody there, stays until then. The answer depends on the pods and the record alone, so a restart of the program loses no
 * change, and repeats none. Without any record, everything that differs is a change.
 */
export function farChangesOf(
  { home, far, record: sent }: ComparedPods,
  facts: Pick<TranslationFacts, "serviceVariables">,
  context: TranslationContext,
): FarChanges {
  const known = [far.metadata?.annotations?.[tagAnnotations.carried], sent].find((text) => readRecord(text) !== undefined);
  const record = readRecord(known);
  const uid = far.metadata?.uid;
  const patchOf = (body: { readonly metadata?: object; readonly spec?: object }): Patch => ({
    type: "strategic",
    // Another pod of this name is a conflict.
    body: { ...body, metadata: { ...body.metadata, ...(uid !== undefined && { uid }) } },
  });
  const { added, refused } = newEphemeralContainers(home, far, facts, context);
  const resized = resourceChanges(home.spec, far.spec, record?.resources);
  return {
    resize: resized && { subresource: "resize", patch: patchOf({ spec: resized }) },
    ephemeralContainers:
      added.length > 0 ? { subresource: "ephemeralcontainers", patch: patchOf({ spec: { ephemeralContainers: added } }) } : undefined,
    carried:
      added.length > 0 ? carriedBy(home, context, new Set([...namesOf(far.spec?.ephemeralContainers), ...namesOf(added)])) : undefined,
    refused,
    main(isResized) {
      const change = mainChanges({ home, far, record }, context);
      const text = recordText(recordToSend({ home, record, isResized }, context));
      if (!change && text === known) return undefined;
      const annotations = { ...change?.metadata?.annotations, [tagAnnotations.carried]: text };
      return { patch: patchOf({ ...change, metadata: { ...change?.metadata, annotations } }), record: text };
    },
  };
}

/** The record after the patches. Resources that were not sent are not in it, so that they are sent later. */
function recordToSend(
  {
    home,
    record,
    isResized,
  }: { readonly home: DeepReadonly<Pod>; readonly record: CarriedRecord | undefined; readonly isResized: boolean },
  context: TranslationContext,
): CarriedRecord {
  const complete = recordOf(home, changingTags(home, context), context.config.scheduling);
  return isResized ? complete : { ...complete, resources: record?.resources };
}

function namesOf(containers: readonly { readonly name: string }[] = []): readonly string[] {
  return containers.map(({ name }) => name);
}

/** Returns the ephemeral containers that the far pod lacks, and those of them that do not travel. */
function newEphemeralContainers(
  home: DeepReadonly<Pod>,
  far: DeepReadonly<Pod>,
  facts: Pick<TranslationFacts, "serviceVariables">,
  context: TranslationContext,
): { readonly added: readonly EphemeralContainer[]; readonly refused: readonly RefusedContainer[] } {
  const known = namesOf(far.spec?.ephemeralContainers);
  const added: EphemeralContainer[] = [];
  const refused: RefusedContainer[] = [];
  for (const [index, { name }] of (home.spec?.ephemeralContainers ?? []).entries()) {
    if (known.includes(name)) continue;
    const scope = scopeOf(home, { claims: new Map(), ...facts }, context);
    const container = scope.spec.ephemeralContainers?.[index];
    if (!container) continue;
    const translated = farEphemeralContainer(container, { pod: scope, path: `spec.ephemeralContainers[${index}]` });
    const [why] = scope.findings.refused;
    if (why) refused.push({ name, ...why });
    else added.push(translated);
  }
  return { added, refused };
}

interface Compared {
  readonly home: DeepReadonly<Pod>;
  readonly far: DeepReadonly<Pod>;
  readonly record: CarriedRecord | undefined;
}

/** Changes of the pod itself, without the record: labels, annotations, images, tolerations, deadline. */
function mainChanges(
  { home, far, record }: Compared,
  context: TranslationContext,
): { readonly metadata?: Partial<Record<"labels" | "annotations", object>>; readonly spec?: object } | undefined {
  const tags = changingTags(home, context);
  const labels = mapChanges(tags.labels, far.metadata?.labels, record?.labels);
  const annotations = mapChanges(tags.annotations, far.metadata?.annotations, record?.annotations);
  const metadata = { ...(labels && { labels }), ...(annotations && { annotations }) };
  const spec = specChanges({ home, far, record }, context);
  if (!labels && !annotations && !spec) return undefined;
  return { ...((labels || annotations) && { metadata }), ...(spec && { spec }) };
}

/**
 * Keys to set, and, as `null`, keys of ours to remove.
 *
 * @param sent - hashes of the values that were sent
 */
function mapChanges(
  wanted: Readonly<Record<string, string>>,
  actual: Readonly<Record<string, string>> = {},
  sent: Readonly<Record<string, string>> = {},
): Record<string, string | null> | undefined {
  const set = Object.entries(wanted).filter(([key, value]) => actual[key] !== value && sent[key] !== valueHash(value));
  const removed = Object.entries(sent)
    .filter(([key, hash]) => !Object.hasOwn(wanted, key) && actual[key] !== undefined && valueHash(actual[key]) === hash)
    .map(([key]) => [key, null] as const);
  return set.length + removed.length === 0 ? undefined : Object.fromEntries([...set, ...removed]);
}

function specChanges({ home, far, record }: Compared, { config }: TranslationContext): object | undefined {
  const containers = imageChanges(home.spec?.containers, far.spec?.containers, record);
  const initContainers = imageChanges(home.spec?.initContainers, far.spec?.initContainers, record);
  const seconds = home.spec?.activeDeadlineSeconds;
  const isShorter = seconds !== undefined && seconds < (far.spec?.activeDeadlineSeconds ?? Infinity);
  const tolerations = tolerationChanges({ home, far, record }, config.scheduling);
  const changes = {
    ...(containers.length > 0 && { containers }),
    ...(initContainers.length > 0 && { initContainers }),
    ...(isShorter && record?.activeDeadlineSeconds !== seconds && { activeDeadlineSeconds: seconds }),
    ...(tolerations && { tolerations }),
  };
  return Object.keys(changes).length === 0 ? undefined : changes;
}

function imageChanges(
  home: readonly DeepReadonly<Container>[] = [],
  far: readonly DeepReadonly<Container>[] = [],
  record: CarriedRecord | undefined,
): readonly { readonly name: string; readonly image: string }[] {
  return home.flatMap(({ name, image = "" }) => {
    const actual = far.find((container) => container.name === name)?.image;
    return actual === undefined || actual === image || record?.images[name] === image ? [] : [{ name, image }];
  });
}

/** The whole list, because a patch replaces it; the API server takes only additions. */
function tolerationChanges({ home, far, record }: Compared, scheduling: SchedulingConfig): readonly object[] | undefined {
  const actual = (far.spec?.tolerations ?? []).map(plain);
  const wanted = farTolerations(home.spec?.tolerations?.map(plain), scheduling) ?? [];
  const missing = wanted.filter(
    (one) => !record?.tolerations.includes(tolerationHash(one)) && !actual.some((other) => isDeepStrictEqual(one, other)),
  );
  return missing.length === 0 ? undefined : [...actual, ...missing];
}

/** A copy, so that lists of different origin can be compared. */
function plain<T extends object>(value: T): T {
  return { ...value };
}

/** @param sent - hashes of the resources that were sent; `undefined`: it is not known which */
function resourceChanges(
  home: DeepReadonly<PodSpec> | undefined,
  far: DeepReadonly<PodSpec> | undefined,
  sent: Readonly<Record<string, string>> | undefined,
): object | undefined {
  const isChanged = (name: string, resources: DeepReadonly<Resources>, actual: DeepReadonly<Resources> | undefined): boolean =>
    sent?.[name] !== resourcesHash(resources) && differs(resources, actual);
  const changed = (list: "containers" | "initContainers"): readonly object[] =>
    (home?.[list] ?? []).flatMap(({ name, resources }) => {
      const actual = far?.[list]?.find((container) => container.name === name);
      return actual && resources && isChanged(name, resources, actual.resources) ? [{ name, resources: amountsOf(resources) }] : [];
    });
  const containers = changed("containers");
  const initContainers = changed("initContainers");
  const resources = home?.resources && isChanged("", home.resources, far?.resources) ? amountsOf(home.resources) : undefined;
  const changes = {
    ...(containers.length > 0 && { containers }),
    ...(initContainers.length > 0 && { initContainers }),
    ...(resources && { resources }),
  };
  return Object.keys(changes).length === 0 ? undefined : changes;
}

function amountsOf({ requests, limits }: DeepReadonly<Resources>): object {
  return { ...(requests && { requests }), ...(limits && { limits }) };
}

/** Whether an amount that home names is another one in the far pod. Amounts that only the far pod has are the far cluster's defaults. */
function differs(home: DeepReadonly<Resources>, far: DeepReadonly<Resources> | undefined): boolean {
  return (["requests", "limits"] as const).some((list) =>
    Object.entries(home[list] ?? {}).some(([resource, amount]) => !isSameAmount(amount, far?.[list]?.[resource])),
  );
}

function isSameAmount(one: string, other: string | undefined): boolean {
  const [first, second] = [tryParseQuantity(one), other === undefined ? undefined : tryParseQuantity(other)];
  return first !== undefined && second !== undefined ? compareQuantities(first, second) === 0 : one === other;
}
