import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { leakCheck } from "./leak-check.ts";

test("nothing opened, nothing to say", async () => {
  const check = leakCheck();

  await expect(check[Symbol.asyncDispose]()).resolves.toBeUndefined();
});

test("what was opened and closed is no leak", async () => {
  const check = leakCheck();
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const timer = setTimeout(() => undefined, 60_000);

  clearTimeout(timer);
  server.close();

  await expect(check[Symbol.asyncDispose]()).resolves.toBeUndefined();
});

test("what is still open is named", async () => {
  const check = leakCheck({ closingMs: 100 });
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  // More than the test runner itself may have ended meanwhile.
  const timers = Array.from({ length: 10 }, () => setTimeout(() => undefined, 60_000));

  const ending = check[Symbol.asyncDispose]();

  await expect(ending).rejects.toThrow(/still open at the end: .*1 TCPServerWrap/);
  await expect(ending).rejects.toThrow(/Timeout/);
  timers.forEach(clearTimeout);
  server.close();
});
