import type { VirtualClock } from "@virtual-kubelet/clock";
import { microTime, rfc3339 } from "@virtual-kubelet/kubernetes";
import type { Cluster } from "../rest/cluster.ts";
import type { ApiObject } from "../kinds/kind.ts";
import { eventKind } from "../kinds/event/event.ts";
import { leaseKind } from "../kinds/lease.ts";
import { nodeKind } from "../kinds/node/node.ts";
import { podKind } from "../kinds/pod/pod.ts";
import type { ApiServerOptions } from "../start-api-server.ts";
import { startTestServer } from "./test-server.ts";

/** A cluster with controllers, a manual clock, and a kubelet that the test controls. */
export interface World extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly clock: VirtualClock;
  /** Waits until everything that takes no time has happened. */
  settle(): Promise<void>;
  /** Advances the clock second by second. */
  pass(seconds: number): Promise<void>;
  /** Creates a node with the condition Ready. */
  addNode(
    name: string,
    fields?: { readonly labels?: Record<string, string>; readonly spec?: object; readonly allocatable?: Record<string, string> },
  ): void;
  renewLease(name: string): void;
  /** Makes every pod on a node run at once, and terminate when it is deleted. */
  playKubelet(): void;
  /** Writes a pod's phase and readiness as a kubelet would. */
  setPod(name: string, status: { readonly phase: string; readonly ready?: boolean }): void;
  deletePod(name: string): void;
  /** Finishes a pod's deletion as its kubelet would. */
  finishDeletion(name: string): void;
  /** Pods in the namespace `default`, by name. */
  pods(): Readonly<ApiObject>[];
  /** Messages of an object's events, in order. */
  eventsOf(name: string): string[];
}

/** Starts a cluster without nodes. */
export async function startWorld(options: ApiServerOptions = {}): Promise<World> {
  const { server, clock, [Symbol.asyncDispose]: dispose } = await startTestServer({ controllers: true, ...options });
  const { cluster } = server;
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  };
  const setPod: World["setPod"] = (name, { phase, ready = false }) => {
    const change = (pod: ApiObject): ApiObject => ({
      ...pod,
      status: {
        ...pod["status"],
        phase,
        conditions: [
          ...(pod["status"].conditions ?? []).filter(({ type }: { type: string }) => type !== "Ready"),
          { type: "Ready", status: ready ? "True" : "False", lastTransitionTime: rfc3339(clock.now()) },
        ],
      },
    });
    cluster.update(podKind, "default", name, change, "status");
  };
  return {
    cluster,
    clock,
    settle,
    setPod,
    async pass(seconds) {
      await settle();
      for (let second = 0; second < seconds; second++) {
        await clock.advance(1000);
        await settle();
      }
    },
    addNode(name, { labels = {}, spec = {}, allocatable = { cpu: "4", memory: "8Gi", pods: "110" } } = {}) {
      const now = rfc3339(clock.now());
      const conditions = [{ type: "Ready", status: "True", lastHeartbeatTime: now, lastTransitionTime: now, reason: "KubeletReady" }];
      cluster.create(nodeKind, {
        metadata: { name, labels },
        spec,
        status: { capacity: allocatable, allocatable, conditions, nodeInfo: {} },
      });
    },
    renewLease(name) {
      const renewTime = microTime(clock.now());
      const renewed = cluster.update(leaseKind, "kube-node-lease", name, (lease) => ({ ...lease, spec: { ...lease["spec"], renewTime } }));
      if (renewed === undefined)
        cluster.create(leaseKind, { metadata: { name, namespace: "kube-node-lease" }, spec: { holderIdentity: name, renewTime } });
    },
    playKubelet() {
      cluster.watch(podKind, ({ type, object }) => {
        const { name, deletionTimestamp } = object.metadata;
        if (type === "DELETED" || object["spec"].nodeName === undefined) return;
        if (deletionTimestamp !== undefined) queueMicrotask(() => cluster.delete(podKind, "default", name, { gracePeriodSeconds: 0 }));
        else if (object["status"].phase === "Pending") queueMicrotask(() => setPod(name, { phase: "Running", ready: true }));
      });
    },
    deletePod: (name) => cluster.delete(podKind, "default", name),
    finishDeletion: (name) => cluster.delete(podKind, "default", name, { gracePeriodSeconds: 0 }),
    pods: () => cluster.list(podKind, "default"),
    eventsOf: (name) => {
      const events = cluster.list(eventKind, "default").filter((event) => event["involvedObject"].name === name);
      return events.map((event) => event["message"]);
    },
    [Symbol.asyncDispose]: dispose,
  };
}
