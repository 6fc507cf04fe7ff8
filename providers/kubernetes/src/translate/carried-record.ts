import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { z } from "zod";
import type { SchedulingConfig } from "../config/scheduling.ts";
import { shortHash } from "../identity/short-hash.ts";
import { farTolerations } from "./far-tolerations.ts";

type Resources = DeepReadonly<NonNullable<Container["resources"]>>;

/**
 * What was sent of a home pod to the far cluster, kept in an annotation of the far pod. So it is known, also after a restart of the program, which
 * differences between the two pods are changes at home, which have to be sent, and which were made in the far cluster, by its admission or by
 * somebody, which stay.
 */
export interface CarriedRecord {
  /** Hashes of the values by key in the far pod. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** By container. */
  readonly images: Readonly<Record<string, string>>;
  /** Hashes by container, and under the empty name that of the pod's. `undefined`: it is not known which were sent. */
  readonly resources?: Readonly<Record<string, string>> | undefined;
  /** Hashes. */
  readonly tolerations: readonly string[];
  readonly activeDeadlineSeconds?: number | undefined;
}

const hashes = z.record(z.string(), z.string());

const recordSchema: z.ZodType<CarriedRecord> = z.object({
  labels: hashes,
  annotations: hashes,
  images: hashes,
  resources: hashes.optional(),
  tolerations: z.array(z.string()),
  activeDeadlineSeconds: z.number().optional(),
});

type Tags = Readonly<Record<"labels" | "annotations", Readonly<Record<string, string>>>>;

/**
 * Returns the record of a home pod.
 *
 * @param tags - labels and annotations of the far pod that may change
 */
export function recordOf({ spec }: DeepReadonly<Pod>, tags: Tags, scheduling: Pick<SchedulingConfig, "tolerations">): CarriedRecord {
  const { containers = [], initContainers = [], resources, activeDeadlineSeconds, tolerations } = spec ?? {};
  const all = [...initContainers, ...containers];
  return {
    labels: hashed(tags.labels),
    annotations: hashed(tags.annotations),
    images: Object.fromEntries(all.map(({ name, image = "" }) => [name, image])),
    resources: Object.fromEntries(
      [{ name: "", resources }, ...all].flatMap(({ name, resources: amounts }) =>
        amounts?.requests || amounts?.limits ? [[name, resourcesHash(amounts)]] : [],
      ),
    ),
    tolerations: (farTolerations(tolerations, scheduling) ?? []).map(tolerationHash),
    activeDeadlineSeconds,
  };
}

/** Returns the record as the value of its annotation: the same text for the same record. */
export function recordText({ labels, annotations, images, resources, tolerations, activeDeadlineSeconds }: CarriedRecord): string {
  return JSON.stringify({ labels, annotations, images, resources, tolerations, activeDeadlineSeconds });
}

/** Hash of a value of a label or annotation. */
export function valueHash(value: string): string {
  return shortHash(value);
}

/** Hash of the amounts that home names. */
export function resourcesHash({ requests = {}, limits = {} }: Resources = {}): string {
  return shortHash(...[requests, limits].map((amounts) => JSON.stringify(sorted(amounts))));
}

export function tolerationHash(toleration: object): string {
  return shortHash(JSON.stringify(sorted({ ...toleration })));
}

/**
 * Hash of the labels and annotations in a record, which is all of it that far pods in memory keep. `undefined` if there is no record.
 *
 * @param text - value of the annotation, or its hash
 */
export function sentTagsHash(text: string | undefined): string | undefined {
  if (!text?.startsWith("{")) return text;
  const record = readRecord(text);
  return record && hashOf(record);
}

/** The same hash of labels and annotations that are to be sent. */
export function tagsHash({ labels, annotations }: Tags): string {
  return hashOf({ labels: hashed(labels), annotations: hashed(annotations) });
}

function hashOf({ labels, annotations }: Pick<CarriedRecord, "labels" | "annotations">): string {
  return shortHash(JSON.stringify([sorted(labels), sorted(annotations)]));
}

/** Reads the record in the value of its annotation; `undefined` if there is none, or somebody has damaged it. */
export function readRecord(text: string | undefined): CarriedRecord | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(text ?? "null")).data;
  } catch {
    return undefined;
  }
}

function hashed(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(sorted(values).map(([key, value]) => [key, valueHash(value)]));
}

function sorted<V>(map: Readonly<Record<string, V>>): readonly (readonly [string, V])[] {
  return Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
