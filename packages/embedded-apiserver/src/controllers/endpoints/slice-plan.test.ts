import { expect, test } from "vitest";
import type { ApiObject } from "../../kinds/kind.ts";
import type { SliceEndpoint } from "./endpoint-fields.ts";
import { planSlices, withHints } from "./slice-plan.ts";

const ports = [{ name: "http", port: 80, protocol: "TCP" }];
const endpoint = (index: number, ready = true): SliceEndpoint => ({
  addresses: [`10.0.${String(Math.floor(index / 250))}.${String(index % 250)}`],
  conditions: { ready, serving: ready, terminating: false },
  targetRef: { kind: "Pod", namespace: "default", name: `p${String(index)}`, uid: `u${String(index)}` },
});
const endpoints = (from: number, to: number): SliceEndpoint[] => Array.from({ length: to - from }, (_, index) => endpoint(from + index));
const slice = (name: string, content: readonly SliceEndpoint[]): ApiObject => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name, uid: name, resourceVersion: "1", creationTimestamp: "" },
  addressType: "IPv4",
  ports: content.length === 0 ? [] : ports,
  endpoints: content,
});
const group = (content: readonly SliceEndpoint[]) => [{ addressType: "IPv4", ports, endpoints: content } as const];

test("endpoints are distributed over slices of 100", () => {
  const { created, updated, deleted } = planSlices("IPv4", group(endpoints(0, 250)), []);

  expect(created.map((each) => each.endpoints.length)).toEqual([100, 100, 50]);
  expect([updated, deleted]).toEqual([[], []]);
});

test("nothing is written if nothing has changed", () => {
  const changes = planSlices("IPv4", group(endpoints(0, 3)), [slice("a", endpoints(0, 3))]);

  expect(changes).toEqual({ created: [], updated: [], deleted: [] });
});

test("a changed endpoint changes its slice only", () => {
  const wanted = [...endpoints(0, 149), endpoint(149, false)];
  const { created, updated, deleted } = planSlices("IPv4", group(wanted), [slice("a", endpoints(0, 100)), slice("b", endpoints(100, 150))]);

  expect(updated.map((each) => each.slice.metadata.name)).toEqual(["b"]);
  expect(updated[0]?.content.endpoints.at(-1)?.conditions.ready).toBe(false);
  expect([created, deleted]).toEqual([[], []]);
});

test("new endpoints fill a slice that changes anyway before another one", () => {
  const wanted = [...endpoints(1, 60), ...endpoints(100, 160), endpoint(500)];
  const { created, updated } = planSlices("IPv4", group(wanted), [slice("a", endpoints(0, 60)), slice("b", endpoints(100, 160))]);

  expect(updated.map(({ slice: { metadata }, content }) => [metadata.name, content.endpoints.length])).toEqual([["a", 60]]);
  expect(created).toEqual([]);
});

test("new endpoints fill the fullest slice that has room", () => {
  const wanted = [...endpoints(0, 60), ...endpoints(100, 190), ...endpoints(500, 505)];
  const { created, updated } = planSlices("IPv4", group(wanted), [slice("a", endpoints(0, 60)), slice("b", endpoints(100, 190))]);

  expect(updated.map(({ slice: { metadata }, content }) => [metadata.name, content.endpoints.length])).toEqual([["b", 95]]);
  expect(created).toEqual([]);
});

test("without endpoints one slice without ports remains", () => {
  expect(planSlices("IPv4", [], []).created).toEqual([{ addressType: "IPv4", ports: [], endpoints: [] }]);
  expect(planSlices("IPv4", [], [slice("empty", [])])).toEqual({ created: [], updated: [], deleted: [] });
});

test("a slice that is no longer needed takes the content of one that would be created", () => {
  const { created, updated, deleted } = planSlices("IPv4", group(endpoints(0, 2)), [slice("empty", [])]);

  expect(updated.map(({ slice: { metadata }, content }) => [metadata.name, content.endpoints.length])).toEqual([["empty", 2]]);
  expect([created, deleted]).toEqual([[], []]);
});

test.each([
  [undefined, true, undefined],
  ["PreferSameZone", true, { forZones: [{ name: "z1" }] }],
  ["PreferClose", false, undefined],
  ["PreferSameNode", true, { forZones: [{ name: "z1" }], forNodes: [{ name: "n1" }] }],
])("the traffic distribution %s, ready: %s, gives the hints %j", (distribution, ready, hints) => {
  expect(withHints({ ...endpoint(1, ready), zone: "z1", nodeName: "n1" }, distribution).hints).toEqual(hints);
});
