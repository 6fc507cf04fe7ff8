import type { Service } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { serviceStep } from "./mirror-steps.ts";

function serviceOf(ipFamilies: string[] | undefined): Service {
  return { apiVersion: "v1", kind: "Service", metadata: { namespace: "a", name: "web" }, spec: { type: "ClusterIP", ipFamilies } };
}

test.for([
  { stored: ["IPv4"], wanted: ["IPv6"], kind: "recreate" },
  { stored: ["IPv4", "IPv6"], wanted: ["IPv6"], kind: "recreate" },
  { stored: ["IPv4", "IPv6"], wanted: ["IPv4"], kind: "replace" },
  { stored: undefined, wanted: ["IPv6"], kind: "replace" },
])(
  "a copy with the families $stored that needs $wanted: $kind, because the first family of a Service cannot change",
  ({ stored, wanted, kind }) => {
    expect(serviceStep(serviceOf(wanted), serviceOf(stored), () => true).kind).toBe(kind);
  },
);

test("a copy with an address gets both families without losing it", () => {
  const dual: Service = { ...serviceOf(undefined), spec: { type: "ClusterIP", ipFamilyPolicy: "PreferDualStack" } };
  expect(serviceStep(dual, serviceOf(["IPv4"]), () => true).kind).toBe("replace");
});
