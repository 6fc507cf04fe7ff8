import type { Pod } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { downwardFiles, type DownwardContext } from "./downward-files.ts";
import type { VolumeFile } from "../provider/volume-payload.ts";

const pod: Pod = {
  metadata: { name: "web", namespace: "shop", uid: "uid-1", labels: { b: "2", a: 'say "1"' }, annotations: {} },
  spec: { containers: [{ name: "app", resources: { limits: { memory: "64Mi" } } }] },
};
const context: DownwardContext = { pod, defaultMode: 0o644, allocatable: { cpu: "4" } };

function shown(files: readonly VolumeFile[]): Record<string, string> {
  return Object.fromEntries(files.map(({ path, mode, content }) => [`${path} ${mode.toString(8)}`, Buffer.from(content).toString()]));
}

test("fields of the pod and resources of its containers are files", () => {
  const items = [
    { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
    { path: "one", mode: 0o400, fieldRef: { fieldPath: "metadata.labels['b']" } },
    { path: "none", fieldRef: { fieldPath: "metadata.annotations" } },
    { path: "memory", resourceFieldRef: { containerName: "app", resource: "limits.memory", divisor: "1Mi" } },
    { path: "cpu", resourceFieldRef: { containerName: "app", resource: "limits.cpu" } },
  ];

  expect(shown(downwardFiles(items, context))).toEqual({
    "labels 644": 'a="say \\"1\\""\nb="2"',
    "one 400": "2",
    "none 644": "",
    "memory 644": "64",
    "cpu 644": "4",
  });
});

test("all that is wrong is told at once", () => {
  const items = [
    { path: "a", fieldRef: { fieldPath: "spec.nope" } },
    { path: "b", fieldRef: { fieldPath: "metadata.name" } },
    { path: "c", resourceFieldRef: { containerName: "gone", resource: "limits.cpu" } },
  ];

  expect(() => downwardFiles(items, context)).toThrow("[unsupported fieldPath: spec.nope, container gone not found]");
});
