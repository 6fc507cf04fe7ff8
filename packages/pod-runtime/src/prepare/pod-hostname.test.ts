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

  test("is the name in the spec, with the subdomain as part of the domain", () => {
    const domain = "db.shop.svc.cluster.local";
    expect(names("x", { hostname: "db-0", subdomain: "db" })).toEqual({ hostname: "db-0", domain, kernelHostname: "db-0" });
  });

  test("the kernel gets the whole name if the pod sets it as FQDN", () => {
    expect(names("x", { hostname: "a", subdomain: "db", setHostnameAsFQDN: true }).kernelHostname).toBe("a.db.shop.svc.cluster.local");
    expect(names("x", { setHostnameAsFQDN: true }).kernelHostname).toBe("x");
  });

  test("refuses an FQDN that is too long for the kernel", () => {
    const subdomain = "s".repeat(40);
    expect(() => names("x", { hostname: "a".repeat(20), subdomain, setHostnameAsFQDN: true })).toThrow(
      /is too long \(64 characters is the max, 84 characters requested\)/,
    );
  });

  test("a long name is cut to 63 characters, and never ends with a dot or dash", () => {
    expect(names("a".repeat(80)).hostname).toBe("a".repeat(63));
    expect(names(`${"a".repeat(60)}.--${"b".repeat(20)}`).hostname).toBe("a".repeat(60));
  });

  test("an override replaces all names, including the domain", () => {
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

describe("a name at its limit", () => {
  test("of 63 characters is kept, and a dash before the cut is removed", () => {
    expect(names("a".repeat(63)).hostname).toBe("a".repeat(63));
    expect(names("a".repeat(64)).hostname).toBe("a".repeat(63));
    expect(names(`${"a".repeat(62)}-b`).hostname).toBe("a".repeat(62));
    expect(names(`${"a".repeat(62)}-`).hostname, "the name is not cut").toBe(`${"a".repeat(62)}-`);
  });

  test("of which nothing would remain is refused", () => {
    expect(() => names(`${"-".repeat(64)}`)).toThrow(`hostname for pod "${"-".repeat(64)}" was invalid: "${"-".repeat(64)}"`);
  });

  test("may have 64 characters for the kernel, including the domain", () => {
    const subdomain = "s".repeat(36);
    const domain = `${subdomain}.shop.svc.cluster.local`;
    const hostname = "a".repeat(64 - domain.length - 1);

    expect(names("x", { hostname, subdomain, setHostnameAsFQDN: true }).kernelHostname).toBe(`${hostname}.${domain}`);
    expect(() => names("x", { hostname: `${hostname}a`, subdomain, setHostnameAsFQDN: true })).toThrow("65 characters requested");
  });

  test("may have 63 characters as a label, and 253 as an override", () => {
    const label = "a".repeat(63);
    expect(names("x", { hostname: label }).hostname).toBe(label);
    expect(() => names("x", { hostname: `${label}a` })).toThrow(`pod Hostname "${label}a" is not a valid DNS label`);
    const long = [label, label, label, "b".repeat(61)].join(".");
    expect(names("x", { hostnameOverride: long }).hostname).toBe(label);
    expect(() => names("x", { hostnameOverride: `${long}b` })).toThrow("is not a valid DNS subdomain");
  });
});

test.for([
  [{ hostname: "-a" }, "Hostname"],
  [{ hostname: "a-" }, "Hostname"],
  [{ hostname: "A" }, "Hostname"],
  [{ hostname: "a.b" }, "Hostname"],
  [{ subdomain: "a_b" }, "Subdomain"],
  [{ hostnameOverride: "a..b" }, "HostnameOverride"],
  [{ hostnameOverride: "a." }, "HostnameOverride"],
] as const)("%j is refused, naming %s", ([spec, field]) => {
  expect(() => names("x", spec)).toThrow(`pod ${field} "`);
});

test("a pod without a namespace is in the default one", () => {
  expect(podHostname({ metadata: { name: "x" }, spec: { containers: [], subdomain: "db" } }, "cluster.local").domain).toBe(
    "db.default.svc.cluster.local",
  );
});
