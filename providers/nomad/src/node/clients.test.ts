import { expect, test } from "vitest";
import type { NomadNode } from "../api/types.ts";
import { readFixture } from "../test-support/fixtures.ts";
import { configWith } from "../test-support/pods.ts";
import { describeNode, usableClients } from "./clients.ts";

const { body: recorded } = await readFixture<NomadNode[]>("15-nodes-resources");
const [client] = recorded as [NomadNode];

/** Architectures of clients by their IDs. */
const architectures = (byId: Readonly<Record<string, string>>): { of(node: { readonly ID: string }): string | undefined } => ({
  of: ({ ID }) => byId[ID],
});

test("the node has the architecture of most of its clients, and says which others there are", () => {
  const clients = ["a", "b", "c", "d"].map((ID) => ({ ...client, ID }));
  const mixed = describeNode(clients, configWith(), architectures({ a: "amd64", b: "arm64", c: "arm64" }));
  const alike = describeNode(clients, configWith(), architectures({ a: "arm64", b: "arm64" }));

  expect([mixed.architecture, mixed.annotations?.["nomad.hashicorp.com/architectures"]]).toEqual(["arm64", "arm64=2,amd64=1"]);
  expect([alike.architecture, alike.annotations?.["nomad.hashicorp.com/architectures"]]).toEqual(["arm64", undefined]);
  expect(describeNode([], configWith(), architectures({})).architecture).toBeUndefined();
});

test("the node is the sum of what its clients have, in Kubernetes' quantities", () => {
  const { capacity, containerRuntimeVersion, annotations } = describeNode(
    [client, { ...client, ID: "other" }],
    configWith(),
    architectures({}),
  );

  expect(capacity).toEqual({ cpu: "4", memory: "48210Mi", "ephemeral-storage": "516038Mi", pods: "1000" });
  expect(containerRuntimeVersion).toBe("nomad://2.0.6-dev");
  expect(annotations?.["nomad.hashicorp.com/largest-client"]).toBe("cpu=2000m,memory=24105Mi");
});

test("what the configuration says goes over what the clients have, and a fraction takes its part", () => {
  expect(describeNode(recorded, configWith({ capacity: { cpu: 7, fraction: 0.5 } }), architectures({})).capacity).toMatchObject({
    cpu: "7",
    memory: "12052Mi",
  });
});

test.each([
  ["one that is down", { Status: "down" }, {}],
  ["one that is not eligible", { SchedulingEligibility: "ineligible" }, {}],
  ["one that is drained", { Drain: true }, {}],
  ["one without the driver", { Drivers: {} }, {}],
  ["one of another datacenter", {}, { datacenters: ["eu-*"] }],
  ["one of another pool", { NodePool: "gpu" }, {}],
] as const)("%s is not counted", (_name, fields, config) => {
  expect(usableClients([{ ...client, ...fields }], configWith(config))).toEqual([]);
});

test("datacenters may have stars", () => {
  expect(usableClients(recorded, configWith({ datacenters: ["dc*"] }))).toHaveLength(1);
});
