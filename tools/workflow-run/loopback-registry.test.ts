import { expect, test } from "vitest";
import { startLoopbackRegistry } from "./loopback-registry.ts";

const request = {
  name: "@scope/name",
  "dist-tags": { latest: "1.0.0" },
  versions: { "1.0.0": { version: "1.0.0" } },
  _attachments: { "name-1.0.0.tgz": { data: Buffer.from("tarball").toString("base64") } },
};

/** What the registry answers to a request to publish. */
async function publish(url: string, token: string): Promise<number> {
  const { status } = await fetch(`${url}@scope%2Fname`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(request),
  });
  return status;
}

test("a registry knows a package once it has been published", async () => {
  await using registry = await startLoopbackRegistry("token");

  expect((await fetch(`${registry.url}@scope%2Fname`)).status).toBe(404);
  expect(await publish(registry.url, "token")).toBe(201);

  expect(registry.published).toEqual([{ name: "@scope/name", version: "1.0.0", tag: "latest", size: 7 }]);
  expect(await (await fetch(`${registry.url}@scope%2Fname`)).json()).toMatchObject({
    "dist-tags": { latest: "1.0.0" },
    versions: { "1.0.0": { name: "@scope/name" } },
  });
});

test("a registry takes a version once", async () => {
  await using registry = await startLoopbackRegistry("token");
  await publish(registry.url, "token");

  expect(await publish(registry.url, "token")).toBe(403);
  expect(registry.published).toHaveLength(1);
});

test("a registry takes nothing without its token", async () => {
  await using registry = await startLoopbackRegistry("token");

  expect(await publish(registry.url, "other")).toBe(401);
  expect(registry.published).toEqual([]);
});
