import { expect, test } from "vitest";
import { patches, startTestServer, type TestServer } from "../test-support/test-server.ts";

const widgets = (version: string): string => `/apis/example.com/${version}/namespaces/default/widgets`;
const widget = (version: string): object => ({ apiVersion: `example.com/${version}`, kind: "Widget", metadata: { name: "w" } });
const apply = "application/apply-patch+yaml";

async function serveWidgets(server: TestServer): Promise<void> {
  const version = (name: string, phase: object): object => ({
    name,
    served: true,
    storage: name === "v1",
    subresources: { status: {} },
    schema: { openAPIV3Schema: { type: "object", properties: { status: { type: "object", ...phase } } } },
  });
  await server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [
        version("v1", { properties: { phase: { type: "string" } }, default: { phase: "Pending" } }),
        version("v2", { properties: { phase: { type: "string" } }, default: { phase: "Unknown" } }),
      ],
    },
  });
}

test.each(["v1", "v2"])("a dry run of a creation as %s shows the status that the stored version has by default", async (version) => {
  await using server = await startTestServer();
  await serveWidgets(server);
  const dry = "?dryRun=All&fieldManager=x";

  const created = await server.request("POST", `${widgets(version)}${dry}`, { ...widget(version), status: { phase: "Ready" } });
  const applied = await server.request("PATCH", `${widgets(version)}/w${dry}`, widget(version), apply);

  expect([created.status, created.body.apiVersion, created.body.status]).toEqual([201, `example.com/${version}`, { phase: "Pending" }]);
  expect([applied.status, applied.body.apiVersion, applied.body.status]).toEqual([201, `example.com/${version}`, { phase: "Pending" }]);
  const stored = await server.request("POST", widgets(version), widget(version));
  expect(stored.body.status).toEqual({ phase: "Pending" });
});

test("a dry run of an update shows the status that the update would leave", async () => {
  await using server = await startTestServer();
  await serveWidgets(server);
  await server.request("POST", widgets("v1"), widget("v1"));

  const status = async (path: string, change: object): Promise<unknown> =>
    (await server.request("PATCH", `${widgets("v2")}/w${path}?dryRun=All`, change, patches.merge)).body.status;

  expect(await status("", { metadata: { labels: { a: "b" } }, status: { phase: "Ready" } })).toEqual({ phase: "Pending" });
  expect(await status("/status", { status: { phase: "Ready" } })).toEqual({ phase: "Ready" });
});
