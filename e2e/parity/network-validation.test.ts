import { expect } from "vitest";
import { test } from "./support/parity-test.ts";
import { refusals, refusedChanges } from "./support/refusals.ts";

const named = (fields: object, metadata: object = {}): object => ({ metadata: { name: "a", ...metadata }, ...fields });
const rule = (path: object, host?: string): object =>
  named({ spec: { rules: [{ ...(host === undefined ? {} : { host }), http: { paths: [path] } }] } });
const service = { name: "s", port: { number: 80 } };
const backend = (fields: object): object => named({ spec: { defaultBackend: fields } });
const networkPolicy = (spec: object): object => named({ spec: { podSelector: {}, ...spec } });
const from = (...peers: object[]): object => networkPolicy({ ingress: [{ from: peers }] });
const port = (fields: object): object => networkPolicy({ egress: [{ ports: [fields] }] });

test("ingresses are validated", async ({ api, namespace }) => {
  const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`;
  expect(
    await refusals(api, path, {
      empty: named({ spec: {} }),
      "no backend": backend({}),
      "both backends": backend({ service, resource: { kind: "K", name: "n" } }),
      "resource without kind": backend({ resource: { kind: "", name: "a/b", apiGroup: "A" } }),
      "no service name": backend({ service: { name: "", port: { number: 80 } } }),
      "service name": backend({ service: { name: "1A", port: { number: 80 } } }),
      "service name with a digit": backend({ service: { name: "1a", port: { number: 80 } } }),
      "no port": backend({ service: { name: "s" } }),
      "both ports": backend({ service: { name: "s", port: { number: 80, name: "http" } } }),
      "port name": backend({ service: { name: "s", port: { name: "Http_" } } }),
      "port number": backend({ service: { name: "s", port: { number: 70_000 } } }),
      "host is an address": rule({ path: "/", pathType: "Prefix", backend: { service } }, "1.2.3.4"),
      "host with upper case": rule({ path: "/", pathType: "Prefix", backend: { service } }, "A.example.com"),
      "wildcard in the middle": rule({ path: "/", pathType: "Prefix", backend: { service } }, "a.*.com"),
      wildcard: rule({ path: "/", pathType: "Prefix", backend: { service } }, "*.example.com"),
      "no path type": rule({ path: "/", backend: { service } }),
      "path type": rule({ path: "/", pathType: "Glob", backend: { service } }),
      "relative path": rule({ path: "a", pathType: "Prefix", backend: { service } }),
      "path with dots": rule({ path: "/a/../b//c%2F/.", pathType: "Exact", backend: { service } }),
      "relative path of any kind": rule({ path: "a", pathType: "ImplementationSpecific", backend: { service } }),
      "no paths": named({ spec: { rules: [{ http: { paths: [] } }] } }),
      "tls hosts and secret": named({ spec: { defaultBackend: { service }, tls: [{ hosts: ["A", "*a"], secretName: "S_" }] } }),
      "class name": named({ spec: { defaultBackend: { service }, ingressClassName: "A_" } }),
      "class twice": named(
        { spec: { defaultBackend: { service }, ingressClassName: "a" } },
        { annotations: { "kubernetes.io/ingress.class": "b" } },
      ),
    }),
  ).toMatchSnapshot("create");
  await api.create(path, named({ spec: { defaultBackend: { service } } }));
  expect(
    await refusedChanges(api, `${path}/a`, {
      "backend removed": { spec: { defaultBackend: null } },
      "path added": { spec: { rules: [{ http: { paths: [{ path: "x", pathType: "Exact", backend: { service } }] } }] } },
    }),
  ).toMatchSnapshot("update");
  expect(
    await refusedChanges(api, `${path}/a/status`, {
      address: {
        status: { loadBalancer: { ingress: [{ ip: "1.2.3" }, { ip: "010.0.0.1" }, { hostname: "A_" }, { hostname: "1.2.3.4" }] } },
      },
      valid: { status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }, { hostname: "a.example.com" }] } } },
    }),
  ).toMatchSnapshot("status");
});

test("ingress classes are validated", async ({ api, namespace }) => {
  const path = "/apis/networking.k8s.io/v1/ingressclasses";
  const parameters = (fields: object): object => named({ spec: { controller: "a.io/b", parameters: fields } });
  expect(
    await refusals(api, path, {
      "no controller": named({ spec: {} }),
      "controller without a domain": named({ spec: { controller: "a" } }),
      "controller with a bad domain": named({ spec: { controller: "A_/b" } }),
      "controller with a bad path": named({ spec: { controller: "a.io/b c" } }),
      "long controller": named({ spec: { controller: `a.io/${"b".repeat(250)}` } }),
      "no kind and name": parameters({ kind: "", name: "" }),
      "kind and name": parameters({ apiGroup: "A_", kind: "a/b", name: ".." }),
      scope: parameters({ kind: "K", name: "n", scope: "World" }),
      "no namespace": parameters({ kind: "K", name: "n", scope: "Namespace" }),
      namespace: parameters({ kind: "K", name: "n", scope: "Namespace", namespace: "A_" }),
      "namespace of a cluster's object": parameters({ kind: "K", name: "n", namespace: "a" }),
    }),
  ).toMatchSnapshot("create");
  await api.create(path, { metadata: { name: namespace }, spec: { controller: "a.io/b" } });
  expect(
    await refusedChanges(api, `${path}/${namespace}`, {
      controller: { spec: { controller: "a.io/c" } },
      none: { spec: { controller: null } },
    }),
  ).toMatchSnapshot("update");
  await api.delete(`${path}/${namespace}`);
});

test("network policies are validated", async ({ api, namespace }) => {
  const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`;
  expect(
    await refusals(api, path, {
      selector: networkPolicy({ podSelector: { matchLabels: { "a b": "c d" }, matchExpressions: [{ key: "k", operator: "Is" }] } }),
      "policy types": networkPolicy({ policyTypes: ["Ingress", "Sideways"] }),
      "three policy types": networkPolicy({ policyTypes: ["Ingress", "Egress", "Ingress"] }),
      protocol: port({ protocol: "ICMP", port: 1 }),
      "port number": port({ port: 70_000 }),
      "port name": port({ port: "A_" }),
      "end before port": port({ port: 80, endPort: 70 }),
      "end out of range": port({ port: 80, endPort: 70_000 }),
      "end of a named port": port({ port: "http", endPort: 80 }),
      "end without port": port({ endPort: 80 }),
      "empty peer": from({}),
      "block and selector": from({ ipBlock: { cidr: "10.0.0.0/8" }, podSelector: {} }),
      "no range": from({ ipBlock: { cidr: "" } }),
      range: from({ ipBlock: { cidr: "10.0.0.0" } }),
      "range with host bits": from({ ipBlock: { cidr: "10.0.0.1/8" } }),
      "range with leading zeros": from({ ipBlock: { cidr: "010.0.0.0/8" } }),
      "mapped range": from({ ipBlock: { cidr: "::ffff:10.0.0.0/104" } }),
      "host bits of version 6": from({ ipBlock: { cidr: "2001:db8::1/64" } }),
      exceptions: from({ ipBlock: { cidr: "10.0.0.0/8", except: ["10.0.0.0/8", "11.0.0.0/9", "x", "10.1.0.0/16"] } }),
      "exceptions of version 6": from({ ipBlock: { cidr: "2001:db8::/32", except: ["2001:db8::/32", "2001:db8:1::/48", "10.0.0.0/8"] } }),
    }),
  ).toMatchSnapshot("create");
  await api.create(path, from({ ipBlock: { cidr: "10.0.0.0/8" } }));
  expect(await refusedChanges(api, `${path}/a`, { peer: { spec: { ingress: [{ from: [{}] }] } } })).toMatchSnapshot("update");
});

test("endpoints and slices are validated", async ({ api, core, namespace }) => {
  const endpoints = (...subsets: object[]): object => named({ subsets });
  expect(
    await refusals(api, `${core}/endpoints`, {
      "no addresses": endpoints({ ports: [{ port: 80 }] }),
      addresses: endpoints({
        addresses: [{ ip: "" }, { ip: "127.0.0.1" }, { ip: "169.254.1.1" }, { ip: "0.0.0.0" }, { ip: "224.0.0.1" }, { ip: "01.2.3.4" }],
      }),
      "addresses of version 6": endpoints({
        addresses: [{ ip: "::" }, { ip: "::1" }, { ip: "fe80::1" }, { ip: "ff02::1" }, { ip: "::ffff:1.2.3.4" }],
      }),
      "names of an address": endpoints({ notReadyAddresses: [{ ip: "1.2.3.4", hostname: "A_", nodeName: "B_" }] }),
      ports: endpoints({
        addresses: [{ ip: "1.2.3.4" }],
        ports: [{ port: 0 }, { name: "A", port: 1, protocol: "ICMP", appProtocol: "a b" }],
      }),
    }),
  ).toMatchSnapshot("endpoints");
  const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  const slice = (fields: object): object => named({ addressType: "IPv4", endpoints: [], ...fields });
  expect(
    await refusals(api, slices, {
      "no type": named({ endpoints: [] }),
      type: slice({ addressType: "IPv5" }),
      "no addresses": slice({ endpoints: [{ addresses: [] }] }),
      "addresses of version 4": slice({ endpoints: [{ addresses: ["x", "2001:db8::1", "127.0.0.1", "010.1.1.1"] }] }),
      "addresses of version 6": slice({ addressType: "IPv6", endpoints: [{ addresses: ["1.2.3.4", "2001:DB8:0::1", "::1"] }] }),
      "domain names": slice({ addressType: "FQDN", endpoints: [{ addresses: ["a", "A.b", "a.b.", "a.b"] }] }),
      "many addresses": slice({ endpoints: [{ addresses: Array.from({ length: 101 }, (_, index) => `10.0.0.${index + 1}`) }] }),
      names: slice({
        endpoints: [{ addresses: ["1.2.3.4"], nodeName: "A_", hostname: "B_", hints: { forZones: [{ name: "a b" }, { name: "a b" }] } }],
      }),
      "node hints": slice({ endpoints: [{ addresses: ["1.2.3.4"], hints: { forNodes: [{ name: "A_" }] } }] }),
      "many hints": slice({
        endpoints: [{ addresses: ["1.2.3.4"], hints: { forZones: Array.from({ length: 9 }, (_, index) => ({ name: `z${index}` })) } }],
      }),
      ports: slice({ ports: [{ name: "A_", port: 1 }, { name: "b" }, { name: "b", protocol: "X", appProtocol: "a b" }] }),
    }),
  ).toMatchSnapshot("slices");
  await api.create(slices, slice({ endpoints: [{ addresses: ["1.2.3.4"] }] }));
  expect(
    await refusedChanges(api, `${slices}/a`, {
      type: { addressType: "FQDN" },
      address: { endpoints: [{ addresses: ["1.2.3"] }] },
    }),
  ).toMatchSnapshot("update of a slice");
});

test("addresses and ranges of services are validated", async ({ api }) => {
  const addresses = "/apis/networking.k8s.io/v1/ipaddresses";
  const address = (name: string, parentRef?: object): object => ({
    metadata: { name },
    spec: parentRef === undefined ? {} : { parentRef },
  });
  const parent = { resource: "services", name: "a", namespace: "b" };
  expect(
    await refusals(api, addresses, {
      name: address("a", parent),
      "leading zeros": address("010.0.0.1", parent),
      "not canonical": address("2001:DB8::1", parent),
      "no parent": address("10.0.0.77"),
      "empty parent": address("10.0.0.77", {}),
      "invalid parent": address("10.0.0.77", { group: "A_", resource: "a/b", name: "..", namespace: "c%d" }),
    }),
  ).toMatchSnapshot("addresses");
  const range = (...cidrs: string[]): object => named({ spec: { cidrs } });
  expect(
    await refusals(api, "/apis/networking.k8s.io/v1/servicecidrs", {
      none: range(),
      three: range("10.0.0.0/24", "2001:db8::/64", "10.1.0.0/24"),
      invalid: range("10.0.0.1/24"),
      "not canonical": range("2001:DB8::/64"),
      "same family": range("10.0.0.0/24", "10.1.0.0/24"),
    }),
  ).toMatchSnapshot("ranges");
});

test("the cluster IPs of a service and their families are checked before its other fields", async ({ api, core }) => {
  const service = (spec: object): object => ({ metadata: { name: "a" }, spec: { ports: [{ port: 0 }], ...spec } });

  expect(
    await refusals(api, `${core}/services`, {
      "no address": service({ clusterIP: "x" }),
      "another address first": service({ clusterIP: "10.0.0.9", clusterIPs: ["10.0.0.8"] }),
      IPv6: service({ clusterIP: "fd00::1" }),
      "two addresses": service({ clusterIPs: ["10.0.0.9", "fd00::1"] }),
      "two families": service({ ipFamilies: ["IPv4", "IPv6"] }),
      "unknown family": service({ ipFamilies: ["X"] }),
      "family of another address": service({ clusterIP: "10.0.0.9", ipFamilies: ["IPv6"] }),
      "both stacks": service({ ipFamilyPolicy: "PreferDualStack", clusterIPs: ["10.0.0.9", "fd00::1"] }),
    }),
  ).toMatchSnapshot();
});

test("a cluster IP cannot be changed, also not to one that is taken or out of range", async ({ api, core }) => {
  const ports = [{ port: 80 }];
  const { spec } = await api.create(`${core}/services`, { metadata: { name: "a" }, spec: { ports } });
  const change = async (clusterIP: string): Promise<string> =>
    (await api.put(`${core}/services/a`, { metadata: { name: "a" }, spec: { ports, clusterIP } })).body.message;

  for (const clusterIP of ["192.168.1.1", "None"])
    expect(await change(clusterIP)).toBe(
      `Service "a" is invalid: spec.clusterIPs[0]: Invalid value: ["${clusterIP}"]: may not change once set`,
    );
  await api.put(`${core}/services/a`, { metadata: { name: "a" }, spec: { type: "ExternalName", externalName: "a.example.com" } });
  const back = await api.put(`${core}/services/a`, { metadata: { name: "a" }, spec: { ports, clusterIP: spec.clusterIP } });
  expect([back.status, back.body.spec.clusterIPs]).toEqual([200, [spec.clusterIP]]);
});
