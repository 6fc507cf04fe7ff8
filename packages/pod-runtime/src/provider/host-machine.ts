import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Identity and size of this machine. */
export interface HostMachine {
  /** Empty if unknown, like the other ids. */
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osVersion: string;
  /** Number of cores; `undefined` if the kernel does not report it. */
  readonly cores: number | undefined;
  readonly physicalCores: number | undefined;
  readonly sockets: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly swapBytes: number | undefined;
  /** Bytes in huge pages, by resource name such as `hugepages-2Mi`. */
  readonly hugePages: Readonly<Record<string, number>>;
  /** Maximum number of processes and threads; `undefined` if the kernel does not report it. */
  readonly maxProcesses: number | undefined;
}

/**
 * Reads the identity and size of this machine.
 *
 * Source: cadvisor v0.56.2 machine/info.go and utils/sysfs GetSystemUUID.
 *
 * @param root - folder of the machine's `/proc`, `/sys` and `/etc`; default `/`
 */
export async function hostMachine(root: string = "/"): Promise<HostMachine> {
  const read = async (...paths: readonly string[]): Promise<string> => {
    for (const path of paths) {
      const text = await readFile(join(root, path), "utf8").catch(() => "");
      if (text.trim() !== "") return text.trim();
    }
    return "";
  };
  const [cpuInfo, memInfo, osRelease] = await Promise.all([read("proc/cpuinfo"), read("proc/meminfo"), read("etc/os-release")]);
  const [, pretty = ""] = /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(osRelease) ?? [];
  return {
    machineID: await read("etc/machine-id", "var/lib/dbus/machine-id"),
    systemUUID: await read("sys/class/dmi/id/product_uuid", "proc/device-tree/system-id", "proc/device-tree/vm,uuid", "etc/machine-id"),
    bootID: await read("proc/sys/kernel/random/boot_id"),
    kernelVersion: await read("proc/sys/kernel/osrelease"),
    osVersion: pretty,
    ...coresOf(cpuInfo),
    memoryBytes: kibibytes(memInfo, "MemTotal"),
    swapBytes: kibibytes(memInfo, "SwapTotal"),
    hugePages: await hugePagesOf(join(root, "sys/kernel/mm/hugepages")),
    maxProcesses: leastNumber(await Promise.all([read("proc/sys/kernel/pid_max"), read("proc/sys/kernel/threads-max")])),
  };
}

/** A field of `/proc/meminfo` in bytes; `undefined` if it is missing. */
export function kibibytes(memInfo: string, field: string): number | undefined {
  const [, kib] = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(memInfo) ?? [];
  return kib === undefined ? undefined : Number(kib) * 1024;
}

/** The smallest of the numbers at the beginning of the texts; `undefined` if no text begins with a number. */
export function leastNumber(texts: readonly string[]): number | undefined {
  const numbers = texts.map((text) => Number.parseInt(text, 10)).filter(Number.isFinite);
  return numbers.length > 0 ? Math.min(...numbers) : undefined;
}

function coresOf(cpuInfo: string): Pick<HostMachine, "cores" | "physicalCores" | "sockets"> {
  const field = (block: string, name: string): string | undefined => new RegExp(`^${name}\\s*:\\s*(\\S+)`, "m").exec(block)?.[1];
  const blocks = cpuInfo.split("\n\n").filter((block) => field(block, "processor") !== undefined);
  const sockets = new Set(blocks.flatMap((block) => field(block, "physical id") ?? []));
  const physical = new Set(
    blocks.flatMap((block) => (field(block, "core id") === undefined ? [] : `${field(block, "physical id")}/${field(block, "core id")}`)),
  );
  const countOf = (found: ReadonlySet<string>): number | undefined => (found.size > 0 ? found.size : undefined);
  return { cores: blocks.length > 0 ? blocks.length : undefined, physicalCores: countOf(physical), sockets: countOf(sockets) };
}

/** Reads folders such as `hugepages-2048kB`, which contain the number of pages. */
async function hugePagesOf(folder: string): Promise<Readonly<Record<string, number>>> {
  const names = await readdir(folder).catch(() => []);
  const sizes = names.map(async (name): Promise<readonly [string, number][]> => {
    const kib = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1]);
    const pages = Number(await readFile(join(folder, name, "nr_hugepages"), "utf8").catch(() => "0"));
    return Number.isNaN(kib) || Number.isNaN(pages) ? [] : [[`hugepages-${binary(kib)}`, pages * kib * 1024]];
  });
  const found = (await Promise.all(sizes)).flat();
  return Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Kibibytes as a Kubernetes quantity: `2Mi`, `1Gi`. */
function binary(kib: number): string {
  if (kib % 2 ** 20 === 0) return `${kib / 2 ** 20}Gi`;
  return kib % 1024 === 0 ? `${kib / 1024}Mi` : `${kib}Ki`;
}
