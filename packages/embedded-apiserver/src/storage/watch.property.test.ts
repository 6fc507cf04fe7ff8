import fc from "fast-check";
import { expect, test } from "vitest";
import { patches, startTestServer, type TestServer } from "../test-support/test-server.ts";

const path = "/api/v1/namespaces/default/configmaps";
const selector = "labelSelector=in%3Dyes";

type Step = { readonly kind: "create" | "select" | "unselect" | "touch" | "delete"; readonly name: string };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({ kind: fc.constantFrom("create", "select", "unselect", "touch", "delete"), name: fc.constantFrom("a", "b", "c") }),
  { minLength: 1, maxLength: 30 },
);

async function run(server: TestServer, { kind, name }: Step, value: string): Promise<void> {
  const patch = (change: object): Promise<unknown> => server.request("PATCH", `${path}/${name}`, change, patches.merge);
  switch (kind) {
    case "create":
      await server.request("POST", path, { metadata: { name } });
      return;
    case "select":
      await patch({ metadata: { labels: { in: "yes" } } });
      return;
    case "unselect":
      await patch({ metadata: { labels: { in: null } } });
      return;
    case "touch":
      await patch({ data: { value } });
      return;
    case "delete":
      await server.request("DELETE", `${path}/${name}`);
  }
}

/** Applies the events of a watch to the state that a client had before. */
async function follow(
  server: TestServer,
  version: string,
  held: ReadonlyMap<string, string>,
): Promise<{ version: string; held: Map<string, string> }> {
  const world = new Map(held);
  let latest = version;
  const watch = await server.watch(`${path}?watch=1&resourceVersion=${version}&timeoutSeconds=1&${selector}`);
  await server.clock.advance(1_000);
  for (let event = await watch.next(); event !== undefined; event = await watch.next()) {
    const { name, resourceVersion } = event.object.metadata;
    expect(event.type).toBe(event.type === "DELETED" ? "DELETED" : world.has(name) ? "MODIFIED" : "ADDED");
    expect(Number(resourceVersion)).toBeGreaterThan(Number(latest));
    if (event.type === "DELETED") world.delete(name);
    else world.set(name, resourceVersion);
    latest = resourceVersion;
  }
  return { version: latest, held: world };
}

test("a client that follows a selective watch with interruptions ends up with the contents of the list", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 4 }), async (bursts) => {
      await using server = await startTestServer();
      let { version, held } = {
        version: (await server.request("GET", `${path}?${selector}`)).body.metadata.resourceVersion as string,
        held: new Map<string, string>(),
      };
      for (const [burst, list] of bursts.entries()) {
        for (const [index, step] of list.entries()) await run(server, step, `${burst}.${index}`);
        ({ version, held } = await follow(server, version, held));
      }

      const { items } = (await server.request("GET", `${path}?${selector}`)).body as {
        items: { metadata: { name: string; resourceVersion: string } }[];
      };
      expect(new Map([...held].toSorted())).toEqual(new Map(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion])));
    }),
    { numRuns: 25 },
  );
});
