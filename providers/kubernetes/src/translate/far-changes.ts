import type { Container, DeepReadonly, Patch, Pod, PodSpec } from "@virtual-kubelet/kube-client";
import { compareQuantities, tryParseQuantity } from "@virtual-kubelet/kubernetes";
import { isDeepStrictEqual } from "node:util";
import type { Carried } from "../carry/carried.ts";
import { readRecord, type CarriedRecord } from "./carried-record.ts";
import { farTags } from "./far-metadata.ts";
import { carriedBy, scopeOf } from "./far-pod.ts";
import { farEphemeralContainers } from "./far-spec.ts";
import { farTolerations } from "./far-tolerations.ts";
import type { TranslationContext, TranslationFacts } from "./scope.ts";

type Resources = NonNullable<Container["resources"]>;

/** A patch of a far pod. */
export interface FarPodPatch {
  /** Default: the pod itself. */
  readonly subresource?: "ephemeralcontainers" | "resize";
  readonly patch: Patch;
}

/** What a running far pod lacks of its home pod. */
export interface FarChanges {
  /** In the order in which to send them; empty if the far pod is up to date. */
  readonly patches: readonly FarPodPatch[];
  /** Everything that the pod needs, if new ephemeral containers add to it. It has to be there before the patches are sent. */
  readonly carried: Carried | undefined;
}

/**
 * Compares a far pod as it is with its home pod. Only what the pod has from home is compared: labels and annotations that somebody added
 * in the far cluster stay, as do images that its admission has replaced. The answer depends on the two pods alone, so a restart of the
 * program loses no change, and repeats none.
 *
 * @throws UnsupportedError for a new ephemeral container that refers to an excluded object
 */
export function farChangesOf(
  home: DeepReadonly<Pod>,
  far: DeepReadonly<Pod>,
  facts: Pick<TranslationFacts, "serviceVariables">,
  context: TranslationContext,
): FarChanges {
  const scope = scopeOf(home, { claims: new Map(), ...facts }, context);
  const known = new Set(far.spec?.ephemeralContainers?.map(({ name }) => name));
  const added = farEphemeralContainers(scope).filter(({ name }) => !known.has(name));
  if (added.length > 0) scope.findings.throwRefused();
  const uid = far.metadata?.uid;
  const patchOf = (body: { readonly metadata?: object; readonly spec?: object }): Patch => ({
    type: "strategic",
    // Another pod of this name is a conflict.
    body: { ...body, metadata: { ...body.metadata, ...(uid !== undefined && { uid }) } },
  });
  const main = mainChanges(home, far, context);
  const resized = resourceChanges(scope.spec, far.spec);
  return {
    patches: [
      ...(main ? [{ patch: patchOf(main) }] : []),
      ...(added.length > 0
        ? [{ subresource: "ephemeralcontainers" as const, patch: patchOf({ spec: { ephemeralContainers: added } }) }]
        : []),
      ...(resized ? [{ subresource: "resize" as const, patch: patchOf({ spec: resized }) }] : []),
    ],
    carried: added.length > 0 ? carriedBy(home, context) : undefined,
  };
}

/** Changes of the pod itself: labels, annotations, images, tolerations, deadline. */
function mainChanges(
  home: DeepReadonly<Pod>,
  far: DeepReadonly<Pod>,
  context: TranslationContext,
): { readonly metadata?: object; readonly spec?: object } | undefined {
  const record = readRecord(far);
  const tags = farTags(home, context);
  const labels = mapChanges(tags.labels, far.metadata?.labels, record?.labels);
  const annotations = mapChanges(tags.annotations, far.metadata?.annotations, record?.annotations);
  const metadata = { ...(labels && { labels }), ...(annotations && { annotations }) };
  const spec = specChanges(home, far, { context, record });
  if (!labels && !annotations && !spec) return undefined;
  return { ...((labels || annotations) && { metadata }), ...(spec && { spec }) };
}

/** Keys to set, and, as `null`, keys of ours to remove. */
function mapChanges(
  wanted: Readonly<Record<string, string>>,
  actual: Readonly<Record<string, string>> = {},
  ours: readonly string[] = [],
): Record<string, string | null> | undefined {
  const set = Object.entries(wanted).filter(([key, value]) => actual[key] !== value);
  const removed = ours.filter((key) => !Object.hasOwn(wanted, key) && Object.hasOwn(actual, key)).map((key) => [key, null] as const);
  return set.length + removed.length === 0 ? undefined : Object.fromEntries([...set, ...removed]);
}

function specChanges(
  home: DeepReadonly<Pod>,
  far: DeepReadonly<Pod>,
  { context, record }: { readonly context: TranslationContext; readonly record: CarriedRecord | undefined },
): object | undefined {
  const containers = imageChanges(home.spec?.containers, far.spec?.containers, record);
  const initContainers = imageChanges(home.spec?.initContainers, far.spec?.initContainers, record);
  const seconds = home.spec?.activeDeadlineSeconds;
  const isShorter = seconds !== undefined && seconds < (far.spec?.activeDeadlineSeconds ?? Infinity);
  const tolerations = tolerationChanges(home, far, context);
  const changes = {
    ...(containers.length > 0 && { containers }),
    ...(initContainers.length > 0 && { initContainers }),
    ...(isShorter && { activeDeadlineSeconds: seconds }),
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
    // An image that differs although home's is the one of the record was replaced in the far cluster.
    return actual === undefined || actual === image || record?.images[name] === image ? [] : [{ name, image }];
  });
}

/** The whole list, because a patch replaces it; the API server takes only additions. */
function tolerationChanges(home: DeepReadonly<Pod>, far: DeepReadonly<Pod>, { config }: TranslationContext): readonly object[] | undefined {
  const actual = (far.spec?.tolerations ?? []).map(plain);
  const wanted = farTolerations(home.spec?.tolerations?.map(plain), config.scheduling) ?? [];
  const missing = wanted.filter((one) => !actual.some((other) => isDeepStrictEqual(one, other)));
  return missing.length === 0 ? undefined : [...actual, ...missing];
}

/** A copy, so that lists of different origin can be compared. */
function plain<T extends object>(value: T): T {
  return { ...value };
}

function resourceChanges(home: PodSpec, far: DeepReadonly<PodSpec> | undefined): object | undefined {
  const changed = (list: "containers" | "initContainers"): readonly object[] =>
    (home[list] ?? []).flatMap(({ name, resources }) => {
      const actual = far?.[list]?.find((container) => container.name === name);
      return actual && resources && differs(resources, actual.resources) ? [{ name, resources: amountsOf(resources) }] : [];
    });
  const containers = changed("containers");
  const initContainers = changed("initContainers");
  const resources = home.resources && differs(home.resources, far?.resources) ? amountsOf(home.resources) : undefined;
  const changes = {
    ...(containers.length > 0 && { containers }),
    ...(initContainers.length > 0 && { initContainers }),
    ...(resources && { resources }),
  };
  return Object.keys(changes).length === 0 ? undefined : changes;
}

function amountsOf({ requests, limits }: Resources): object {
  return { ...(requests && { requests }), ...(limits && { limits }) };
}

/** Whether an amount that home names is another one in the far pod. Amounts that only the far pod has are the far cluster's defaults. */
function differs(home: Resources, far: DeepReadonly<Resources> | undefined): boolean {
  return (["requests", "limits"] as const).some((list) =>
    Object.entries(home[list] ?? {}).some(([resource, amount]) => !isSameAmount(amount, far?.[list]?.[resource])),
  );
}

function isSameAmount(one: string, other: string | undefined): boolean {
  const [first, second] = [tryParseQuantity(one), other === undefined ? undefined : tryParseQuantity(other)];
  return first !== undefined && second !== undefined ? compareQuantities(first, second) === 0 : one === other;
}
