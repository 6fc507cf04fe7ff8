import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { startSmallServer } from "./small-server.ts";

test("of the requests that a client pipelines only the first is answered", async () => {
  let answers = 0;
  await using server = await startSmallServer({ host: "127.0.0.1", port: 0 }, ({ path }) => {
    answers++;
    return { status: 200, body: `${path}\n` };
  });
  const socket = connect(server.port, "127.0.0.1");
  await once(socket, "connect");
  const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  let text = "";
  socket.setEncoding("utf8").on("data", (data: string) => (text += data));

  socket.write(request("/first") + request("/other").repeat(1_000));
  await once(socket, "close");

  expect(answers).toBe(1);
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\/first\n/);
  expect(text).not.toContain("/other");
});
