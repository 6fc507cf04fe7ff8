import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { NomadConfig, NomadDriver } from "../config.ts";
import type { NomadConstraint } from "../api/types.ts";
import { annotationDomain } from "./annotations.ts";

/** Facts about the clients that jobs depend on. */
export interface ClientFacts {
  /** MHz that one CPU of Kubernetes is. */
  readonly mhzPerCore: number;
  /** Whether Nomad lets a task use more memory than is reserved for it, up to its limit. */
  readonly memoryOversubscription: boolean;
}

/** Settings of one pod's job, from the configuration and the pod's annotations. */
export interface JobSettings {
  readonly driver: NomadDriver;
  /** Network mode of the group; `task` is none. */
  readonly network: string;
  readonly datacenters: readonly string[];
  readonly nodePool: string | undefined;
  readonly constraints: readonly NomadConstraint[];
  readonly clients: ClientFacts;
  readonly config: NomadConfig;
}

/** @throws UnsupportedError naming the annotation that cannot be read */
export function jobSettingsOf(pod: DeepReadonly<Pod>, config: NomadConfig, clients: ClientFacts): JobSettings {
  const annotation = (name: string): string | undefined => pod.metadata?.annotations?.[`${annotationDomain}/${name}`];
  const driver = annotation("driver") ?? config.driver;
  if (driver !== "docker" && driver !== "exec" && driver !== "raw_exec") {
    const fieldPath = `metadata.annotations['${annotationDomain}/driver']`;
    throw new UnsupportedError(`${fieldPath} is ${JSON.stringify(driver)}; expected docker, exec or raw_exec`, { fieldPath });
  }
  const nodePool = annotation("node-pool") ?? config.nodePool;
  return {
    driver,
    // Processes on the host itself have the host's network.
    network: pod.spec?.hostNetwork || driver !== "docker" ? "host" : config.network,
    datacenters:
      annotation("datacenters")
        ?.split(",")
        .map((each) => each.trim()) ?? config.datacenters,
    nodePool,
    constraints: [
      ...config.constraints.map(({ attribute, operator, value }) => ({ LTarget: attribute, RTarget: value, Operand: operator })),
      ...parseConstraints(annotation("constraint")),
      ...machineConstraints(pod),
    ],
    // The facts are of the configured pool only.
    clients: { ...clients, memoryOversubscription: clients.memoryOversubscription && nodePool === config.nodePool },
    config,
  };
}

/** Node labels that describe the machine, and the attributes of a client with the same values. */
const machineAttributes: Readonly<Record<string, string>> = {
  "kubernetes.io/arch": "${attr.cpu.arch}",
  "kubernetes.io/os": "${attr.kernel.name}",
};

/** Constraints for a pod that selects a label of the machine: the node has the label of most of its clients, and the pod must run on one of these. */
function machineConstraints({ spec }: DeepReadonly<Pod>): NomadConstraint[] {
  return Object.entries(machineAttributes).flatMap(([label, LTarget]) => {
    const RTarget = spec?.nodeSelector?.[label];
    return RTarget === undefined ? [] : [{ LTarget, RTarget, Operand: "=" }];
  });
}

/** Constraints such as `${attr.kernel.name} = linux`, split by `;`. */
function parseConstraints(text: string | undefined): NomadConstraint[] {
  return (text?.split(";") ?? [])
    .filter((each) => each.trim() !== "")
    .map((each) => {
      const [, LTarget = "", Operand = "", RTarget = ""] = /^\s*(\S+)\s+(\S+)\s+(.*?)\s*$/.exec(each) ?? [];
      if (LTarget !== "" && RTarget !== "") return { LTarget, RTarget, Operand };
      const fieldPath = `metadata.annotations['${annotationDomain}/constraint']`;
      throw new UnsupportedError(`${fieldPath} has ${JSON.stringify(each)}; expected ATTRIBUTE OPERATOR VALUE, split by ;`, { fieldPath });
    });
}
