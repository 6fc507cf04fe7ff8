/**
 * The minimum that can run pods: a watch, and the three writes that our node makes for each pod, without a controller. The node
 * is compared with it.
 *
 * Usage: bare-loop.ts KUBECONFIG NODE
 */
import { Api, followPods, readAccess, type WatchedPod } from "./api.ts";

const [kubeconfig = "", node = ""] = process.argv.slice(2);
const access = readAccess(kubeconfig);
const short = new Api(access, { connections: 32 });
const long = new Api(access, { connections: 1 });
const seen = new Set<string>();

const never = new AbortController().signal;
const onEvent = (type: string, pod: WatchedPod): void => {
  const { uid, deletionTimestamp } = pod.metadata;
  if (type === "DELETED") {
    seen.delete(uid);
    seen.delete(`end ${uid}`);
  } else if (deletionTimestamp) void once(`end ${uid}`, () => end(pod));
  else void once(uid, () => start(pod));
};
await followPods(long, `fieldSelector=spec.nodeName%3D${node}`, onEvent, never);

async function once(key: string, act: () => Promise<void>): Promise<void> {
  if (seen.has(key)) return;
  seen.add(key);
  try {
    await act();
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
  }
}

async function start(pod: WatchedPod): Promise<void> {
  await patchStatus(
    pod,
    statusOf(pod, "Running", (startedAt) => ({ running: { startedAt } })),
  );
}

async function end(pod: WatchedPod): Promise<void> {
  const { namespace, name, uid } = pod.metadata;
  await patchStatus(
    pod,
    statusOf(pod, "Succeeded", (finishedAt) => ({ terminated: { exitCode: 0, reason: "Completed", finishedAt } })),
  );
  await short.send("DELETE", `/api/v1/namespaces/${namespace}/pods/${name}`, { gracePeriodSeconds: 0, preconditions: { uid } });
}

async function patchStatus(pod: WatchedPod, status: unknown): Promise<void> {
  const { namespace, name, uid } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`;
  await short.send("PATCH", path, { metadata: { uid }, status }, "application/strategic-merge-patch+json");
}

function statusOf(pod: WatchedPod, phase: string, state: (time: string) => unknown): unknown {
  const time = `${new Date().toISOString().slice(0, 19)}Z`;
  const isRunning = phase === "Running";
  const ready = isRunning ? "True" : "False";
  const condition = (type: string, status: string): unknown => ({ type, status, lastTransitionTime: time });
  return {
    phase,
    startTime: time,
    hostIP: "192.0.2.10",
    hostIPs: [{ ip: "192.0.2.10" }],
    podIP: "10.88.0.1",
    podIPs: [{ ip: "10.88.0.1" }],
    conditions: [
      condition("PodReadyToStartContainers", ready),
      condition("Initialized", "True"),
      condition("Ready", ready),
      condition("ContainersReady", ready),
      condition("PodScheduled", "True"),
    ],
    containerStatuses: pod.spec.containers.map(({ name, image }) => ({
      name,
      image,
      imageID: "",
      ready: isRunning,
      started: isRunning,
      restartCount: 0,
      state: state(time),
    })),
  };
}
