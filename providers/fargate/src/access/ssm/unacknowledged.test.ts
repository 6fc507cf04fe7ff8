import { expect, test } from "vitest";
import { Unacknowledged } from "./unacknowledged.ts";

const frame = (text: string): Uint8Array => Buffer.from(text);

test("the oldest message is sent again when its time is over, and not after it was acknowledged", () => {
  const sent = new Unacknowledged();
  sent.add(0, frame("a"), 0);
  sent.add(1, frame("b"), 0);

  expect(sent.due(199)).toBeUndefined();
  expect(sent.due(200)).toEqual(frame("a"));
  expect(sent.due(300)).toBeUndefined();
  sent.acknowledge(0, 350);
  expect(sent.due(400)).toEqual(frame("b"));
  sent.acknowledge(1, 450);
  expect(sent.due(10_000)).toBeUndefined();
  expect(sent.size).toBe(0);
});

test("the time follows the round trip, up to a second", () => {
  const sent = new Unacknowledged();
  for (let sequence = 0; sequence < 20; sequence++) {
    sent.add(sequence, frame("a"), sequence * 1_000);
    sent.acknowledge(sequence, sequence * 1_000 + 600);
  }
  expect(sent.timeoutMs).toBeGreaterThan(600);
  expect(sent.timeoutMs).toBeLessThan(700);

  sent.add(100, frame("slow"), 0);
  sent.acknowledge(100, 30_000);
  expect(sent.timeoutMs).toBe(1_000);
});

test("a message that was sent twice says nothing of the round trip", () => {
  const sent = new Unacknowledged();
  sent.add(0, frame("a"), 0);
  sent.due(200);
  sent.acknowledge(0, 900);

  expect(sent.timeoutMs).toBe(200);
});

test("after 3,000 attempts the other side counts as gone", () => {
  const sent = new Unacknowledged();
  sent.add(0, frame("a"), 0);
  const answers = Array.from({ length: 3_000 }, (_, index) => sent.due((index + 1) * 1_000));

  expect(answers.slice(0, -1).every((answer) => answer instanceof Uint8Array)).toBe(true);
  expect(answers.at(-1)).toBe("gone");
});
