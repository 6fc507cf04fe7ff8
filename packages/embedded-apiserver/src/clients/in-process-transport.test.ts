import { expect, test } from "vitest";
import { podsPath, startTestServer } from "../test-support/test-server.ts";

test("an aborted request throws the signal's reason", async () => {
  await using server = await startTestServer();
  const reason = new Error("enough");

  await expect(
    server.server.transport().request({ method: "GET", path: podsPath, pool: "short", signal: AbortSignal.abort(reason) }),
  ).rejects.toBe(reason);
});

test("aborting while a watch is read throws the signal's reason", async () => {
  await using server = await startTestServer();
  const abort = new AbortController();
  const reason = new Error("enough");
  const { body } = await server.server
    .transport()
    .request({ method: "GET", path: `${podsPath}?watch=1`, pool: "long", signal: abort.signal });
  const reading = body[Symbol.asyncIterator]().next();

  abort.abort(reason);

  await expect(reading).rejects.toBe(reason);
  expect(server.clock.pending).toBe(0);
});

test("leaving a watch early ends it", async () => {
  await using server = await startTestServer();
  await server.request("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "c" } });
  const { body } = await server.server
    .transport()
    .request({ method: "GET", path: "/api/v1/configmaps?watch=1", pool: "long", signal: new AbortController().signal });

  for await (const chunk of body) {
    expect(Buffer.from(chunk).toString()).toContain('"ADDED"');
    break;
  }

  expect(server.clock.pending).toBe(0);
});
