import type { Clock } from "@virtual-kubelet/clock";
import type { InterfaceStats, NetworkStats } from "@virtual-kubelet/core";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { figuresOfV1, figuresOfV2, type CgroupUsage } from "./cgroup-figures.ts";
import { interfacesOf } from "./network-devices.ts";
import { countOpenFiles } from "./open-files.ts";
import { v1Hierarchies } from "./v1-hierarchies.ts";

/** Where a {@link CgroupMeter} looks. */
export interface CgroupMeterOptions {
  readonly clock: Clock;
  /** Where the machine's control groups are. Default `/sys/fs/cgroup`. */
  readonly root?: string | undefined;
  /** Where its processes are. Default `/proc`. */
  readonly proc?: string | undefined;
}

/** A process of a container or sandbox. */
export interface MeasuredProcess {
  readonly pid: number;
  /** Stands in the path of the process's control group. Another process may have got the pid since. */
  readonly id: string;
}

/**
 * Reads what the machine's control groups count, without asking their runtime. Where they cannot be seen there are no
 * figures, and the runtime has to be asked.
 *
 * The files are read synchronously: the kernel makes one up from its memory in 15 microseconds, and an asynchronous read takes ten
 * times that. Between two control groups others have their turn.
 */
export class CgroupMeter {
  readonly #clock: Clock;
  readonly #root: string;
  readonly #proc: string;
  readonly #devices = new Map<string, string>();
  #layout: Layout | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor({ clock, root = "/sys/fs/cgroup", proc = "/proc" }: CgroupMeterOptions) {
    this.#clock = clock;
    this.#root = root;
    this.#proc = proc;
  }

  /** Figures of the control group that a process is in; `undefined` where it cannot be seen, or the process has ended. */
  async ofProcess({ pid, id }: MeasuredProcess): Promise<CgroupUsage | undefined> {
    await this.#takeTurn();
    const paths = this.#pathsOf(pid);
    const path = paths && (paths.get("cpu") ?? paths.get(""));
    if (!paths || path === undefined || !path.includes(id)) return undefined;
    const usage = this.#read(path, (controller) => paths.get(controller));
    const pids = usage && this.#pidsIn(path);
    const open = pids && (await countOpenFiles(pids, { proc: this.#proc, takeTurn: () => this.#takeTurn() }));
    return usage && { ...usage, cgroup: { ...usage.cgroup, ...open } };
  }

  /** Processes of a control group, without those in others below it. */
  #pidsIn(path: string): readonly string[] {
    const layout = this.#findLayout();
    const folder = layout?.version === 2 ? this.#root : layout?.hierarchies.get("cpu");
    const text = folder === undefined ? undefined : tryRead(join(folder, path, "cgroup.procs"));
    return text?.split("\n").filter((line) => line !== "") ?? [];
  }

  /** Figures of a control group by its path, such as `/vkpods/burstable/podUID`; `undefined` if there is none. */
  async ofPath(path: string): Promise<CgroupUsage | undefined> {
    await this.#takeTurn();
    return this.#read(path, () => path);
  }

  /** Traffic of the network that a process is in; `undefined` if the process has ended. */
  async networkOf({ pid, id }: MeasuredProcess): Promise<NetworkStats | undefined> {
    const paths = this.#pathsOf(pid);
    if (![...(paths?.values() ?? [])].some((path) => path.includes(id))) return undefined;
    const text = tryRead(join(this.#proc, String(pid), "net/dev"));
    return text === undefined ? undefined : networkStats(this.#time(), interfacesOf(text));
  }

  /** One control group in each turn of the event loop. */
  #takeTurn(): Promise<void> {
    return (this.#turn = this.#turn.then(() => new Promise((resolve) => setImmediate(resolve))));
  }

  #read(path: string, folderOf: (controller: string) => string | undefined): CgroupUsage | undefined {
    const layout = this.#findLayout();
    if (!layout) return undefined;
    const read = (file: string): string | undefined => {
      if (layout.version === 2) return tryRead(join(this.#root, path, file));
      const [controller = "", name = ""] = file.split("/");
      // The hierarchy without controllers is version 2's.
      const [hierarchy, folder] = [layout.hierarchies.get(controller), folderOf(controller === "unified" ? "" : controller)];
      return hierarchy === undefined || folder === undefined ? undefined : tryRead(join(hierarchy, folder, name));
    };
    const figures = layout.version === 2 ? figuresOfV2 : figuresOfV1;
    const usage = figures({ path, time: this.#time(), read, device: (number) => this.#device(number) });
    return usage.cpu && usage.memory ? usage : undefined;
  }

  /** Paths of a process's control groups, by controller; that of version 2 by an empty name. */
  #pathsOf(pid: number): ReadonlyMap<string, string> | undefined {
    const text = pid > 0 ? tryRead(join(this.#proc, String(pid), "cgroup")) : undefined;
    if (text === undefined) return undefined;
    return new Map(
      text.split("\n").flatMap((line) => {
        const [, names = "", path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
        return path === "" ? [] : names.split(",").map((name): [string, string] => [name, path]);
      }),
    );
  }

  #findLayout(): Layout | undefined {
    return (this.#layout ??= layoutOf(this.#root));
  }

  #device(number: string): string {
    let path = this.#devices.get(number);
    if (path === undefined) {
      const [, name] = /^DEVNAME=(.+)$/m.exec(tryRead(`/sys/dev/block/${number}/uevent`) ?? "") ?? [];
      path = name === undefined ? number : `/dev/${name}`;
      this.#devices.set(number, path);
    }
    return path;
  }

  #time(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

/** Where the hierarchies of the machine are. */
type Layout = { readonly version: 2 } | { readonly version: 1; readonly hierarchies: ReadonlyMap<string, string> };

/** `undefined` where there are no control groups, or not those that are needed. */
function layoutOf(root: string): Layout | undefined {
  if (existsSync(join(root, "cgroup.controllers"))) return { version: 2 };
  const names = v1Hierarchies(root);
  if (!names.has("cpuacct") || !names.has("memory")) return undefined;
  return { version: 1, hierarchies: new Map([...names].map(([controller, name]) => [controller, join(root, name)])) };
}

/** `undefined` where there is no interface but loopback. */
function networkStats(time: string, interfaces: readonly InterfaceStats[]): NetworkStats | undefined {
  const main = interfaces.find(({ name }) => name === "eth0") ?? interfaces[0];
  return main && { time, ...main, interfaces };
}

function tryRead(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trimEnd();
  } catch {
    // It ends with the process, and some files come only with a controller.
    return undefined;
  }
}
