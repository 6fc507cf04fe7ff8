import { expect } from "vitest";
import { test } from "./support/parity-test.ts";
import { refusals, refusedChanges } from "./support/refusals.ts";

const named = (fields: object, name: string = "a"): object => ({ metadata: { name }, ...fields });
const group = "/apis/resource.k8s.io/v1";
const exactly = { deviceClassName: "c" };

test("resource claims and their templates are validated", async ({ api, namespace }) => {
  const path = `${group}/namespaces/${namespace}/resourceclaims`;
  const claim = (devices: object): object => named({ spec: { devices } });
  const request = (fields: object): object => claim({ requests: [{ name: "r", ...fields }] });
  const exact = (fields: object): object => request({ exactly: { ...exactly, ...fields } });
  const constraint = (fields: object): object => claim({ requests: [{ name: "r", exactly }], constraints: [fields] });
  const config = (fields: object): object => claim({ requests: [{ name: "r", exactly }], config: [fields] });
  expect(
    await refusals(api, path, {
      "many requests": claim({ requests: Array.from({ length: 33 }, (_, index) => ({ name: `r${index}`, exactly })) }),
      "name twice": claim({
        requests: [
          { name: "r", exactly },
          { name: "r", exactly },
        ],
      }),
      name: claim({ requests: [{ name: "A_", exactly }] }),
      neither: request({}),
      both: request({ exactly, firstAvailable: [{ name: "s", ...exactly }] }),
      "no class": request({ exactly: { deviceClassName: "" } }),
      class: exact({ deviceClassName: "A_" }),
      mode: exact({ allocationMode: "Some" }),
      "count of all": exact({ allocationMode: "All", count: 2 }),
      "negative count": exact({ count: -1 }),
      "no expression": exact({ selectors: [{}] }),
      tolerations: exact({ tolerations: [{ key: "a b", operator: "Exists", effect: "Later" }, { operator: "Is" }] }),
      "values of tolerations": exact({
        tolerations: [
          { operator: "Exists", value: "c" },
          { operator: "Equal", value: "a b" },
        ],
      }),
      "sub-request without class": request({ firstAvailable: [{ name: "s", deviceClassName: "" }] }),
      "name of a sub-request": request({ firstAvailable: [{ name: "A_", ...exactly }] }),
      "sub-requests twice": request({
        firstAvailable: [
          { name: "s", ...exactly },
          { name: "s", ...exactly },
        ],
      }),
      "many sub-requests": request({ firstAvailable: Array.from({ length: 9 }, (_, index) => ({ name: `s${index}`, ...exactly })) }),
      "constraint without attribute": constraint({ requests: ["r"] }),
      "constraint of others": constraint({ requests: ["x", "r/s/t"], matchAttribute: "example.com/a" }),
      "attribute without domain": constraint({ matchAttribute: "a" }),
      attribute: constraint({ matchAttribute: "A_/1a" }),
      "distinct attribute": constraint({ distinctAttribute: "a" }),
      "empty configuration": config({}),
      driver: config({ opaque: { driver: "A_", parameters: {} } }),
      "no driver": config({ opaque: { driver: "", parameters: {} } }),
      "no parameters": config({ opaque: { driver: "d" } }),
      "parameters no object": config({ opaque: { driver: "d", parameters: [] } }),
      valid: exact({}),
    }),
  ).toMatchSnapshot("claims");
  expect(
    await refusals(api, `${group}/namespaces/${namespace}/resourceclaimtemplates`, {
      name: named({ spec: { spec: { devices: { requests: [{ name: "A_", exactly }] } } } }),
      "many requests": named({
        spec: { spec: { devices: { requests: Array.from({ length: 33 }, (_, index) => ({ name: `r${index}`, exactly })) } } },
      }),
    }),
  ).toMatchSnapshot("templates");
  await api.create(path, exact({}));
  const [current] = ((await api.get(path)).body as { items: { metadata: { resourceVersion: string } }[] }).items;
  const { resourceVersion } = current?.metadata ?? {};
  const change = (fields: object): object => ({ metadata: { resourceVersion }, ...fields });
  expect(
    await refusedChanges(api, `${path}/a`, { spec: change({ spec: { devices: { requests: [{ name: "s", exactly }] } } }) }),
  ).toMatchObject({
    spec: { status: 422, details: { causes: [{ field: "spec", message: expect.stringMatching(/: field is immutable$/) }] } },
  });
  expect(
    await refusedChanges(api, `${path}/a/status`, {
      "reserved without allocation": change({ status: { reservedFor: [{ resource: "", name: "", uid: "" }] } }),
      "reserved twice": change({
        status: {
          reservedFor: [
            { resource: "pods", name: "p", uid: "u" },
            { resource: "pods", name: "q", uid: "u" },
          ],
        },
      }),
    }),
  ).toMatchSnapshot("status");
});

test("device classes and resource slices are validated", async ({ api }) => {
  const deviceClass = (spec: object): object => named({ spec });
  expect(
    await refusals(api, `${group}/deviceclasses`, {
      "no expression": deviceClass({ selectors: [{}] }),
      "many selectors": deviceClass({ selectors: Array.from({ length: 33 }, () => ({ cel: { expression: "true" } })) }),
      configuration: deviceClass({ config: [{}, { opaque: { driver: "", parameters: {} } }] }),
      "extended resource": deviceClass({ extendedResourceName: "cpu" }),
    }),
  ).toMatchSnapshot("classes");
  const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
  const slice = (spec: object): object => named({ spec: { driver: "d", pool, nodeName: "n", ...spec } });
  const device = (fields: object): object => slice({ devices: [{ name: "x", ...fields }] });
  expect(
    await refusals(api, `${group}/resourceslices`, {
      "no driver": slice({ driver: "" }),
      driver: slice({ driver: `A${"a".repeat(63)}_` }),
      pool: slice({ pool: { name: "", generation: -1, resourceSliceCount: 0 } }),
      "pool name": slice({ pool: { ...pool, name: "a//B_" } }),
      "no selection": slice({ nodeName: undefined }),
      "two selections": slice({ allNodes: true }),
      "empty selections": slice({ nodeName: "", allNodes: false, perDeviceNodeSelection: false }),
      "node name": slice({ nodeName: "A_" }),
      "device name": slice({ devices: [{ name: "A_" }] }),
      "device twice": slice({ devices: [{ name: "x" }, { name: "x" }] }),
      "many devices": slice({ devices: Array.from({ length: 129 }, (_, index) => ({ name: `x${index}` })) }),
      "attribute without a value": device({ attributes: { a: {} } }),
      "attribute name": device({ attributes: { "A_/1a": { string: "s" } } }),
      capacity: device({ capacity: { "a-b": { value: "1" } } }),
      "counters and devices": slice({ devices: [{ name: "x" }], sharedCounters: [{ name: "c", counters: { k: { value: "1" } } }] }),
      counters: slice({
        sharedCounters: [
          { name: "", counters: {} },
          { name: "A_", counters: { B_: { value: "1" } } },
        ],
      }),
      "effects of taints": device({
        taints: [
          { key: "a", effect: "" },
          { key: "a", effect: "Later" },
        ],
      }),
      taints: device({
        taints: [
          { key: "", effect: "None" },
          { key: "a", value: "b c", effect: "None" },
        ],
      }),
      valid: device({ attributes: { a: { string: "s" } }, capacity: { b: { value: "1" } } }),
    }),
  ).toMatchSnapshot("slices");
});
