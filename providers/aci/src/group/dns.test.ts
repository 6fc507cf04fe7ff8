import { expect, test } from "vitest";
import { podOf } from "../test-support/pods.ts";
import { dnsOf, type DnsContext } from "./dns.ts";

const context: DnsContext = { hasSubnet: true, operatingSystem: "Linux", kubeDnsIp: "10.0.0.10", clusterDomain: "cluster.local" };

test("a pod in a subnet asks the cluster's DNS, as under a kubelet", () => {
  expect(dnsOf(podOf(), context)).toEqual({
    dns: {
      nameServers: ["10.0.0.10"],
      searchDomains: "shop.svc.cluster.local svc.cluster.local cluster.local",
      options: "ndots:5",
    },
    notes: [],
  });
});

test.for<[string, Partial<DnsContext>, Parameters<typeof podOf>[0]]>([
  ["without a subnet", { hasSubnet: false }, {}],
  ["on Windows", { operatingSystem: "Windows" }, {}],
  ["without an address of the cluster's DNS", { kubeDnsIp: undefined }, {}],
  ["with dnsPolicy Default", {}, { dnsPolicy: "Default" }],
])("Azure's DNS applies %s", ([, changed, spec]) => {
  expect(dnsOf(podOf(spec), { ...context, ...changed })).toEqual({ dns: undefined, notes: [] });
});

test("more name servers and searches than resolvers take are left out, and events say so", () => {
  const { dns, notes } = dnsOf(
    podOf({
      dnsConfig: { nameservers: ["192.0.2.1", "192.0.2.2", "192.0.2.3"], searches: ["a.example", "b.example", "c.example", "d.example"] },
    }),
    context,
  );

  expect(dns?.nameServers).toEqual(["10.0.0.10", "192.0.2.1", "192.0.2.2"]);
  expect(dns?.searchDomains?.split(" ")).toHaveLength(6);
  expect(notes.map(({ reason }) => reason)).toEqual(["DNSConfigForming", "DNSConfigForming"]);
});

test("a search line has at most 256 characters", () => {
  const searches = ["a", "b"].map((letter) => letter.repeat(120));
  const { dns } = dnsOf(
    podOf({ dnsPolicy: "None", dnsConfig: { nameservers: ["192.0.2.1"], searches: [...searches, "c".repeat(60)] } }),
    context,
  );

  expect(dns?.searchDomains).toBe(searches.join(" "));
});

test("searches without a name server are refused, because Azure needs one", () => {
  expect(() => dnsOf(podOf({ dnsPolicy: "None", dnsConfig: { searches: ["example.com"] } }), context)).toThrow(
    expect.objectContaining({ fieldPath: "spec.dnsConfig" }),
  );
});
