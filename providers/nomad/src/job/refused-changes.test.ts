import type { Pod } from "@virtual-kubelet/core";
import { isUnsupported } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { refuseChange } from "./refused-changes.ts";
import { containerWith, planOf, podWith } from "../test-support/pods.ts";

const setup = containerWith({ name: "setup", image: "busybox:1" });
const { shape } = planOf(podWith({ initContainers: [setup] }));

/** What a change of the pod is answered with. */
function changed(spec: Partial<NonNullable<Pod["spec"]>>, labels: Record<string, string> = {}): unknown {
  const pod = podWith({ initContainers: [setup], ...spec });
  try {
    refuseChange(shape, { ...pod, metadata: { ...pod.metadata, labels } });
    return "done";
  } catch (error) {
    return isUnsupported(error) ? String(error) : error;
  }
}

test("labels of a pod that runs may change", () => {
  expect(changed({}, { a: "b" })).toBe("done");
});

test.each<[string, Partial<NonNullable<Pod["spec"]>>]>([
  ["spec.containers[0].image", { containers: [containerWith({ image: "nginx:1.30" })] }],
  ["spec.initContainers[0].image", { initContainers: [{ ...setup, image: "busybox:2" }] }],
  ["spec.activeDeadlineSeconds", { activeDeadlineSeconds: 60 }],
])("of a pod that runs a new %s is refused by its name", (fieldPath, spec) => {
  expect(changed(spec)).toContain(`${fieldPath}: Nomad`);
});
