import { isInvalidInput, isUnavailable } from "@virtual-kubelet/errdefs";
import type { Pod } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { waitingReasonOf } from "./config-error.ts";
import { formatMap, resolveFieldRef, type PodPlace } from "./field-ref.ts";

const pod: Pod = {
  metadata: {
    name: "web",
    namespace: "shop",
    uid: "uid-1",
    labels: { app: "web", "example.com/tier": "1" },
    annotations: { Note: 'say "hi"\n' },
  },
  spec: { nodeName: "vk", serviceAccountName: "runner", containers: [] },
  status: { podIP: "10.0.0.7", podIPs: [{ ip: "10.0.0.7" }, { ip: "fd00::7" }] },
};
const place: PodPlace = { hostIPs: ["192.0.2.1", "2001:db8::1"] };

function failure(action: () => unknown): unknown {
  try {
    action();
    return undefined;
  } catch (error) {
    return error;
  }
}

test.each([
  ["metadata.name", "web"],
  ["metadata.namespace", "shop"],
  ["metadata.uid", "uid-1"],
  ["metadata.labels", 'app="web"\nexample.com/tier="1"'],
  ["metadata.annotations", 'Note="say \\"hi\\"\\n"'],
  ["metadata.labels['app']", "web"],
  ["metadata.labels['example.com/tier']", "1"],
  ["metadata.labels['constructor']", ""],
  ["metadata.annotations['Note']", 'say "hi"\n'],
  ["metadata.annotations['absent']", ""],
  ["metadata.annotations['Example.com/Note']", ""],
  ["spec.nodeName", "vk"],
  ["spec.host", "vk"],
  ["spec.serviceAccountName", "runner"],
  ["status.hostIP", "192.0.2.1"],
  ["status.hostIPs", "192.0.2.1,2001:db8::1"],
  ["status.podIP", "10.0.0.7"],
  ["status.podIPs", "10.0.0.7,fd00::7"],
])("%s is %j", (fieldPath, value) => {
  expect(resolveFieldRef(fieldPath, pod, place)).toBe(value);
});

test.each([
  ["status.phase", "unsupported fieldPath: status.phase"],
  ["spec.nodeName['x']", `fieldPath "spec.nodeName['x']" does not support subscript`],
  ["metadata.labels['no key']", "invalid key subscript in metadata.labels['no key']"],
  ["metadata.labels['']", "invalid key subscript in metadata.labels['']"],
  ["metadata.labels['-a']", "invalid key subscript in metadata.labels['-a']"],
  ["metadata.labels['a-']", "invalid key subscript in metadata.labels['a-']"],
  ["metadata.labels['A.b/c']", "invalid key subscript in metadata.labels['A.b/c']"],
  ["constructor", "unsupported fieldPath: constructor"],
  ["xmetadata.labels['a']", `fieldPath "xmetadata.labels['a']" does not support subscript`],
  ["metadata.labels['a']x", "unsupported fieldPath: metadata.labels['a']x"],
])("%s is no field, and the pod's containers say so", (fieldPath, message) => {
  const error = failure(() => resolveFieldRef(fieldPath, pod, place));

  expect(error).toMatchObject({ message });
  expect(isInvalidInput(error)).toBe(true);
  expect(waitingReasonOf(error)).toBe("CreateContainerConfigError");
});

test("an address the pod does not have yet is waited for, and named", () => {
  const error = failure(() => resolveFieldRef("status.podIP", { ...pod, status: {} }, place));

  expect(isUnavailable(error)).toBe(true);
  expect(error).toMatchObject({ message: "the pod asks for status.podIP, and has no address yet" });
});

test("the caller's address goes before the API server's, and the node's stands in on its network", () => {
  expect(resolveFieldRef("status.podIP", pod, { ...place, podIPs: ["10.0.0.8"] })).toBe("10.0.0.8");
  expect(resolveFieldRef("status.podIPs", { ...pod, status: {}, spec: { containers: [], hostNetwork: true } }, place)).toBe(
    "192.0.2.1,2001:db8::1",
  );
});

test("a node without an address is an error that says what to do", () => {
  expect(failure(() => resolveFieldRef("status.hostIP", pod, { hostIPs: [] }))).toMatchObject({
    message: expect.stringContaining("give the node one"),
  });
});

test("maps are written with Go's quotes, sorted by key", () => {
  expect(formatMap({ b: "\x00\x7f\u200b\ufeff😀é", a: "\\" })).toBe('a="\\\\"\nb="\\x00\\x7f\\u200b\\ufeff😀é"');
});

test("what a pod does not say of itself is the empty text", () => {
  for (const fieldPath of ["metadata.name", "metadata.labels", "metadata.annotations", "spec.nodeName", "spec.serviceAccountName"])
    expect(resolveFieldRef(fieldPath, {}, place)).toBe("");
});

test("addresses come one of each family, the caller's first, then the pod's, then on its network the node's", () => {
  const onHost: Pod = { spec: { containers: [], hostNetwork: true }, status: { podIPs: [{ ip: "10.0.0.7" }] } };

  expect(resolveFieldRef("status.podIPs", pod, { ...place, podIPs: ["10.0.0.8", "10.0.0.9"] })).toBe("10.0.0.8");
  expect(resolveFieldRef("status.podIPs", pod, { ...place, podIPs: [] })).toBe("10.0.0.7,fd00::7");
  expect(resolveFieldRef("status.podIPs", onHost, place)).toBe("10.0.0.7");
  expect(isUnavailable(failure(() => resolveFieldRef("status.podIPs", { spec: { containers: [] } }, place)))).toBe(true);
});

test("maps are sorted by key, whatever their order", () => {
  expect(formatMap({ c: "3", a: "1", b: "2" })).toBe('a="1"\nb="2"\nc="3"');
  expect(formatMap({})).toBe("");
});
