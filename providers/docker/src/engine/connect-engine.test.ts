import { systemClock } from "@virtual-kubelet/clock";
import { codeOf } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { startFakeEngine, type FakeAnswer } from "../test-support/fake-engine-server.ts";
import { agreedVersion, isAtLeast } from "./api-version.ts";
import { connectEngine } from "./connect-engine.ts";
import { engineMessageOf, engineStatusOf } from "./engine-error.ts";

const { signal: never } = new AbortController();

test.for<[offered: string, agreed: string | undefined]>([
  ["1.41", "1.41"],
  ["1.44", "1.44"],
  ["1.99", "1.51"],
  ["2.0", "1.51"],
  ["1.40", undefined],
  ["1.9", undefined],
])("of an engine that offers %s, %s is used", ([offered, agreed]) => {
  expect(agreedVersion(offered)).toBe(agreed);
});

test("versions are numbers, not text", () => {
  expect(isAtLeast("1.100", "1.41")).toBe(true);
  expect(isAtLeast("1.5", "1.41")).toBe(false);
});

test("an engine that is too old is refused with what is expected", async () => {
  await using fake = await startFakeEngine({ answers: {}, version: () => "1.39" });

  await expect(fake.engine.apiVersion(never)).rejects.toThrow(/offers 1\.39, expected 1\.41 or later/);
});

test("an engine that was exchanged for another version is asked in the new one", async () => {
  let version = "1.41";
  const answer = (): FakeAnswer =>
    version === "1.41"
      ? { status: 200, json: { from: "old" } }
      : { status: 400, json: { message: "client version 1.41 is too old. Minimum supported API version is 1.44" } };
  let answers = 0;
  await using fake = await startFakeEngine({
    version: () => version,
    answers: { "GET /info": ({ url }) => (answers++ >= 1 && url.startsWith("/v1.44") ? { status: 200, json: { from: "new" } } : answer()) },
  });

  expect(await fake.engine.json({ method: "GET", path: "/info" }, never)).toEqual({ from: "old" });
  version = "1.44";
  expect(await fake.engine.json({ method: "GET", path: "/info" }, never)).toEqual({ from: "new" });
  expect(await fake.engine.apiVersion(never)).toBe("1.44");
});

test.for<[status: number, code: string | undefined]>([
  [400, "VK_INVALID_INPUT"],
  [401, "VK_UNAUTHORIZED"],
  [403, "VK_FORBIDDEN"],
  [404, "VK_NOT_FOUND"],
  [409, "VK_CONFLICT"],
  [429, "VK_QUOTA_EXCEEDED"],
  [503, "VK_UNAVAILABLE"],
  [500, undefined],
])("status %i has the code %s, the engine's words and what it was for", async ([status, code]) => {
  await using fake = await startFakeEngine({ answers: { "GET /x": () => ({ status, json: { message: "said so" } }) } });

  for (const ask of [fake.engine.json, fake.engine.stream]) {
    const error: unknown = await ask
      .call(fake.engine, { method: "GET", path: "/x", what: "look at x" }, never)
      .catch((thrown: unknown) => thrown);
    expect([codeOf(error), engineStatusOf(error), engineMessageOf(error)]).toEqual([code, status, "said so"]);
    expect(String(error)).toContain("look at x: said so");
  }
});

test("an answer that does not come, comes in part, or is not wanted any more ends the call", async () => {
  await using fake = await startFakeEngine({
    answers: {
      "GET /silent": () => () => {},
      "GET /broken": () => (response) => {
        response.writeHead(200, { "content-length": 100 }).write("{");
        setImmediate(() => response.destroy());
      },
    },
  });
  const silent = { method: "GET", path: "/silent", what: "wait" } as const;

  await expect(fake.engine.json({ ...silent, timeoutMs: 50 }, never)).rejects.toThrow(
    "wait: the Docker engine gave no answer within 0.05 s",
  );
  await expect(fake.engine.json({ method: "GET", path: "/broken" }, never)).rejects.toSatisfy(
    (error) => codeOf(error) === "VK_UNAVAILABLE",
  );
  const abort = new AbortController();
  const waiting = fake.engine.json(silent, abort.signal);
  setImmediate(() => abort.abort(new Error("enough")));
  await expect(waiting).rejects.toThrow("enough");
});

test("a socket that is not there says so, and what to look at", async () => {
  using engine = connectEngine({ endpoint: { kind: "unix", socketPath: "/no/such.sock" }, clock: systemClock, logger: silentLogger });

  const error: unknown = await engine.json({ method: "GET", path: "/info" }, never).catch((thrown: unknown) => thrown);
  expect(codeOf(error)).toBe("VK_UNAVAILABLE");
  expect(String(error)).toMatch(/unix:\/\/\/no\/such\.sock does not answer: .*ENOENT.*is it running/);
});
