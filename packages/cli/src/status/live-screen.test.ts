import { expect, test } from "vitest";
import type { Terminal } from "../context.ts";
import { TextOutput } from "../test-support/test-context.ts";
import { LiveScreen } from "./live-screen.ts";

class FakeTerminal implements Terminal {
  columns = 20;
  rows = 3;
  readonly resized = new Set<() => void>();
  readonly keys = new Set<(key: string) => void>();

  onResize(listener: () => void): Disposable {
    return listening(this.resized, listener);
  }

  onKey(listener: (key: string) => void): Disposable {
    return listening(this.keys, listener);
  }
}

function listening<T>(all: Set<T>, listener: T): Disposable {
  all.add(listener);
  return { [Symbol.dispose]: () => void all.delete(listener) };
}

test("the alternate screen is drawn on, and left as it was found", () => {
  const output = new TextOutput(true);
  const terminal = new FakeTerminal();
  const screen = new LiveScreen(output, terminal, () => {});

  screen.draw(["one", "two", "three", "four"]);
  screen[Symbol.dispose]();

  expect(output.text).toBe(
    "\u001b[?1049h\u001b[?25l\u001b[?7l" + "\u001b[H\u001b[Jone\r\ntwo\r\nthree" + "\u001b[?7h\u001b[?25h\u001b[?1049l",
  );
  expect([terminal.keys.size, terminal.resized.size]).toEqual([0, 0]);
});

test("the last character of a line that fills the screen is not erased", () => {
  const output = new TextOutput(true);
  using screen = new LiveScreen(output, new FakeTerminal(), () => {});

  screen.draw(["x".repeat(20), "y".repeat(20)]);

  // oxlint-disable-next-line eslint/no-control-regex -- what a terminal reads
  expect(output.text).not.toMatch(/[xy]\u001b\[[JK]/);
});

test.each(["q", "Q", "\u0003", "\u0004"])("the key %j ends it", (key) => {
  const terminal = new FakeTerminal();
  using screen = new LiveScreen(new TextOutput(true), terminal, () => {});

  for (const listener of terminal.keys) listener("x");
  expect(screen.ended.aborted).toBe(false);
  for (const listener of terminal.keys) listener(key);

  expect(screen.ended.aborted).toBe(true);
});

test("a new size is told", () => {
  const terminal = new FakeTerminal();
  let resizes = 0;
  using _screen = new LiveScreen(new TextOutput(true), terminal, () => resizes++);

  for (const listener of terminal.resized) listener();

  expect(resizes).toBe(1);
});
