import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { leakCheck } from "./leak-check.ts";

test("the check passes when nothing was opened", async () => {
  const check = leakCheck();

  await expect(check[Symbol.asyncDispose]()).resolves.toBeUndefined();
});

test("resources that were opened and closed are no leak", async () => {
  const check = leakCheck();
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const timer = setTimeout(() => undefined, 60_000);

  clearTimeout(timer);
  server.close();

  await expect(check[Symbol.asyncDispose]()).resolves.toBeUndefined();
});

test("open resources are named in the error", async () => {
  const check = leakCheck({ closingMs: 100 });
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  // More timers than the test runner may have ended in the meantime.
  const timers = Array.from({ length: 10 }, () => setTimeout(() => undefined, 60_000));

  const ending = check[Symbol.asyncDispose]();

  await expect(ending).rejects.toThrow(/still open at the end: .*1 TCPServerWrap/);
  await expect(ending).rejects.toThrow(/Timeout/);
  timers.forEach(clearTimeout);
  server.close();
});
