import { PassThrough, Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { frame } from "../test-support/frames.ts";
import { copyOutput } from "./container-output.ts";

/** Keeps what is written; takes the next piece only when it is let. */
function slowSink(): { readonly sink: Writable; readonly text: () => string; readonly takeOne: () => void } {
  const taken: Buffer[] = [];
  let next: (() => void) | undefined;
  const sink = new Writable({
    highWaterMark: 4,
    write(chunk: Buffer, _encoding, done) {
      taken.push(chunk);
      next = done;
    },
  });
  return { sink, text: () => Buffer.concat(taken).toString(), takeOne: () => next?.() };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await setImmediate();
}

test("both outputs go where they belong, all before it is said to have ended", async () => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];

  await copyOutput(Readable.from([frame(1, "out"), frame(2, "err"), frame(1, "put")]), { stdout, stderr }, { tty: false });

  expect([String(stdout.read()), String(stderr.read())]).toEqual(["output", "err"]);
});

test("a terminal's output comes as it is", async () => {
  const stdout = new PassThrough();

  await copyOutput(Readable.from([Buffer.from("a\r\n"), Buffer.from([1, 0, 0, 0, 0, 0, 0, 9])]), { stdout, stderr: undefined }, { tty: true });

  expect(stdout.read()).toEqual(Buffer.from("a\r\n\u0001\0\0\0\0\0\0\u0009"));
});

test("nobody reads ahead of a slow client", async () => {
  let given = 0;
  const source = Readable.from(
    (function* () {
      for (; given < 100; given++) yield frame(1, "12345678");
    })(),
    { highWaterMark: 1 },
  );
  const { sink, text, takeOne } = slowSink();
  const copying = copyOutput(source, { stdout: sink, stderr: undefined }, { tty: false });
  await settle();

  expect(given).toBeLessThan(10);
  expect(text()).toBe("12345678");

  for (let turn = 0; turn < 200; turn++) {
    takeOne();
    await setImmediate();
  }
  await copying;
  expect(text()).toBe("12345678".repeat(100));
});

test("a client that is gone holds nobody up", async () => {
  const { sink } = slowSink();
  sink.on("error", () => {});
  const copying = copyOutput(Readable.from([frame(1, "12345678"), frame(1, "more")]), { stdout: sink, stderr: undefined }, { tty: false });
  await settle();
  sink.destroy();

  await copying;
});

test("why an engine gives up is what the error says", async () => {
  const source = Readable.from([frame(1, "out"), frame(3, "Error grabbing logs: "), frame(3, "EOF\n")]);

  await expect(copyOutput(source, { stdout: undefined, stderr: undefined }, { tty: false })).rejects.toThrow("Error grabbing logs: EOF");
});
