import { afterAll, expect, test } from "vitest";
import type { ApiServer } from "./start-api-server.ts";
import { clusterTest } from "./vitest.ts";

const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
const inProcess = clusterTest({ listen: false, controllers: false });
const shared = clusterTest({ listen: false, controllers: false, objects: [namespace], scope: "file" });
const seen: ApiServer[] = [];
const seenShared: ApiServer[] = [];

async function statusOf(server: ApiServer, path: string): Promise<number> {
  const request = { method: "GET", path, pool: "short", signal: new AbortController().signal } as const;
  return (await server.transport().request(request)).status;
}

afterAll(() => {
  expect(new Set(seen).size).toBe(2);
  expect(new Set(seenShared).size).toBe(1);
});

for (const name of ["a test", "another test"]) {
  inProcess(`${name} has a server of its own`, async ({ cluster }) => {
    seen.push(cluster);

    expect(await statusOf(cluster, "/api/v1/namespaces/default")).toBe(200);
    expect(await statusOf(cluster, "/api/v1/namespaces/shop")).toBe(404);
  });

  shared(`${name} shares the file's, which has its objects`, async ({ cluster }) => {
    seenShared.push(cluster);

    expect(await statusOf(cluster, "/api/v1/namespaces/shop")).toBe(200);
  });
}

test("a server is closed after its test", async () => {
  const [first] = seen;
  const path = "/api/v1/namespaces?watch=true";
  const signal = new AbortController().signal;
  const rule = first?.faults.inject({}, { kind: "drop" });

  const answer = await first
    ?.transport()
    .request({ method: "GET", path, pool: "long", signal })
    .catch((error: unknown) => error);

  expect(String(answer)).toContain("the API server was closed");
  rule?.[Symbol.dispose]();
});

clusterTest()("the default serves HTTPS", ({ cluster }) => {
  expect(cluster.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
});
