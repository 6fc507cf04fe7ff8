import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import { milliUnits, parseQuantity, wholeUnits } from "@virtual-kubelet/kubernetes";
import type { NomadTask } from "../api/types.ts";
import type { JobSettings } from "./settings.ts";

const bytesPerMB = 1024 * 1024;
/** The least memory that Nomad takes for a task. */
const minMemoryMB = 10;

/** A container's requests and limits as Nomad counts them: MHz and MiB. */
export function taskResources({ resources }: DeepReadonly<Container>, settings: JobSettings): NomadTask["Resources"] {
  const { requests = {}, limits = {} } = resources ?? {};
  const { config, clients } = settings;
  const milliCores = milliUnits(parseQuantity(reservedCpu(resources, settings) ?? config.defaultCpu));
  const megabytes = (quantity: string): number =>
    Math.max(minMemoryMB, Math.ceil(Number(wholeUnits(parseQuantity(quantity))) / bytesPerMB));
  const requested = megabytes(requests["memory"] ?? limits["memory"] ?? config.defaultMemory);
  const limit = limits["memory"] === undefined ? requested : megabytes(limits["memory"]);
  const { memory: reserve } = config.reserve;
  const memory = reserve === "request" || (reserve === "auto" && clients.memoryOversubscription) ? requested : Math.max(requested, limit);
  const gpus = Number(limits["nvidia.com/gpu"] ?? requests["nvidia.com/gpu"] ?? 0);
  return {
    CPU: Math.max(1, Math.round((Number(milliCores) * clients.mhzPerCore) / 1000)),
    MemoryMB: memory,
    ...(limit > memory && { MemoryMaxMB: limit }),
    ...(gpus > 0 && { Devices: [{ Name: "nvidia/gpu", Count: gpus }] }),
  };
}

/** The quantity of CPU that is reserved for a container; `undefined` where it names none. */
export function reservedCpu(resources: DeepReadonly<Container>["resources"], { config }: Pick<JobSettings, "config">): string | undefined {
  const { requests = {}, limits = {} } = resources ?? {};
  const [first, second] = config.reserve.cpu === "limit" ? [limits["cpu"], requests["cpu"]] : [requests["cpu"], limits["cpu"]];
  return first ?? second;
}

/** Disk of the whole group: what its containers ask for, but no less than their logs need. */
export function diskMB(containers: readonly DeepReadonly<Container>[], { config }: JobSettings): number {
  const asked = containers.reduce((sum, { resources }) => {
    const quantity = resources?.limits?.["ephemeral-storage"] ?? resources?.requests?.["ephemeral-storage"];
    return sum + (quantity === undefined ? 0 : Number(wholeUnits(parseQuantity(quantity))) / bytesPerMB);
  }, 0);
  const logs = config.logs.maxFiles * config.logs.maxFileSizeMB * containers.length;
  return Math.max(Math.ceil(asked), logs + 50);
}
