import type { Service } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { serviceVariables } from "./service-variables.ts";

function service(name: string, clusterIP: string, ports?: NonNullable<NonNullable<Service["spec"]>["ports"]>): Service {
  return { metadata: { name }, spec: { clusterIP, ports } };
}

function lines(ofOwn: Service[], ofDefault: Service[] = []): string[] {
  return serviceVariables({ ofDefault, ofOwn }).map(({ name, value }) => `${name}=${value}`);
}

/** From kubernetes v1.36.3 pkg/kubelet/envvars/envvars_test.go. */
test("a service has a host, ports by name, and Docker's variables for each port", () => {
  const ports = [
    { name: "u-d-p", port: 8081, protocol: "UDP" },
    { name: "t-c-p", port: 8081, protocol: "TCP" },
  ];

  expect(lines([service("abc-123", "5.6.7.8", ports)])).toEqual([
    "ABC_123_SERVICE_HOST=5.6.7.8",
    "ABC_123_SERVICE_PORT=8081",
    "ABC_123_SERVICE_PORT_U_D_P=8081",
    "ABC_123_SERVICE_PORT_T_C_P=8081",
    "ABC_123_PORT=udp://5.6.7.8:8081",
    "ABC_123_PORT_8081_UDP=udp://5.6.7.8:8081",
    "ABC_123_PORT_8081_UDP_PROTO=udp",
    "ABC_123_PORT_8081_UDP_PORT=8081",
    "ABC_123_PORT_8081_UDP_ADDR=5.6.7.8",
    "ABC_123_PORT_8081_TCP=tcp://5.6.7.8:8081",
    "ABC_123_PORT_8081_TCP_PROTO=tcp",
    "ABC_123_PORT_8081_TCP_PORT=8081",
    "ABC_123_PORT_8081_TCP_ADDR=5.6.7.8",
  ]);
});

test("IPv6 addresses stand in brackets in URLs only", () => {
  expect(lines([service("six", "2001:DB8::", [{ port: 80 }])])).toContain("SIX_PORT=tcp://[2001:DB8::]:80");
  expect(lines([service("six", "2001:DB8::", [{ port: 80 }])])).toContain("SIX_PORT_80_TCP_ADDR=2001:DB8::");
});

test("headless services and those without an address have none, one without ports has only its host", () => {
  expect(
    lines([service("headless", "None", [{ port: 1 }]), service("pending", "", [{ port: 1 }]), service("external", "1.2.3.4")]),
  ).toEqual(["EXTERNAL_SERVICE_HOST=1.2.3.4"]);
});

test("of the namespace default only the API server's service counts, unless the pod's namespace has one of that name", () => {
  const ofDefault = [service("kubernetes", "10.96.0.1", [{ name: "https", port: 443 }]), service("other", "10.96.0.2", [{ port: 1 }])];

  expect(lines([], ofDefault)[0]).toBe("KUBERNETES_SERVICE_HOST=10.96.0.1");
  expect(lines([], ofDefault).some((line) => line.startsWith("OTHER"))).toBe(false);
  expect(lines([service("kubernetes", "10.96.9.9", [{ port: 1 }])], ofDefault)[0]).toBe("KUBERNETES_SERVICE_HOST=10.96.9.9");
});

test("services come sorted by name", () => {
  expect(lines([service("b", "1.1.1.2"), service("a", "1.1.1.1")])).toEqual(["A_SERVICE_HOST=1.1.1.1", "B_SERVICE_HOST=1.1.1.2"]);
});

test("the API server is where the node says pods reach it, in place of every service of its name", () => {
  const ofDefault = [service("kubernetes", "10.96.0.1", [{ name: "https", port: 443 }])];
  const ofOwn = [service("kubernetes", "10.96.9.9", [{ port: 1 }])];
  const given = (apiServer: { host: string; port?: number }): string[] =>
    serviceVariables({ ofDefault, ofOwn, apiServer }).map(({ name, value }) => `${name}=${value}`);

  expect(given({ host: "api.example.com" })).toEqual([
    "KUBERNETES_SERVICE_HOST=api.example.com",
    "KUBERNETES_SERVICE_PORT=443",
    "KUBERNETES_SERVICE_PORT_HTTPS=443",
    "KUBERNETES_PORT=tcp://api.example.com:443",
    "KUBERNETES_PORT_443_TCP=tcp://api.example.com:443",
    "KUBERNETES_PORT_443_TCP_PROTO=tcp",
    "KUBERNETES_PORT_443_TCP_PORT=443",
    "KUBERNETES_PORT_443_TCP_ADDR=api.example.com",
  ]);
  expect(given({ host: "api.example.com", port: 6443 })).toContain("KUBERNETES_SERVICE_PORT=6443");
});

test("a port without a protocol is TCP, and one without a name has none of its own", () => {
  expect(lines([service("a", "1.1.1.1", [{ port: 80, protocol: "" }, { port: 81 }])])).toEqual([
    "A_SERVICE_HOST=1.1.1.1",
    "A_SERVICE_PORT=80",
    "A_PORT=tcp://1.1.1.1:80",
    "A_PORT_80_TCP=tcp://1.1.1.1:80",
    "A_PORT_80_TCP_PROTO=tcp",
    "A_PORT_80_TCP_PORT=80",
    "A_PORT_80_TCP_ADDR=1.1.1.1",
    "A_PORT_81_TCP=tcp://1.1.1.1:81",
    "A_PORT_81_TCP_PROTO=tcp",
    "A_PORT_81_TCP_PORT=81",
    "A_PORT_81_TCP_ADDR=1.1.1.1",
  ]);
});
