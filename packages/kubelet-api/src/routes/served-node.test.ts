import { expect, test } from "vitest";
import { fakeNode, fakePod, fakeRequest } from "../test-support/fake-node.ts";
import { findContainer, requirePod } from "./pod-lookup.ts";
import { NodeDirectory } from "./served-node.ts";

const old = fakePod({ metadata: { namespace: "default", name: "web", uid: "old", deletionTimestamp: "2026-03-01T10:00:00Z" } });

test("while a pod moves between nodes, the one that is not being deleted is found", () => {
  const [first, second] = [fakeNode({ name: "a", pods: [old] }), fakeNode({ name: "b", pods: [fakePod()] })];
  const directory = new NodeDirectory([first, second]);

  expect(directory.findPod("default", "web")).toEqual({ node: second, pod: fakePod() });
  expect(directory.findPod("default", "web", first)).toEqual({ node: first, pod: old });
  expect(new NodeDirectory([first]).findPod("default", "web")?.pod).toBe(old);
  expect(directory.findPod("other", "web")).toBeUndefined();
});

test("a pod with another UID than the path's does not exist", () => {
  const directory = new NodeDirectory([fakeNode({ pods: [fakePod()] })]);
  const params = { namespace: "default", pod: "web" };

  expect(requirePod(fakeRequest({ params }), directory).ref).toEqual({ namespace: "default", name: "web", uid: "u1" });
  expect(requirePod(fakeRequest({ params: { ...params, uid: "u1" } }), directory).ref.uid).toBe("u1");
  for (const wrong of [
    { ...params, uid: "u2" },
    { ...params, pod: "db" },
  ])
    expect(() => requirePod(fakeRequest({ params: wrong }), directory)).toThrow("pod does not exist");
});

test("init and ephemeral containers are found", () => {
  const container = (name: string): { name: string; image: string } => ({ name, image: "busybox" });
  const pod = fakePod({
    spec: { containers: [container("main")], initContainers: [container("init")], ephemeralContainers: [container("debugger")] },
  });

  for (const name of ["main", "init", "debugger"]) expect(findContainer(pod, name)).toEqual(container(name));
  expect(findContainer(pod, "none")).toBeUndefined();
});

test("a pod without a name, or without a UID, is not found", () => {
  const directory = new NodeDirectory([fakeNode({ pods: [fakePod({ metadata: { namespace: "default", name: "web" } })] })]);

  for (const params of [{ namespace: "default", pod: "web" }, {}])
    expect(() => requirePod(fakeRequest({ params }), directory)).toThrow(expect.objectContaining({ status: 404 }));
});

test("a pod in another namespace is not found", () => {
  const directory = new NodeDirectory([
    fakeNode({ pods: [fakePod({ metadata: { namespace: "other", name: "web", uid: "u9" } }), fakePod()] }),
  ]);

  expect(requirePod(fakeRequest({ params: { namespace: "other", pod: "web" } }), directory).ref.uid).toBe("u9");
});

test("of a pod that is being deleted on two nodes, the first one is found", () => {
  const [first, second] = [fakeNode({ name: "a", pods: [old] }), fakeNode({ name: "b", pods: [old] })];

  expect(new NodeDirectory([first, second]).findPod("default", "web")?.node).toBe(first);
});

test("a node is found by its name", () => {
  const [first, second] = [fakeNode({ name: "a" }), fakeNode({ name: "b" })];
  const directory = new NodeDirectory([first, second]);

  expect([directory.named("b"), directory.named("c")]).toEqual([second, undefined]);
});

test("a pod without a spec has no containers", () => {
  expect(findContainer({ metadata: {} }, "main")).toBeUndefined();
});
