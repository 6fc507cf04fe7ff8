import { expect, test } from "vitest";
import { StreamSlots } from "./stream-slots.ts";

test("as many streams as there are slots may be open, and a freed slot is free once", () => {
  const slots = new StreamSlots(2);
  const first = slots.take();
  slots.take();

  expect(() => slots.take()).toThrow("too many streams are open, at most 2");
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  slots.take();

  expect(() => slots.take()).toThrow("too many streams");
});

test("who finds no slot is told to come again", () => {
  expect(() => new StreamSlots(0).take()).toThrow(expect.objectContaining({ status: 503, headers: { "retry-after": "5" } }));
});
