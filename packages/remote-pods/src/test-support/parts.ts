import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { Pod, PodRef, PodUpdate, ProviderHost, ResolvedPod } from "@virtual-kubelet/core";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import type { PodIdentity } from "../backend/observation.ts";
import { ObjectObserver } from "../pods/object-observer.ts";
import { PodCreator } from "../pods/pod-creator.ts";
import { PodEndings } from "../pods/pod-endings.ts";
import { PodFinder } from "../pods/pod-finder.ts";
import { PodTable } from "../pods/pod-table.ts";
import { FakeBackend, type FakeBackendOptions, type FakeObject } from "./fake-backend.ts";

export const owner = { clusterId: "cluster-1", nodeName: "node-1" };

export function refOf(uid: string): PodRef {
  return { namespace: "default", name: `pod-${uid}`, uid };
}

export function identityOf(uid: string, attempt = 0): PodIdentity {
  return { ref: refOf(uid), owner, attempt };
}

export function podOf(uid: string, status?: Pod["status"]): Pod {
  return { metadata: { namespace: "default", name: `pod-${uid}`, uid }, spec: { containers: [{ name: "main", image: "app" }] }, status };
}

/** References of a pod that the fake back end does not read. */
export const unresolved = {} as ResolvedPod;

/** The parts of a provider on a fake back end, without the watch, so that nothing happens that a test does not ask for. */
export interface Parts {
  readonly clock: VirtualClock;
  readonly backend: FakeBackend;
  readonly table: PodTable<FakeObject, undefined>;
  readonly finder: PodFinder<string, FakeObject, undefined>;
  readonly creator: PodCreator<string, FakeObject, undefined>;
  readonly endings: PodEndings<string, FakeObject, undefined>;
  readonly pods: Map<string, Pod>;
  readonly reports: PodUpdate[];
  /** Ids of objects that are not their pod's latest one. */
  readonly surplus: string[];
  readonly warnings: string[];
}

export function createParts(options: Partial<FakeBackendOptions> = {}): Parts {
  const clock = new VirtualClock();
  const backend = new FakeBackend({ clock, random: new SeededRandom(1), latencyMs: 0, ...options });
  const [pods, reports, surplus, warnings]: [Map<string, Pod>, PodUpdate[], string[], string[]] = [new Map(), [], [], []];
  const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
  const host: Pick<ProviderHost, "clock" | "findPod" | "logger" | "metrics" | "resolvePod"> = {
    clock,
    logger,
    metrics: noMetrics,
    findPod: ({ uid }) => pods.get(uid),
    resolvePod: () => unresolved,
  };
  const table = new PodTable<FakeObject, undefined>({
    clock,
    limits: backend.limits,
    complete: (_ref, status) => status,
    onChange: () => {},
  });
  table.listen((update) => reports.push(update));
  const observer = new ObjectObserver({ backend, table, host, owner, onSurplus: (id) => void surplus.push(id) });
  const finder = new PodFinder({ backend, table, observer, owner, logger });
  const creator = new PodCreator({ backend, table, finder, observer, host, owner });
  const endings = new PodEndings({ backend, table, finder, clock, logger, onStep: () => {} });
  return { clock, backend, table, finder, creator, endings, pods, reports, surplus, warnings };
}

/** Lets the time pass that a call needs. */
export async function after<T>(clock: VirtualClock, call: Promise<T>, ms = 1): Promise<T> {
  call.catch(() => {});
  await clock.advance(ms);
  return call;
}
