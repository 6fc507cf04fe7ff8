import { expect, test } from "vitest";
import { inspected, listed, type FakeContainer } from "../test-support/engine-containers.ts";
import { startFakeEngine, type FakeEngine } from "../test-support/fake-engine-server.ts";
import { containerSpec, sandboxSpec } from "../test-support/specs.ts";
import { EngineInventory } from "./engine-inventory.ts";

const { signal: never } = new AbortController();
const { labels } = containerSpec();

/** An engine that holds these, which may change. */
async function engineWith(held: FakeContainer[], gone: readonly string[] = []): Promise<FakeEngine> {
  return startFakeEngine({
    answers: {
      "GET /containers/json": () => ({ status: 200, json: held.map(listed) }),
      ...Object.fromEntries(
        ["c1", "c2"].map((id) => [
          `GET /containers/${id}/json`,
          () => {
            const found = held.find((container) => container.id === id && !gone.includes(id));
            return found ? { status: 200, json: inspected(found) } : { status: 404, json: { message: `No such container: ${id}` } };
          },
        ]),
      ),
    },
  });
}

function inspections({ requests }: FakeEngine): number {
  return requests.filter(({ path }) => /^\/containers\/c\d\/json$/.test(path)).length;
}

test("each container is asked about once while it runs, and once when it has ended", async () => {
  const held: FakeContainer[] = [
    { id: "s1", labels: sandboxSpec().labels },
    { id: "c1", labels, startedAt: "2026-01-01T00:00:05Z" },
  ];
  await using fake = await engineWith(held);
  const inventory = new EngineInventory(fake.engine);

  for (let times = 0; times < 3; times++) {
    const { sandboxes, containers } = await inventory.list({ a: "b", c: "d" }, never);
    expect([sandboxes.map(({ id }) => id), containers.map(({ state }) => state.kind)]).toEqual([["s1"], ["running"]]);
  }
  expect(inspections(fake)).toBe(1);
  expect(fake.requests.find(({ path }) => path === "/containers/json")?.query.get("filters")).toBe('{"label":["a=b","c=d"]}');

  held[1] = { id: "c1", labels, status: "exited", exitCode: 3, finishedAt: "2026-01-01T00:00:09Z" };
  for (let times = 0; times < 3; times++) expect((await inventory.list({}, never)).containers).toMatchObject([{ state: { exitCode: 3 } }]);
  expect(inspections(fake)).toBe(2);
  inventory.forget("c1");
  await inventory.list({}, never);
  expect(inspections(fake)).toBe(3);
  inventory.forgetAll();
  await inventory.list({}, never);
  expect(inspections(fake)).toBe(4);
});

test("a container that is removed between two answers is none, and any other failure fails the whole list", async () => {
  await using fake = await engineWith(
    [
      { id: "c1", labels },
      { id: "c2", labels },
    ],
    ["c2"],
  );
  const inventory = new EngineInventory(fake.engine);

  expect((await inventory.list({}, never)).containers.map(({ id }) => id)).toEqual(["c1"]);

  await using broken = await startFakeEngine({
    answers: {
      "GET /containers/json": () => ({ status: 200, json: [listed({ id: "c1", labels })] }),
      "GET /containers/c1/json": () => ({ status: 500, json: { message: "out of order" } }),
    },
  });
  await expect(new EngineInventory(broken.engine).list({}, never)).rejects.toThrow("out of order");
});

test("sandboxes of an engine whose list has no networks, as podman's, are asked about one by one", async () => {
  const held = [{ id: "c1", labels: sandboxSpec().labels }];
  const bare = held.map((sandbox) => ({ ...listed(sandbox), HostConfig: undefined, NetworkSettings: undefined }));
  await using fake = await startFakeEngine({
    answers: {
      "GET /containers/json": () => ({ status: 200, json: [...bare, { ...bare[0], Id: "c2" }] }),
      "GET /containers/c1/json": () => ({ status: 200, json: inspected({ id: "c1", labels: sandboxSpec().labels, ip: "10.88.0.4" }) }),
      "GET /containers/c2/json": () => ({ status: 404, json: { message: "no such container" } }),
    },
  });

  expect((await new EngineInventory(fake.engine).list({}, never)).sandboxes).toMatchObject([{ id: "c1", ips: ["10.88.0.4"] }]);
});
