import { startControlPlane, type ControlPlane } from "@virtual-kubelet/testing";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ChildProcess } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { Api, followPods, readAccess } from "./api.ts";
import { stopChild } from "./children.ts";
import { idleLoop, nodeOf, ours, oursRecording } from "./contenders.ts";
import { plainPod } from "./deployment-pod.ts";
import type { FirstList } from "./growth-data.ts";
import { pausesIn, readPauses } from "./pauses.ts";

const binMs = 250;
const timeoutMs = 600_000;

/**
 * Records the pauses of our node's event loops while it starts with pods that are already bound to it, beside those of a program that does
 * nothing. The window begins when the API server receives the first request for the node's pods, and ends when all pods run.
 */
export async function measureFirstList(pods: number): Promise<FirstList> {
  await using controlPlane = await startControlPlane({
    components: [],
    audit: "Metadata",
    flags: { "kube-apiserver": { "disable-admission-plugins": "ServiceAccount" } },
  });
  const directory = mkdtempSync(join(tmpdir(), "bench-first-list-"));
  const access = readAccess(controlPlane.kubeconfig.path);
  const [requests, watch] = [new Api(access, { connections: 32 }), new Api(access, { connections: 1 })];
  const children: ChildProcess[] = [];
  const stop = new AbortController();
  try {
    await createPods(requests, pods);
    process.stderr.write(`first list: ${pods} pods are created\n`);
    const running = new Set<string>();
    const all = Promise.withResolvers<void>();
    const follow = followPods(
      watch,
      `fieldSelector=spec.nodeName%3D${nodeOf(ours)}`,
      (_type, pod) => {
        if (pod.status?.phase === "Running") running.add(pod.metadata.uid);
        if (running.size === pods) all.resolve();
      },
      stop.signal,
    );
    // The load's own list is over before the node starts.
    await delay(5_000);
    const site = { kubeconfig: controlPlane.kubeconfig.path, directory };
    const prefixes = { ours: join(directory, "ours-pauses"), idle: join(directory, "idle-pauses") };
    const startMs = Date.now();
    children.push(idleLoop(prefixes.idle).start(site), oursRecording(prefixes.ours).start(site));
    const progress = setInterval(() => process.stderr.write(`first list: ${running.size} of ${pods} pods run\n`), 10_000);
    try {
      await Promise.race([all.promise, fail(pods, running)]);
    } finally {
      clearInterval(progress);
    }
    const toMs = Date.now();
    // Stopping the programs must not become a part of the window.
    await delay(1_000);
    stop.abort();
    await watch.close();
    await follow;
    await Promise.all(children.map(stopChild));
    const fromMs = firstListMs(controlPlane, startMs);
    const window = { fromMs, toMs, binMs };
    return {
      pods,
      seconds: Math.round((toMs - fromMs) / 10) / 100,
      binMs,
      ours: pausesIn(readPauses(prefixes.ours), window),
      idle: pausesIn(readPauses(prefixes.idle), window),
    };
  } finally {
    stop.abort();
    await Promise.all([requests.close(), watch.close(), ...children.map(stopChild)]);
    rmSync(directory, { recursive: true, force: true });
  }
}

async function fail(pods: number, running: ReadonlySet<string>): Promise<never> {
  await delay(timeoutMs, undefined, { ref: false });
  throw new Error(`${running.size} of ${pods} pods run ${timeoutMs / 1000} s after the node's start`);
}

async function createPods(api: Api, pods: number): Promise<void> {
  const names = Array.from({ length: pods }, (_, index) => `first-list-${index}`).values();
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      for (const name of names) {
        const { metadata, spec } = plainPod(name);
        await api.send("POST", "/api/v1/namespaces/default/pods", { metadata, spec: { nodeName: nodeOf(ours), ...spec } });
      }
    }),
  );
}

/** Time of the node's first request for its pods, by the audit log, in milliseconds of the Unix epoch. */
function firstListMs({ directory }: ControlPlane, afterMs: number): number {
  const lines = readFileSync(join(directory, "audit.log"), "utf8").split("\n");
  for (const line of lines) {
    if (!line.includes(`spec.nodeName%3D${nodeOf(ours)}`)) continue;
    const receivedMs = Date.parse((JSON.parse(line) as { requestReceivedTimestamp: string }).requestReceivedTimestamp);
    if (receivedMs >= afterMs) return receivedMs;
  }
  throw new Error("the audit log has no request of the node for its pods");
}
