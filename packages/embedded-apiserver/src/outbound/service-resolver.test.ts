import { expect, test } from "vitest";
import type { ApiObject, ObjectReader } from "../kinds/kind.ts";
import { resolveService } from "./service-resolver.ts";

const service = (spec: object): object => ({ metadata: { name: "hook" }, spec: { clusterIP: "10.96.0.9", ...spec } });
const ports = [{ name: "https", port: 443 }];
const reference = { namespace: "default", name: "hook", port: 443 };

function readerOf(objects: Readonly<Record<string, readonly object[]>>): ObjectReader {
  return {
    get: ({ plural }) => objects[plural]?.[0] as ApiObject | undefined,
    list: ({ plural }) => [...(objects[plural] ?? [])] as ApiObject[],
  };
}

test("a service leads to a ready address of its slices, at the port of that name", () => {
  const slice = {
    metadata: { labels: { "kubernetes.io/service-name": "hook" } },
    endpoints: [{ addresses: ["192.0.2.1"], conditions: { ready: false } }, { addresses: ["192.0.2.2"] }],
    ports: [
      { name: "metrics", port: 9090 },
      { name: "https", port: 8443 },
    ],
  };
  const other = { ...slice, metadata: { labels: { "kubernetes.io/service-name": "other" } }, endpoints: [{ addresses: ["192.0.2.9"] }] };
  const reader = readerOf({ services: [service({ ports })], endpointslices: [other, slice] });
  expect(resolveService(reader, reference)).toEqual({ host: "192.0.2.2", port: 8443 });
});

test("a service without slices leads to an address of its endpoints", () => {
  const endpoints = { subsets: [{ addresses: [{ ip: "192.0.2.3" }], ports: [{ name: "https", port: 8443 }] }] };
  expect(resolveService(readerOf({ services: [service({ ports })], endpoints: [endpoints] }), reference)).toEqual({
    host: "192.0.2.3",
    port: 8443,
  });
});

test("an external name is used with the port of the reference", () => {
  const reader = readerOf({ services: [service({ type: "ExternalName", externalName: "localhost" })] });
  expect(resolveService(reader, { ...reference, port: 9443 })).toEqual({ host: "localhost", port: 9443 });
});

test.each([
  ["that does not exist", [], 'service "hook" not found'],
  ["without endpoints", [service({ ports })], "dial tcp 10.96.0.9:443: connect: connection refused"],
  ["without the port", [service({ ports: [{ port: 80 }] })], 'no service port 443 found for service "hook"'],
  ["without an address", [service({ clusterIP: "None", ports })], 'cannot route to service with ClusterIP "None"'],
])("a service %s is an error with the real server's words", (_title, services, message) => {
  expect(() => resolveService(readerOf({ services }), reference)).toThrow(message);
});
