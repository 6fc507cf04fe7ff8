import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { OpenRequests } from "./open-requests.ts";

test("the number of requests of a connection is the number added minus the number ended", () => {
  const requests = new OpenRequests();
  const socket = new PassThrough();
  expect(requests.count(socket)).toBe(0);

  const first = requests.add(socket, () => {});
  requests.add(socket, () => {});
  first[Symbol.dispose]();
  first[Symbol.dispose]();

  expect(requests.count(socket)).toBe(1);
  expect(requests.count(new PassThrough())).toBe(0);
});

test("open requests are notified when their connection closes, with one listener for all of them", async () => {
  const requests = new OpenRequests();
  const socket = new PassThrough();
  const listeners = socket.listenerCount("close");
  const told: string[] = [];
  const over = requests.add(socket, () => told.push("over"));
  for (const name of ["first", "second"]) requests.add(socket, () => told.push(name));
  over[Symbol.dispose]();
  expect(socket.listenerCount("close")).toBe(listeners + 1);

  socket.destroy();
  await new Promise((closed) => socket.once("close", closed));

  expect(told).toEqual(["first", "second"]);
});
