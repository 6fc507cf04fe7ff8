import { PassThrough, Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { frame } from "../test-support/frames.ts";
import { ClientOutput } from "../exec/client-output.ts";
import { copyOutput, type OutputSink } from "./copy-output.ts";

/** Writes standard output to the stream, and drops the rest. */
function into(stdout: Writable): OutputSink {
  return new ClientOutput({ stdout, stderr: undefined }).sink;
}

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
  const takeOne = (): void => {
    const done = next;
    next = undefined;
    done?.();
  };
  return { sink, text: () => Buffer.concat(taken).toString(), takeOne };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await setImmediate();
}

test("both outputs go where they belong, all before it is said to have ended", async () => {
  const written: string[] = [];

  await copyOutput(
    Readable.from([frame(1, "out"), frame(2, "err"), frame(1, "put")]),
    async (stream, bytes) => {
      await setImmediate();
      written.push(`${stream} ${bytes.toString()}`);
    },
    { tty: false },
  );

  expect(written).toEqual(["stdout out", "stderr err", "stdout put"]);
});

test("a terminal's output comes as it is", async () => {
  const stdout = new PassThrough();
  const chunks = [Buffer.from("a\r\n"), frame(1, "x")];

  await copyOutput(Readable.from(chunks), into(stdout), { tty: true });

  expect(stdout.read()).toEqual(Buffer.concat(chunks));
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
  const copying = copyOutput(source, into(sink), { tty: false });
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
  const copying = copyOutput(Readable.from([frame(1, "12345678"), frame(1, "more")]), into(sink), { tty: false });
  await settle();
  sink.destroy();

  await expect(copying).resolves.toBeUndefined();
});

test("why an engine gives up is what the error says", async () => {
  const source = Readable.from([frame(1, "out"), frame(3, "Error grabbing logs: "), frame(3, "EOF\n")]);

  await expect(copyOutput(source, into(new PassThrough()), { tty: false })).rejects.toThrow("Error grabbing logs: EOF");
});

test("output has been written only when the client has all of it", async () => {
  const { sink, text, takeOne } = slowSink();
  const output = new ClientOutput({ stdout: sink, stderr: undefined });
  await copyOutput(Readable.from([frame(1, "ab")]), output.sink, { tty: false });
  await output.sink("stdout", Buffer.from("c"));
  let isFlushed = false;
  const flushing = output.flush().then(() => (isFlushed = true));
  await settle();

  expect([text(), isFlushed]).toEqual(["ab", false]);

  takeOne();
  await settle();
  takeOne();
  await flushing;
  expect(text()).toBe("abc");
});
