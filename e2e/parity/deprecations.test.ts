import { expect } from "vitest";
import { establishDefinition } from "./support/definitions.ts";
import { test } from "./support/parity-test.ts";

const endpointsWarning = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"';

test("every request for Endpoints has a warning, except those that no verb handles", async ({ api, core }) => {
  const path = `${core}/endpoints`;
  const warned = [
    await api.get(path),
    await api.get(`${path}?watch=true&timeoutSeconds=1`),
    await api.get(`${path}/none`),
    await api.post(path, { metadata: { name: "a" } }),
    await api.post(path, { metadata: { name: "_" } }),
    await api.put(`${path}/a`, { metadata: { name: "a" } }),
    await api.patch("merge", `${path}/a`, { metadata: { labels: { a: "b" } } }),
    await api.delete(`${path}/a`),
    await api.delete(path),
  ];
  const others = [await api.get(`${path}/a/status`), await api.patch("merge", path, {}), await api.get(`${core}/services`)];

  expect(warned.map(({ status }) => status)).toEqual([200, 200, 404, 201, 422, 200, 200, 200, 200]);
  for (const { headers } of warned) expect(headers["warning"]).toBe(endpointsWarning);
  for (const { headers } of others) expect(headers["warning"]).toBeUndefined();
});

test("requests for a deprecated version of a custom resource have a warning", async ({ api, namespace }) => {
  await using things = await establishDefinition(api, { namespace, schema: { type: "object" }, deprecated: true });
  const { status, headers } = await api.post(things.path, { apiVersion: things.apiVersion, kind: things.kind, metadata: { name: "a" } });

  expect([status, headers["warning"]]).toEqual([201, `299 - "${things.apiVersion} Thing is deprecated"`]);
});

test("the definition may word the warning", async ({ api, namespace }) => {
  const version = { deprecated: true, deprecationWarning: "things are going away" };
  await using things = await establishDefinition(api, { namespace, schema: { type: "object" }, ...version });

  expect((await api.get(`${things.path}/none`)).headers["warning"]).toBe('299 - "things are going away"');
});
