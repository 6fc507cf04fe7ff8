import type { DeepReadonly, Node } from "@virtual-kubelet/kube-client";
import { createHash } from "node:crypto";

/** Label of a Node by which a restarted program finds it: {@link fleetLabelValue} of the configured name. */
export const discoveredByLabel = "virtual-kubelet.io/discovered-by";

/** Annotation of a Node: the configured name in full. */
const discoveredByAnnotation = "virtual-kubelet.io/discovered-by";

/** Annotation of a Node: the name of its counterpart at the back end. */
const discoveredNodeAnnotation = "virtual-kubelet.io/discovered-node";

/** Maximum length of a Node's name that is also the value of the label `kubernetes.io/hostname`. */
const maxNameLength = 63;

const hashLength = 10;

/** Source: apimachinery v0.36.3 pkg/util/validation, IsDNS1123Subdomain. */
const subdomain = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** Whether a back end's name of a node can be part of a Node's name. */
export function isDiscoveredName(name: unknown): name is string {
  return typeof name === "string" && subdomain.test(name);
}

/** Name of the virtual node for a node of the back end: `PREFIX-NAME`, shortened with a hash if it is too long for a label's value. */
export function discoveredNodeName(prefix: string, name: string): string {
  const whole = `${prefix}-${name}`;
  if (whole.length <= maxNameLength) return whole;
  return `${whole.slice(0, maxNameLength - hashLength - 1).replace(/[-.]+$/, "")}-${hashOf(whole)}`;
}

/** The configured name as a label's value; its hash if it is too long. */
export function fleetLabelValue(prefix: string): string {
  return prefix.length <= maxNameLength ? prefix : hashOf(prefix);
}

/** Labels and annotations by which {@link rememberedName} knows a Node after a restart of the program. */
export function discoveredMarks(prefix: string, name: string): { labels: Record<string, string>; annotations: Record<string, string> } {
  return {
    labels: { [discoveredByLabel]: fleetLabelValue(prefix) },
    annotations: { [discoveredByAnnotation]: prefix, [discoveredNodeAnnotation]: name },
  };
}

/** Name at the back end of a Node that this program registered for a configured name; `undefined` for any other Node. */
export function rememberedName(prefix: string, { metadata }: DeepReadonly<Node>): string | undefined {
  const { name, annotations = {} } = metadata ?? {};
  const known = annotations[discoveredNodeAnnotation];
  if (annotations[discoveredByAnnotation] !== prefix || !isDiscoveredName(known)) return undefined;
  // Somebody may have copied the annotations to another Node.
  return discoveredNodeName(prefix, known) === name ? known : undefined;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, hashLength);
}
