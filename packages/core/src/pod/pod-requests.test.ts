import type { Container, Pod, PodSpec } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { podLimits, podRequests } from "./pod-requests.ts";

const limited = (cpu: string | undefined, more: Partial<Container> = {}): Container => ({
  name: "c",
  ...more,
  ...(cpu !== undefined && { resources: { limits: { cpu }, requests: { cpu } } }),
});

function cpuOf(spec: Partial<PodSpec>): { readonly limit: bigint | undefined; readonly request: bigint | undefined } {
  const pod: Pod = { spec: { containers: [], ...spec } };
  return { limit: podLimits(pod).get("cpu"), request: podRequests(pod).get("cpu") };
}

const both = (amount: bigint): ReturnType<typeof cpuOf> => ({ limit: amount, request: amount });

test("containers are added up; those without count as nothing", () => {
  expect(cpuOf({ containers: [limited("100m"), limited("200m"), limited(undefined)] })).toEqual(both(300n));
});

test("an init container counts with the sidecars before it, where that is more than what runs later", () => {
  const sidecar = (cpu: string): Container => limited(cpu, { restartPolicy: "Always" });
  const initContainers = [sidecar("100m"), limited("900m"), sidecar("300m")];

  expect(cpuOf({ initContainers, containers: [limited("200m")] })).toEqual(both(1000n));
  expect(cpuOf({ initContainers, containers: [limited("700m")] })).toEqual(both(1100n));
});

test("what the pod says as a whole takes the sum's place, and overhead is added to what is limited", () => {
  const containers = [limited("100m")];
  const resources = { limits: { cpu: "2" }, requests: { cpu: "1" } };

  expect(cpuOf({ containers, resources, overhead: { cpu: "10m" } })).toEqual({ limit: 2010n, request: 1010n });
  expect(cpuOf({ containers: [limited(undefined)], overhead: { cpu: "10m" } })).toEqual({ limit: undefined, request: 10n });
});
