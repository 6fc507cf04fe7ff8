import type { Pod, PodSpec } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { podWith } from "../test-support/pod-rig.ts";
import { allocatedResources, wholeResources } from "./whole-resources.ts";

const amounts = { cpu: "1500m", memory: "64Mi", "hugepages-2Mi": "4Mi", "ephemeral-storage": "1Gi", "example.com/gpu": "2" };

function podOf(requests: Record<string, string>, limits: Record<string, string> = {}, more: Partial<PodSpec> = {}): Pod {
  return podWith({ containers: [{ name: "app", image: "app:1", resources: { requests, limits } }], ...more });
}

test("the resources of a pod as a whole are CPU, memory and huge pages, with the API's names", () => {
  expect(wholeResources(podOf(amounts, { cpu: "2", memory: "1Gi", "example.com/gpu": "2" }))).toEqual({
    requests: { cpu: "1500m", memory: "64Mi", "hugepages-2Mi": "4Mi" },
    limits: { cpu: "2", memory: "1Gi" },
  });
});

test("allocated resources are the sum of all requests, with bytes in powers of two", () => {
  expect(allocatedResources(podOf(amounts))).toEqual(amounts);
});

test("the requests of all containers that run together are added", () => {
  const resources = { requests: { cpu: "250m", memory: "1Gi" } };
  const pod = podWith({ containers: ["a", "b"].map((name) => ({ name, image: "app:1", resources })) });

  expect(wholeResources(pod).requests).toEqual({ cpu: "500m", memory: "2Gi" });
});

test("for a spec with malformed quantities no amounts are known", () => {
  const pod = podOf({ cpu: "lots" }, { cpu: "more" });

  expect([wholeResources(pod), allocatedResources(pod)]).toEqual([{ requests: {}, limits: {} }, {}]);
});
