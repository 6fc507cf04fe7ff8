import type { PodSpec } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { podDns, type PodDns, type PodDnsContext } from "./pod-dns.ts";
import { formatResolvConf, namesOnlyStub, parseResolvConf } from "./resolv-conf.ts";

const nodeDns = { servers: ["192.0.2.1"], searches: ["example.com"], options: ["timeout:1"] };
const context: PodDnsContext = { nodeDns, clusterDNS: ["10.96.0.10"], clusterDomain: "cluster.local" };

function dnsOf(spec: Partial<PodSpec>, given: Partial<PodDnsContext> = {}): PodDns {
  const metadata = { name: "web", namespace: "shop", uid: "u1" };
  return podDns({ metadata, spec: { containers: [], ...spec } }, { ...context, ...given });
}

const ofCluster = {
  servers: ["10.96.0.10"],
  searches: ["shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.com"],
  options: ["ndots:5"],
};

describe("podDns", () => {
  test.for<Partial<PodSpec>>([{}, { dnsPolicy: "ClusterFirst" }, { dnsPolicy: "ClusterFirstWithHostNet", hostNetwork: true }])(
    "%j uses the cluster's DNS, and searches the pod's namespace first",
    (spec) => {
      expect(dnsOf(spec)).toEqual({ dns: ofCluster, warnings: [] });
    },
  );

  test.for<Partial<PodSpec>>([{ dnsPolicy: "Default" }, { dnsPolicy: "ClusterFirst", hostNetwork: true }])("%j has the node's", (spec) => {
    expect(dnsOf(spec)).toEqual({ dns: nodeDns, warnings: [] });
  });

  test("ClusterFirst without a cluster DNS uses the node's, with a warning in a kubelet's words", () => {
    expect(dnsOf({}, { clusterDNS: [] })).toEqual({
      dns: nodeDns,
      warnings: [
        {
          type: "Warning",
          reason: "MissingClusterDNS",
          message: `pod: "web_shop(u1)". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`,
        },
      ],
    });
  });

  test("if the node has no DNS, pods query themselves", () => {
    expect(dnsOf({ dnsPolicy: "Default" }, { nodeDns: undefined }).dns).toEqual({ servers: ["127.0.0.1"], searches: ["."], options: [] });
  });

  test("None uses only dnsConfig", () => {
    const dnsConfig = { nameservers: ["1.1.1.1"], searches: ["my.dns"], options: [{ name: "ndots", value: "2" }, { name: "edns0" }] };
    expect(dnsOf({ dnsPolicy: "None", dnsConfig }).dns).toEqual({
      servers: ["1.1.1.1"],
      searches: ["my.dns"],
      options: ["ndots:2", "edns0"],
    });
  });

  test("dnsConfig is added to the policy's settings without duplicates, and its options take precedence", () => {
    const dnsConfig = {
      nameservers: ["10.96.0.10", "1.1.1.1"],
      searches: ["cluster.local", "x"],
      options: [{ name: "ndots", value: "1" }],
    };
    expect(dnsOf({ dnsConfig }).dns).toEqual({
      servers: ["10.96.0.10", "1.1.1.1"],
      searches: [...ofCluster.searches, "x"],
      options: ["ndots:1"],
    });
  });

  test("servers and domains beyond a resolver's limits are left out, with an event", () => {
    const { dns, warnings } = dnsOf({
      dnsPolicy: "None",
      dnsConfig: { nameservers: ["1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"], searches: Array.from({ length: 40 }, (_, n) => `s${n}`) },
    });
    expect(dns.servers).toEqual(["1.1.1.1", "2.2.2.2", "3.3.3.3"]);
    expect(dns.searches).toHaveLength(32);
    expect(warnings.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      "DNSConfigForming: Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 1.1.1.1 2.2.2.2 3.3.3.3",
      expect.stringMatching(/^DNSConfigForming: Search Line limits were exceeded, .* the applied search line is: s0 s1 .* s31$/),
    ]);
  });

  test("a search line may have 2048 characters, and a domain 253", () => {
    const long = Array.from({ length: 12 }, (_, n) => `${n}`.padEnd(200, "x"));
    const { dns } = dnsOf({ dnsPolicy: "None", dnsConfig: { searches: ["y".repeat(254), ...long] } });
    expect(dns.searches).toEqual(long.slice(0, 10));
  });
});

describe("resolv.conf", () => {
  test("is parsed as by a kubelet", () => {
    const text = `# a comment
nameserver 192.0.2.1
nameserver  2001:db8::1
nameserver
domain example.org
search old.example.com
search a.example.com. . b.example.com
options ndots:1 rotate
options ndots:3`;
    expect(parseResolvConf(text)).toEqual({
      servers: ["192.0.2.1", "2001:db8::1"],
      searches: ["a.example.com", "b.example.com"],
      options: ["ndots:3", "rotate"],
    });
  });

  test("is written so that it parses to the same settings", () => {
    const text = "search a b\nnameserver 10.0.0.1\nnameserver 10.0.0.2\noptions ndots:5 edns0\n";
    expect(formatResolvConf(parseResolvConf(text))).toBe(text);
    expect(formatResolvConf({ servers: [], searches: [], options: [] })).toBe("");
  });

  test.for([
    [["127.0.0.53"], true],
    [["127.0.0.53", "192.0.2.1"], false],
    [["127.0.0.1"], false],
    [[], false],
  ] as const)("names only systemd-resolved's stub with %j: %j", ([servers, expected]) => {
    expect(namesOnlyStub({ servers, searches: [], options: [] })).toBe(expected);
  });
});

describe("limits of a resolver", () => {
  const searched = (searches: readonly string[]): PodDns =>
    dnsOf({ dnsPolicy: "None", dnsConfig: { nameservers: ["1.1.1.1"], searches: [...searches] } });

  test("cause no warning if they are reached exactly", () => {
    const { dns, warnings } = dnsOf({
      dnsPolicy: "None",
      dnsConfig: { nameservers: ["1.1.1.1", "2.2.2.2", "3.3.3.3"], searches: Array.from({ length: 32 }, (_, n) => `s${n}`) },
    });

    expect([dns.servers.length, dns.searches.length, warnings]).toEqual([3, 32, []]);
  });

  test("a domain of 253 characters is kept, and one of 254 is dropped with an event", () => {
    const [fits, long] = ["y".repeat(253), "z".repeat(254)];

    expect(searched([fits, long, "a"]).dns.searches).toEqual([fits, "a"]);
    expect(searched([fits, long]).warnings).toEqual([
      {
        type: "Warning",
        reason: "DNSConfigForming",
        message: `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${fits}`,
      },
    ]);
    expect(searched([fits]).warnings).toEqual([]);
  });

  test("a search line of 2048 characters is kept", () => {
    const line = [...Array.from({ length: 10 }, (_, n) => `${n}`.padEnd(203, "x")), "z".repeat(8)];
    expect(line.join(" ")).toHaveLength(2048);

    expect(searched(line).dns.searches).toEqual(line);
    expect(searched([...line.slice(0, 10), "z".repeat(9)]).dns.searches).toEqual(line.slice(0, 10));
  });
});

test("the node's search domains follow the cluster's; without a cluster domain, only the node's are used", () => {
  expect(dnsOf({}, { clusterDomain: "" }).dns).toEqual({ servers: ["10.96.0.10"], searches: ["example.com"], options: ["ndots:5"] });
  expect(dnsOf({}, { nodeDns: undefined }).dns.searches).toEqual(["shop.svc.cluster.local", "svc.cluster.local", "cluster.local"]);
});

test("a pod without a namespace is in the default one", () => {
  const { dns } = podDns({ metadata: { name: "web" }, spec: { containers: [] } }, context);

  expect(dns.searches[0]).toBe("default.svc.cluster.local");
});

test("ClusterFirstWithHostNet uses the cluster's DNS also on the pod's own network, and falls back if there is none", () => {
  expect(dnsOf({ dnsPolicy: "ClusterFirstWithHostNet" }).dns).toEqual(ofCluster);
  const fallback = dnsOf({ dnsPolicy: "ClusterFirstWithHostNet", hostNetwork: true }, { clusterDNS: [] });
  expect([fallback.dns, fallback.warnings.length]).toEqual([nodeDns, 1]);
});

test("Default uses the node's DNS without a warning, even if there is no cluster DNS", () => {
  expect(dnsOf({ dnsPolicy: "Default" }, { clusterDNS: [] }).warnings).toEqual([]);
});

test("an option of dnsConfig without a value replaces one with a value", () => {
  const options = [{ name: "timeout" }, { name: "attempts", value: "2" }, { name: "rotate", value: "" }];

  expect(dnsOf({ dnsPolicy: "Default", dnsConfig: { options } }).dns.options).toEqual(["timeout", "attempts:2", "rotate"]);
});

test("a search list of only dots is empty, and whitespace and unknown lines are ignored", () => {
  expect(
    parseResolvConf("  search . a. \nsearcher x\n;nameserver 1.1.1.1\n\n nameserver\t10.0.0.1 10.0.0.2\nnameservers 10.0.0.3\noptions"),
  ).toEqual({
    servers: ["10.0.0.1"],
    searches: ["a"],
    options: [],
  });
});

test.for(["127.0.0.54", "127.0.0.53"])("systemd-resolved answers at %s", (server) => {
  expect(namesOnlyStub({ servers: [server], searches: [], options: [] })).toBe(true);
});
