import { expect, test } from "vitest";
import { silentLogger } from "../telemetry/logger.ts";
import { ServerHistory } from "./server-history.ts";

/** Number of times that a listener is called for these versions. */
function callsFor(...versions: readonly (string | undefined)[]): number {
  const history = new ServerHistory({ server: "the API server", logger: silentLogger });
  let calls = 0;
  using _listening = history.onRestored(() => calls++);
  for (const version of versions) history.note(version);
  return calls;
}

test.for([
  ["are the first", ["9"], 0],
  ["rise or stay", ["9", "10", "10", "100"], 0],
  ["fall", ["10", "9"], 1],
  ["fall, rise and fall again", ["10", "9", "20", "19"], 2],
  ["are no numbers", ["10", "a9", undefined, "", "0", "11"], 0],
  ["fall after one that is none", ["10", undefined, "9"], 1],
] as const)("versions that %s", ([, versions, calls]) => {
  expect(callsFor(...versions)).toBe(calls);
});

test("a listener that was disposed of is not called", () => {
  const history = new ServerHistory({ server: "the API server", logger: silentLogger });
  let calls = 0;
  const listening = history.onRestored(() => calls++);
  history.note("10");

  listening[Symbol.dispose]();
  history.note("9");

  expect(calls).toBe(0);
});

test("versions are compared within their series, and a fall is told once for all of them", () => {
  const history = new ServerHistory({ server: "the API server", logger: silentLogger });
  let calls = 0;
  using _listening = history.onRestored(() => calls++);
  history.note("10", "a");
  history.note("8", "b");
  expect(calls).toBe(0);

  history.note("5", "a");
  history.note("4", "b");
  expect(calls).toBe(1);
  history.forget("b");
  history.note("3", "b");

  expect(calls).toBe(1);
});
