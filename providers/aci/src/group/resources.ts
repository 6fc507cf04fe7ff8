import { divideRoundingUp, parseQuantity } from "@virtual-kubelet/kubernetes";
import type { GroupResources, ResourceAmounts } from "../azure/container-group.ts";
import { unsupported, type PlacedContainer } from "./fields.ts";
import type { Note } from "./note.ts";

/** Resources of a container that requests none. Source: azure-aci v1.6.4 pkg/provider/aci.go. */
const defaultCpu = 1;
const defaultMemoryInGB = 1.5;

/** Day on which Azure retired GPUs in container instances. */
const gpuRetirement = "14 July 2025";

const gpuResource = "nvidia.com/gpu";
const known: readonly string[] = ["cpu", "memory", "ephemeral-storage", gpuResource];

/** Facts about GPUs. */
export interface GpuChoice {
  /** Available models, the default one first. */
  readonly skus: readonly string[];
  /** The pod's choice. */
  readonly wanted: string | undefined;
}

/** Resources of containers, by name, and what was changed. */
export interface ResourceChoice {
  readonly byName: ReadonlyMap<string, GroupResources>;
  readonly notes: readonly Note[];
}

/**
 * Returns the resources of the containers that run together. Requests are rounded up to Azure's steps. A limit above the requests of the whole
 * group is lowered to them, because Azure refuses it, and a note says so.
 *
 * @throws UnsupportedError for other resources, and for GPUs that the region lacks
 */
export function resourcesOf(containers: readonly PlacedContainer[], gpus: GpuChoice): ResourceChoice {
  const requests = containers.map((placed) => requestsOf(placed, gpus));
  const total = {
    cpu: inSteps(
      requests.reduce((sum, { cpu }) => sum + cpu, 0),
      100,
    ),
    memoryInGB: inSteps(
      requests.reduce((sum, { memoryInGB }) => sum + memoryInGB, 0),
      10,
    ),
  };
  const notes: Note[] = [];
  const byName = new Map(
    containers.map(({ container }, index): [string, GroupResources] => {
      const own = requests[index] ?? { cpu: defaultCpu, memoryInGB: defaultMemoryInGB };
      const wanted = limitsOf(container.resources?.limits ?? {}, own);
      const limits = {
        ...(wanted.cpu !== undefined && { cpu: Math.min(wanted.cpu, total.cpu) }),
        ...(wanted.memoryInGB !== undefined && { memoryInGB: Math.min(wanted.memoryInGB, total.memoryInGB) }),
        ...(own.gpu && { gpu: own.gpu }),
      };
      const lowered = (["cpu", "memoryInGB"] as const).filter((name) => (wanted[name] ?? 0) > total[name]);
      for (const name of lowered)
        notes.push({
          reason: "LimitLowered",
          type: "Warning",
          message: `The limit of ${wanted[name]} ${unitOf(name)} is lowered to ${total[name]}, the sum of the pod's requests, because Azure accepts no more.`,
          container: container.name,
        });
      return [container.name, Object.keys(limits).length === 0 ? { requests: own } : { requests: own, limits }];
    }),
  );
  return { byName, notes };
}

function unitOf(name: "cpu" | "memoryInGB"): string {
  return name === "cpu" ? "CPUs" : "GB of memory";
}

function requestsOf({ path, container }: PlacedContainer, gpus: GpuChoice): ResourceAmounts {
  const { requests = {}, limits = {} } = container.resources ?? {};
  for (const name of Object.keys({ ...limits, ...requests }))
    if (!known.includes(name)) throw unsupported(`${path}.resources.limits['${name}']`, "only CPU, memory and GPUs can be requested");
  const cpu = requests["cpu"] ?? limits["cpu"];
  const memory = requests["memory"] ?? limits["memory"];
  const gpu = limits[gpuResource] ?? requests[gpuResource];
  return {
    cpu: cpu === undefined ? defaultCpu : Math.max(0.01, cores(cpu)),
    memoryInGB: memory === undefined ? defaultMemoryInGB : Math.max(0.1, gigabytes(memory)),
    ...(gpu !== undefined && Number(gpu) > 0 && { gpu: { count: Number(gpu), sku: gpuSku(path, gpus) } }),
  };
}

function gpuSku(path: string, { skus, wanted }: GpuChoice): string {
  const fieldPath = `${path}.resources.limits['${gpuResource}']`;
  if (skus.length === 0)
    throw unsupported(fieldPath, `Azure retired GPUs in container instances on ${gpuRetirement}, and gpuSkus is not set`);
  const sku = skus.find((each) => wanted === undefined || each.toLowerCase() === wanted.toLowerCase());
  if (sku === undefined) throw unsupported(fieldPath, `GPU ${wanted} is not one of the configured gpuSkus: ${skus.join(", ")}`);
  return sku;
}

/** A limit is at least the request, which was rounded up. */
function limitsOf(limits: Readonly<Record<string, string>>, own: ResourceAmounts): { cpu?: number; memoryInGB?: number } {
  const { cpu, memory } = limits;
  return {
    ...(cpu !== undefined && { cpu: Math.max(own.cpu, cores(cpu)) }),
    ...(memory !== undefined && { memoryInGB: Math.max(own.memoryInGB, gigabytes(memory)) }),
  };
}

const nanoPerCentiCore = 10_000_000n;
const nanoPerTenthGB = 100_000_000n * 1_000_000_000n;

/** Returns a quantity as cores, rounded up to 0.01. */
export function cores(quantity: string): number {
  return Number(divideRoundingUp(parseQuantity(quantity).nano, nanoPerCentiCore)) / 100;
}

/** Returns a quantity as gigabytes, rounded up to 0.1. */
export function gigabytes(quantity: string): number {
  return Number(divideRoundingUp(parseQuantity(quantity).nano, nanoPerTenthGB)) / 10;
}

/** Removes what floating-point sums leave behind the last step. */
function inSteps(sum: number, steps: number): number {
  return Math.round(sum * steps) / steps;
}
