import { expect, test } from "vitest";
import {
  containerLabels,
  labelNames,
  originLabels,
  ownerLabels,
  podLabels,
  readOrigin,
  tryAttempt,
  tryContainerIdentity,
  tryPodRef,
} from "./labels.ts";

const ref = { namespace: "default", name: "web", uid: "u1" };
const owner = { clusterId: "c1", nodeName: "n1" };

test("a container's identity can be read from its labels", () => {
  const identity = { container: "app", attempt: 3, specHash: "abc" };

  expect(tryContainerIdentity(containerLabels(ref, owner, identity))).toEqual(identity);
});

test("a sandbox's labels contain its attempt, and no container", () => {
  const labels = podLabels(ref, owner, 2);

  expect(tryContainerIdentity(labels)).toBeUndefined();
  expect(tryAttempt(labels)).toBe(2);
});

test.for(["", "-1", "1.5", "x", "99999999999"])("the attempt %j is ignored", (text) => {
  expect(tryAttempt({ [labelNames.attempt]: text })).toBeUndefined();
});

test("all objects have the pod's names, its owner and the attempt", () => {
  expect(podLabels(ref, owner, 2)).toEqual({
    "io.kubernetes.pod.name": "web",
    "io.kubernetes.pod.namespace": "default",
    "io.kubernetes.pod.uid": "u1",
    "virtual-kubelet.io/cluster": "c1",
    "virtual-kubelet.io/node": "n1",
    "virtual-kubelet.io/attempt": "2",
  });
  expect(ownerLabels(owner)).toEqual({ "virtual-kubelet.io/cluster": "c1", "virtual-kubelet.io/node": "n1" });
});

test("a pod is found in labels only if all of its names are there", () => {
  const labels = podLabels(ref, owner, 0);
  expect(tryPodRef(labels)).toEqual(ref);

  for (const missing of [labelNames.podName, labelNames.podNamespace, labelNames.podUid]) {
    expect(tryPodRef({ ...labels, [missing]: "" }), missing).toBeUndefined();
  }
});

test("a container without a spec hash is still recognized", () => {
  expect(tryContainerIdentity({ [labelNames.container]: "app", [labelNames.attempt]: "0" })).toEqual({
    container: "app",
    attempt: 0,
    specHash: "",
  });
  expect(tryContainerIdentity({ [labelNames.container]: "app" })).toBeUndefined();
});

test.for(["0", "7", "999999999"])("the attempt %s is accepted", (text) => {
  expect(tryAttempt({ [labelNames.attempt]: text })).toBe(Number(text));
});

test("the origin of a container is stored in a few labels, and can be read from them", () => {
  expect(originLabels("main", { name: "app" })).toEqual({ "virtual-kubelet.io/role": "main", "virtual-kubelet.io/image": "" });
  expect(readOrigin(originLabels("main", { name: "app", image: "app:1" }))).toEqual({ image: "app:1" });

  const container = { name: "app", image: "app:1", resources: { limits: { cpu: "1" } }, lifecycle: { stopSignal: "SIGINT" } };
  expect(readOrigin(originLabels("main", container))).toEqual({
    image: "app:1",
    resources: { limits: { cpu: "1" } },
    lifecycle: { stopSignal: "SIGINT" },
  });
});

test("ports are stored for the preStop hook, which may name one; a postStart hook is not stored", () => {
  const ports = [{ name: "web", containerPort: 80 }];
  const hook = { httpGet: { port: "web" } };

  expect(readOrigin(originLabels("main", { name: "app", ports, lifecycle: { preStop: hook, postStart: hook } }))).toEqual({
    image: "",
    lifecycle: { preStop: hook },
    ports,
  });
  expect(readOrigin(originLabels("main", { name: "app", ports, lifecycle: { postStart: hook } }))).toEqual({ image: "" });
});

test.for(["{", "null", "1", '"text"'])("labels with the content %s are ignored", (text) => {
  expect(readOrigin({ [labelNames.lifecycle]: text, [labelNames.resources]: text })).toEqual({ image: "" });
});
