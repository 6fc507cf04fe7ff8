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

test("a container's labels give back who it is", () => {
  const identity = { container: "app", attempt: 3, specHash: "abc" };

  expect(tryContainerIdentity(containerLabels(ref, owner, identity))).toEqual(identity);
});

test("a sandbox is no container, and tells its attempt", () => {
  const labels = podLabels(ref, owner, 2);

  expect(tryContainerIdentity(labels)).toBeUndefined();
  expect(tryAttempt(labels)).toBe(2);
});

test.for(["", "-1", "1.5", "x", "99999999999"])("the attempt %j does not count", (text) => {
  expect(tryAttempt({ [labelNames.attempt]: text })).toBeUndefined();
});

test("everything carries the pod's names, its owner and its attempt", () => {
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

test("a pod is found in its labels, where all that names it is there", () => {
  const labels = podLabels(ref, owner, 0);
  expect(tryPodRef(labels)).toEqual(ref);

  for (const missing of [labelNames.podName, labelNames.podNamespace, labelNames.podUid]) {
    expect(tryPodRef({ ...labels, [missing]: "" }), missing).toBeUndefined();
  }
});

test("a container without the hash of its spec is known all the same", () => {
  expect(tryContainerIdentity({ [labelNames.container]: "app", [labelNames.attempt]: "0" })).toEqual({
    container: "app",
    attempt: 0,
    specHash: "",
  });
  expect(tryContainerIdentity({ [labelNames.container]: "app" })).toBeUndefined();
});

test.for(["0", "7", "999999999"])("the attempt %s counts", (text) => {
  expect(tryAttempt({ [labelNames.attempt]: text })).toBe(Number(text));
});

test("where a container comes from is written in few labels, and read from them", () => {
  expect(originLabels("main", { name: "app" })).toEqual({ "virtual-kubelet.io/role": "main", "virtual-kubelet.io/image": "" });
  expect(readOrigin(originLabels("main", { name: "app", image: "app:1" }))).toEqual({ image: "app:1" });

  const container = { name: "app", image: "app:1", resources: { limits: { cpu: "1" } }, lifecycle: { stopSignal: "SIGINT" } };
  expect(readOrigin(originLabels("main", container))).toEqual({
    image: "app:1",
    resources: { limits: { cpu: "1" } },
    lifecycle: { stopSignal: "SIGINT" },
  });
});

test("ports are kept for the preStop hook that may name one, and a postStart hook is not", () => {
  const ports = [{ name: "web", containerPort: 80 }];
  const hook = { httpGet: { port: "web" } };

  expect(readOrigin(originLabels("main", { name: "app", ports, lifecycle: { preStop: hook, postStart: hook } }))).toEqual({
    image: "",
    lifecycle: { preStop: hook },
    ports,
  });
  expect(readOrigin(originLabels("main", { name: "app", ports, lifecycle: { postStart: hook } }))).toEqual({ image: "" });
});

test.for(["{", "null", "1", '"text"'])("labels that say %s are not believed", (text) => {
  expect(readOrigin({ [labelNames.lifecycle]: text, [labelNames.resources]: text })).toEqual({ image: "" });
});
