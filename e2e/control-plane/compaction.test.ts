import { VirtualClock } from "@virtual-kubelet/clock";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { startControlPlane } from "@virtual-kubelet/testing";
import { expect, test } from "vitest";
import { apiRequest } from "../../packages/testing/src/control-plane/api-request.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every kind are looked into
type Send = (method: "GET" | "POST" | "DELETE", path: string, body?: object) => Promise<any>;

const path = "/api/v1/namespaces/default/configmaps";

/** Answers to lists of a version, before and after it is compacted. @param expire - lets versions be compacted */
async function answersOf(send: Send, expire: (isExpired: () => Promise<boolean>) => Promise<void>): Promise<unknown[]> {
  const labels = { test: "compaction" };
  for (const name of ["a", "b", "c"]) await send("POST", path, { metadata: { name, labels } });
  const list = `${path}?labelSelector=test=compaction`;
  const { metadata } = await send("GET", `${list}&limit=1`);
  await send("DELETE", `${path}/b`);
  const next = `${list}&limit=1&continue=${metadata.continue}`;
  const lists = {
    next,
    exact: `${list}&resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`,
    "exact with a limit": `${list}&resourceVersion=${metadata.resourceVersion}&limit=1`,
    "not older": `${list}&resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=NotOlderThan`,
  };
  const answers = async (): Promise<unknown> => {
    const all: unknown[] = [];
    for (const [name, query] of Object.entries(lists)) all.push([name, comparable(await send("GET", query))]);
    return all;
  };
  const before = await answers();
  await expire(async () => (await send("GET", next)).code === 410);
  const refused = await send("GET", next);
  const last = await send("GET", `${list}&limit=1&continue=${refused.metadata.continue}`);
  return [before, await answers(), comparable(last)];
}

/** Names of a list, or the error without the token. */
// oxlint-disable-next-line typescript/no-explicit-any -- the same
function comparable({ items, metadata, ...rest }: any): unknown {
  if (items === undefined) return [rest, Object.keys(metadata)];
  return [items.map((item: { metadata: { name: string } }) => item.metadata.name), metadata.remainingItemCount, "continue" in metadata];
}

test("lists of a version that is compacted are refused alike on both servers", async () => {
  await using real = await startControlPlane({ components: [], flags: { "kube-apiserver": { "etcd-compaction-interval": "5s" } } });
  const clock = new VirtualClock();
  await using embedded = await startApiServer({ clock, listen: false, controllers: false });
  const transport = embedded.transport();
  const toEmbedded: Send = async (method, url, body) => {
    const answer = await transport.request({
      method,
      path: url,
      pool: "short",
      signal: AbortSignal.timeout(10_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of answer.body) chunks.push(chunk);
    return JSON.parse(Buffer.concat(chunks).toString());
  };
  const toReal: Send = async (method, url, body) => JSON.parse((await apiRequest(real.target, method, url, { body })).body);

  const recorded = await answersOf(toReal, async (isExpired) => {
    // The server's cache learns of a compaction within 15 s.
    await expect.poll(isExpired, { timeout: 60_000, interval: 500 }).toBe(true);
  });

  expect(await answersOf(toEmbedded, async () => await clock.advance(6 * 60_000))).toEqual(recorded);
  expect(JSON.stringify(recorded)).toContain("The resourceVersion for the provided list is too old.");
});
