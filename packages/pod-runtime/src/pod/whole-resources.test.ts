import type { Pod, PodSpec } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { podWith } from "../test-support/pod-rig.ts";
import { allocatedResources, wholeResources } from "./whole-resources.ts";

const amounts = { cpu: "1500m", memory: "64Mi", "hugepages-2Mi": "4Mi", "ephemeral-storage": "1Gi", "example.com/gpu": "2" };

function podOf(requests: Record<string, string>, limits: Record<string, string> = {}, more: Partial<PodSpec> = {}): Pod {
  return podWith({ containers: [{ name: "app", image: "app:1", resources: { requests, limits } }], ...more });
}

test("a pod as a whole has CPU, memory and huge pages, in the API's words", () => {
  expect(wholeResources(podOf(amounts, { cpu: "2", memory: "1Gi", "example.com/gpu": "2" }))).toEqual({
    requests: { cpu: "1500m", memory: "64Mi", "hugepages-2Mi": "4Mi" },
    limits: { cpu: "2", memory: "1Gi" },
  });
});

test("what it needs of its node is all of it, bytes in powers of two", () => {
  expect(allocatedResources(podOf(amounts))).toEqual(amounts);
});

test("all containers that run at once add up", () => {
  const resources = { requests: { cpu: "250m", memory: "1Gi" } };
  const pod = podWith({ containers: ["a", "b"].map((name) => ({ name, image: "app:1", resources })) });

  expect(wholeResources(pod).requests).toEqual({ cpu: "500m", memory: "2Gi" });
});

test("of a spec whose quantities cannot be read nothing is known", () => {
  const pod = podOf({ cpu: "lots" }, { cpu: "more" });

  expect([wholeResources(pod), allocatedResources(pod)]).toEqual([{ requests: {}, limits: {} }, {}]);
});
