import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { Container, Pod, PodEvent, PodSpec } from "@virtual-kubelet/core";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { vi } from "vitest";
import { VolumeManager, type VolumeManagerOptions } from "../volumes/volume-manager.ts";
import { FakeResolvedPod } from "./fake-resolved-pod.ts";
import { podWith } from "./pod-rig.ts";
import { tempFolder, type TempFolder } from "./temp-folder.ts";

/** Waits for files, which take real time that the virtual clock does not see. */
export const soon = (check: () => void | Promise<void>): Promise<void> => vi.waitFor(check, { timeout: 30_000, interval: 10 });

/** A volume manager in a folder of its own. */
export interface VolumeRig extends AsyncDisposable {
  readonly root: string;
  readonly clock: VirtualClock;
  readonly resolved: FakeResolvedPod;
  readonly events: PodEvent[];
  readonly evicted: string[];
  readonly warnings: string[];
  readonly manager: VolumeManager;
  /** Starts another program on the same folder. */
  restart(): Promise<VolumeManager>;
}

/** Starts a manager. Nothing is mounted by default. */
export async function rigOf(options: Partial<VolumeManagerOptions> = {}): Promise<VolumeRig> {
  const folder: TempFolder = await tempFolder();
  const resolved = new FakeResolvedPod();
  const [events, evicted, warnings]: [PodEvent[], string[], string[]] = [[], [], []];
  const clock = new VirtualClock();
  const logger = { ...silentLogger, warn: (_: unknown, message: string) => void warnings.push(message), child: () => logger };
  let seed = 0;
  const start = (): VolumeManager =>
    new VolumeManager({
      root: folder.path,
      clock,
      random: new SeededRandom(seed++),
      logger,
      policy: {},
      isMountSeen: false,
      resolvePod: () => resolved,
      recordEvent: (_, event) => void events.push(event),
      evict: (_, message) => void evicted.push(message),
      ...options,
    });
  let manager = start();
  return {
    root: folder.path,
    clock,
    resolved,
    events,
    evicted,
    warnings,
    get manager() {
      return manager;
    },
    async restart() {
      await manager[Symbol.asyncDispose]();
      return (manager = start());
    },
    async [Symbol.asyncDispose]() {
      await manager[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** A pod whose container mounts each volume at `/NAME`, unless given otherwise. */
export function podOf(volumes: NonNullable<PodSpec["volumes"]>, more: Partial<Container> = {}, spec: Partial<PodSpec> = {}): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return podWith({ volumes, containers: [{ name: "app", image: "app:1", volumeMounts, ...more }], ...spec });
}

export function containerOf(pod: Pod): Container {
  return pod.spec!.containers[0]!;
}
