import { expect, test } from "vitest";
import type { RuntimeContainer, RuntimeSandbox } from "../runtime/container-runtime.ts";
import { containerLabels, podLabels } from "../runtime/labels.ts";
import { groupByPod } from "./runtime-pods.ts";

const owner = { clusterId: "c", nodeName: "n" };
const refOf = (uid: string): { namespace: string; name: string; uid: string } => ({ namespace: "default", name: `pod-${uid}`, uid });

const sandbox = (id: string, uid: string, createdAtMs: number): RuntimeSandbox => ({
  id,
  labels: podLabels(refOf(uid), owner, 0),
  isReady: true,
  ips: [],
  createdAtMs,
});
const container = (id: string, uid: string): RuntimeContainer => ({
  id,
  sandboxId: "s",
  labels: containerLabels(refOf(uid), owner, { container: "app", attempt: 0, specHash: "h" }),
  image: "",
  imageId: "",
  state: { kind: "created" },
});

test("each pod has its sandboxes and containers, and the age of its oldest sandbox", () => {
  const held = {
    sandboxes: [sandbox("s1", "a", 7), sandbox("s2", "b", 9), sandbox("s3", "a", 5)],
    containers: [container("c1", "b"), container("c2", "a")],
  };
  const pods = groupByPod(held);

  expect([...pods.keys()]).toEqual(["a", "b"]);
  expect(pods.get("a")).toEqual({
    ref: refOf("a"),
    owner,
    createdAtMs: 5,
    inventory: { sandboxes: [held.sandboxes[0], held.sandboxes[2]], containers: [held.containers[1]] },
  });
  expect(pods.get("b")).toMatchObject({ createdAtMs: 9, inventory: { sandboxes: [{ id: "s2" }], containers: [{ id: "c1" }] } });
});

test("a pod of which only containers are left is found by them, and its age is unknown", () => {
  expect(groupByPod({ sandboxes: [], containers: [container("c1", "a")] }).get("a")).toMatchObject({
    ref: refOf("a"),
    owner,
    createdAtMs: undefined,
  });
});

test("objects without a pod's labels are left out", () => {
  const [stranger, nameless] = [
    { ...sandbox("x", "a", 1), labels: {} },
    { ...sandbox("y", "b", 1), labels: { "io.kubernetes.pod.uid": "b" } },
  ];

  expect(groupByPod({ sandboxes: [stranger, nameless], containers: [] }).size).toBe(0);
});

test("a pod without a tag has no owner", () => {
  const labels = { "io.kubernetes.pod.uid": "a", "io.kubernetes.pod.name": "x", "io.kubernetes.pod.namespace": "y" };

  expect(groupByPod({ sandboxes: [{ ...sandbox("s", "a", 1), labels }], containers: [] }).get("a")?.owner).toEqual({
    clusterId: "",
    nodeName: "",
  });
});
