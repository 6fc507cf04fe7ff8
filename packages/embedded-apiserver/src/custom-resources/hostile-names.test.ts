import { expect, test } from "vitest";
import { startTestServer } from "../test-support/test-server.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

function definition(plural: string, kind: string, schema: object = { type: "object" }): object {
  return {
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural, kind },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
}

test("a definition gets its names when the one that had them is deleted", async () => {
  await using server = await startTestServer();
  await server.request("POST", definitions, definition("firsts", "Thing"));
  await server.request("POST", definitions, definition("seconds", "Thing"));
  expect((await server.request("GET", "/apis/example.com/v1/seconds")).status).toBe(404);

  await server.request("DELETE", `${definitions}/firsts.example.com`);

  await expect.poll(async () => (await server.request("GET", "/apis/example.com/v1/seconds")).status).toBe(200);
});

test("a property __proto__ has its default", async () => {
  await using server = await startTestServer();
  const properties = JSON.parse('{"__proto__":{"type":"string","default":"a"},"constructor":{"type":"string","default":"b"}}') as object;
  await server.request(
    "POST",
    definitions,
    definition("things", "Thing", { type: "object", properties: { spec: { type: "object", properties } } }),
  );
  const body = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "a" }, spec: {} };

  const { spec } = (await server.request("POST", "/apis/example.com/v1/things", body)).body;

  expect(Object.entries(spec)).toEqual([
    ["__proto__", "a"],
    ["constructor", "b"],
  ]);
});
