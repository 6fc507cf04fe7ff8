import type { DeepReadonly, ObjectReference, Pod } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { podAccess, type PodAccessOptions } from "./pod-access.ts";

const ref = { namespace: "default", name: "web", uid: "u1" };
const pod: Pod = {
  metadata: ref,
  spec: { initContainers: [{ name: "init" }], containers: [{ name: "app" }], ephemeralContainers: [{ name: "debug" }] },
};

function eventsOf(stored: DeepReadonly<Pod> | undefined, ...containers: (string | undefined)[]): ObjectReference[] {
  const objects: ObjectReference[] = [];
  const { recordEvent } = podAccess({
    store: { get: () => stored },
    recorder: { event: (object: ObjectReference) => void objects.push(object) },
  } as unknown as PodAccessOptions);
  for (const container of containers) recordEvent(ref, { type: "Normal", reason: "Started", message: "Started container", container });
  return objects;
}

test("a provider's event on a container names its place in the pod, as a kubelet's does", () => {
  expect(eventsOf(pod, "init", "app", "debug").map(({ fieldPath }) => fieldPath)).toEqual([
    "spec.initContainers{init}",
    "spec.containers{app}",
    "spec.ephemeralContainers{debug}",
  ]);
});

test("a provider's event may be on the pod as a whole, and on one that is gone from the API server", () => {
  expect(eventsOf(undefined, undefined)).toEqual([{ apiVersion: "v1", kind: "Pod", ...ref, fieldPath: undefined }]);
});

test("a provider's event on the node has a kubelet's reference to it", () => {
  const told: unknown[] = [];
  const { recordNodeEvent } = podAccess({
    nodeName: "vk",
    recorder: { event: (...words: readonly unknown[]) => void told.push(words) },
  } as unknown as PodAccessOptions);

  recordNodeEvent({ type: "Warning", reason: "EvictionThresholdMet", message: "Attempting to reclaim memory" });

  expect(told).toEqual([
    [{ apiVersion: "v1", kind: "Node", name: "vk", uid: "vk" }, "Warning", "EvictionThresholdMet", "Attempting to reclaim memory"],
  ]);
});

test("a provider is told which of the node's pods has another secret or config map, until it has heard enough", () => {
  const listeners = new Set<(uid: string) => void>();
  const { onConfigChanged } = podAccess({
    store: { get: (uid: string) => (uid === "u1" ? pod : undefined) },
    sources: {
      onConfigChanged(listener: (uid: string) => void): Disposable {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
    },
  } as unknown as PodAccessOptions);
  const told: unknown[] = [];

  using subscription = onConfigChanged((changed) => void told.push(changed));
  for (const uid of ["u1", "gone"]) for (const listener of listeners) listener(uid);
  subscription[Symbol.dispose]();

  expect([told, listeners.size]).toEqual([[ref], 0]);
});

test("a provider finds the node's own pods by UID, as it gets them, and no others", () => {
  const given: Pod = { metadata: ref };
  const options = { store: { get: (uid: string) => (uid === "u1" ? pod : undefined) }, given: (found: Pod) => found === pod && given };
  const { findPod } = podAccess(options as unknown as PodAccessOptions);

  expect([findPod(ref), findPod({ ...ref, uid: "other" })]).toEqual([given, undefined]);
});

test("a provider lists the node's pods as it gets them, also those that it has not been given yet", () => {
  const options = {
    store: { list: () => [pod, { metadata: { ...ref, uid: "u2" } }].values() },
    given: ({ metadata }: Pod) => ({ metadata }),
  };
  const { listPods } = podAccess(options as unknown as PodAccessOptions);

  expect(listPods()).toEqual([{ metadata: ref }, { metadata: { ...ref, uid: "u2" } }]);
});
