import type { NodeDescription } from "@virtual-kubelet/core";
import type { DeepReadonly, Node } from "@virtual-kubelet/kube-client";
import { ownValue } from "@virtual-kubelet/kubernetes";
import { matchesAny } from "../config/pattern.ts";
import type { SelectedNode } from "./far-nodes.ts";

/** The part of a description that says what kind of machines the far nodes are. */
export type CommonFacts = Pick<
  NodeDescription,
  | "labels"
  | "annotations"
  | "operatingSystem"
  | "architecture"
  | "containerRuntimeVersion"
  | "osImage"
  | "kernelVersion"
  | "declaredFeatures"
>;

/** Annotations of the virtual node about the far nodes, as counts: `v1.36.3=2,v1.35.0=1`. */
const farAnnotations = {
  kubeletVersions: "virtual-kubelet.io/far-kubelet-versions",
  /** Only if there are several: a node has one. */
  architectures: "virtual-kubelet.io/far-architectures",
} as const;

/** Labels that are the virtual node's own, whatever the patterns say. */
const ownLabels = ["kubernetes.io/hostname", "type", "kubernetes.io/role"];

/**
 * Returns what the selected far nodes have in common, whatever their state, so that a node that restarts changes nothing. Of the
 * architecture, which a node must have, it is the most frequent one.
 *
 * @param patterns - of the labels that the virtual node gets
 */
export function commonFacts(nodes: readonly SelectedNode[], patterns: readonly string[]): CommonFacts {
  const machines = nodes.map(({ node }) => node);
  const architectures = counted(machines, ({ status }) => status?.nodeInfo?.architecture);
  const kubelets = counted(machines, ({ status }) => status?.nodeInfo?.kubeletVersion);
  const [architecture] = architectures.keys();
  const operatingSystem = agreed(machines, ({ status }) => status?.nodeInfo?.operatingSystem);
  return {
    labels: commonLabels(machines, patterns),
    annotations: {
      ...(kubelets.size > 0 && { [farAnnotations.kubeletVersions]: written(kubelets) }),
      ...(architectures.size > 1 && { [farAnnotations.architectures]: written(architectures) }),
    },
    operatingSystem: operatingSystem === "linux" || operatingSystem === "windows" ? operatingSystem : undefined,
    architecture,
    containerRuntimeVersion: agreed(machines, ({ status }) => status?.nodeInfo?.containerRuntimeVersion),
    osImage: agreed(machines, ({ status }) => status?.nodeInfo?.osImage),
    kernelVersion: agreed(machines, ({ status }) => status?.nodeInfo?.kernelVersion),
    declaredFeatures: commonFeatures(machines),
  };
}

type Machine = DeepReadonly<Node>;

function commonLabels(machines: readonly Machine[], patterns: readonly string[]): Record<string, string> {
  const [first, ...others] = machines.map(({ metadata }) => metadata?.labels ?? {});
  return Object.fromEntries(
    Object.entries(first ?? {}).filter(
      ([key, value]) => !ownLabels.includes(key) && matchesAny(patterns, key) && others.every((labels) => ownValue(labels, key) === value),
    ),
  );
}

function commonFeatures(machines: readonly Machine[]): readonly string[] | undefined {
  const [first, ...others] = machines.map(({ status }) => status?.declaredFeatures ?? []);
  const common = (first ?? []).filter((name) => others.every((names) => names.includes(name)));
  return common.length > 0 ? common : undefined;
}

/** The value that all machines have; `undefined` if they differ. */
function agreed(machines: readonly Machine[], of: (machine: Machine) => string | undefined): string | undefined {
  const [first, ...others] = new Set(machines.map(of));
  return others.length === 0 ? first : undefined;
}

/** How many machines have each value, the most frequent first. */
function counted(machines: readonly Machine[], of: (machine: Machine) => string | undefined): ReadonlyMap<string, number> {
  const groups = Map.groupBy(machines, (machine) => of(machine) ?? "");
  const counts = [...groups].flatMap(([value, { length }]) => (value === "" ? [] : [[value, length] as const]));
  return new Map(counts.toSorted(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1)));
}

function written(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([value, count]) => `${value}=${count}`).join(",");
}
