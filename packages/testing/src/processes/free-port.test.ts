import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { freePort } from "./free-port.ts";

test("a free port can be used by a server and is outside the ephemeral range", async () => {
  const port = await freePort();
  await using server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");

  expect(port).toBeGreaterThan(1024);
  expect(port).toBeLessThan(32_768);
});
