import type { Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { changedParts, needsUpdate } from "./pod-changes.ts";

const pod: Pod = {
  metadata: { name: "web", uid: "uid-1", labels: { app: "web" }, resourceVersion: "1" },
  spec: {
    containers: [{ name: "app", image: "app:1", env: [{ name: "A", value: "1" }] }],
    tolerations: [{ key: "k", operator: "Exists" }],
  },
  status: { phase: "Pending" },
};

function changed(metadata: Pod["metadata"], spec: Partial<NonNullable<Pod["spec"]>> = {}): Pod {
  return { ...pod, metadata: { ...pod.metadata, ...metadata }, spec: { containers: [], ...pod.spec, ...spec } };
}

describe("changedParts", () => {
  test.each<[string, Pod, readonly string[]]>([
    ["the image", changed({}, { containers: [{ name: "app", image: "app:2", env: [{ name: "A", value: "1" }] }] }), ["spec.containers"]],
    ["an ephemeral container", changed({}, { ephemeralContainers: [{ name: "debug", image: "sh:1" }] }), ["spec.ephemeralContainers"]],
    ["a label", changed({ labels: { app: "web", constructor: "x" } }), ["metadata.labels"]],
    ["an annotation", changed({ annotations: { a: "b" } }), ["metadata.annotations"]],
    ["an init container", changed({}, { initContainers: [{ name: "i" }] }), ["spec.initContainers"]],
    ["the pod's own resources", changed({}, { resources: { limits: { cpu: "1" } } }), ["spec.resources"]],
    ["the deadline", changed({}, { activeDeadlineSeconds: 5 }), ["spec.activeDeadlineSeconds"]],
    ["a toleration", changed({}, { tolerations: [] }), ["spec.tolerations"]],
    ["two parts", changed({ labels: {} }, { activeDeadlineSeconds: 5 }), ["spec.activeDeadlineSeconds", "metadata.labels"]],
  ])("names %s", (_, desired, parts) => {
    expect(changedParts(pod, desired)).toEqual(parts);
    expect(needsUpdate(pod, desired)).toBe(true);
  });

  test.each<[string, Pod]>([
    ["the status", { ...pod, status: { phase: "Running" } }],
    ["the resource version", changed({ resourceVersion: "2" })],
    ["a deletion", changed({ deletionTimestamp: "2026-05-01T12:00:00Z" })],
    [
      "empty in place of absent",
      changed(
        { annotations: {} },
        { initContainers: [], containers: [{ name: "app", image: "app:1", command: [], env: [{ name: "A", value: "1" }], resources: {} }] },
      ),
    ],
    [
      "null in place of absent",
      JSON.parse(JSON.stringify({ ...changed({}), spec: { ...pod.spec, activeDeadlineSeconds: null, initContainers: null } })),
    ],
  ])("counts %s as no change", (_, desired) => {
    expect(changedParts(pod, desired)).toEqual([]);
    expect(needsUpdate(pod, desired)).toBe(false);
  });
});

test("a pod that is the very same has not changed, and one of which nothing is known has in all that it says", () => {
  expect(needsUpdate(pod, pod)).toBe(false);
  expect(changedParts({}, pod)).toEqual(["spec.containers", "spec.tolerations", "metadata.labels"]);
  expect(changedParts({}, {})).toEqual([]);
});
