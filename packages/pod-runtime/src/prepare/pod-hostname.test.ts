import type { PodSpec } from "@virtual-kubelet/core";
import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { describe, expect, test } from "vitest";
import { podHostname } from "./pod-hostname.ts";

function names(name: string, spec: Partial<PodSpec> = {}): ReturnType<typeof podHostname> {
  return podHostname({ metadata: { name, namespace: "shop" }, spec: { containers: [], ...spec } }, "cluster.local");
}

describe("podHostname", () => {
  test("is the pod's name", () => {
    expect(names("web-0")).toEqual({ hostname: "web-0", domain: "", kernelHostname: "web-0" });
  });

  test("is the name in the spec, and the subdomain its domain", () => {
    const domain = "db.shop.svc.cluster.local";
    expect(names("x", { hostname: "db-0", subdomain: "db" })).toEqual({ hostname: "db-0", domain, kernelHostname: "db-0" });
  });

  test("tells the kernel the whole name where the pod sets it as FQDN", () => {
    expect(names("x", { hostname: "a", subdomain: "db", setHostnameAsFQDN: true }).kernelHostname).toBe("a.db.shop.svc.cluster.local");
    expect(names("x", { setHostnameAsFQDN: true }).kernelHostname).toBe("x");
  });

  test("refuses an FQDN the kernel has no room for", () => {
    const subdomain = "s".repeat(40);
    expect(() => names("x", { hostname: "a".repeat(20), subdomain, setHostnameAsFQDN: true })).toThrow(
      /is too long \(64 characters is the max, 84 characters requested\)/,
    );
  });

  test("cuts a long name to 63 characters, and never ends in a dot or dash", () => {
    expect(names("a".repeat(80)).hostname).toBe("a".repeat(63));
    expect(names(`${"a".repeat(60)}.--${"b".repeat(20)}`).hostname).toBe("a".repeat(60));
  });

  test("an override takes the place of all, also of the domain", () => {
    expect(names("x", { hostname: "a", subdomain: "db", setHostnameAsFQDN: true, hostnameOverride: "www.example.com" })).toEqual({
      hostname: "www.example.com",
      domain: "",
      kernelHostname: "www.example.com",
    });
  });

  test.for([{ hostname: "A b" }, { hostname: "a/../b" }, { subdomain: "-a" }, { hostnameOverride: "a..b" }, { hostnameOverride: "" }])(
    "refuses %j",
    (spec) => {
      expect(() => names("x", spec)).toThrow(expect.toSatisfy(isInvalidInput));
    },
  );
});
