import type { ContainerLogOptions, ContainerLogs } from "@virtual-kubelet/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyLogOptions, missingTimes } from "./log-body.ts";

const nothing: ContainerLogOptions = { follow: false, previous: false, timestamps: false };
const idle = new AbortController().signal;

async function* chunksOf(...chunks: (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
  yield* chunks;
}

async function read(
  logs: ContainerLogs | (() => ContainerLogs),
  options: Partial<ContainerLogOptions> = {},
  maxTailBytes?: number,
): Promise<string> {
  const open = typeof logs === "function" ? logs : () => logs;
  const body = { signal: idle, reopen: () => Promise.resolve(open()), maxTailBytes };
  const chunks: Uint8Array[] = [];
  for await (const chunk of applyLogOptions(open(), { ...nothing, ...options }, body)) chunks.push(chunk);
  return Buffer.concat(chunks).toString("latin1");
}

/** Splits a text into chunks of these sizes, repeated as necessary. */
function cut(text: string, sizes: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, "latin1");
  const chunks: Buffer[] = [];
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const end = at + (sizes[index % sizes.length] ?? bytes.length);
    chunks.push(bytes.subarray(at, end));
    at = end;
  }
  return chunks;
}

test("without options the container's bytes are passed on unchanged, even if they are not text", async () => {
  const bytes = Buffer.from([0, 255, 10, 0xc3, 0x28, 13, 10, 128]);

  expect(await read({ data: chunksOf(bytes) })).toBe(bytes.toString("latin1"));
  expect(await read({ data: chunksOf("a\n", "b") })).toBe("a\nb");
});

test("with follow, new output comes after the existing output", async () => {
  const logs = (): ContainerLogs => ({ data: chunksOf("old\n"), live: chunksOf("new\n") });

  expect(await read(logs, { follow: true })).toBe("old\nnew\n");
  expect(await read(logs)).toBe("old\n");
  expect(await read(logs, { follow: true, tailLines: 0 })).toBe("new\n");
});

describe("tailLines", () => {
  test.each([
    [0, ""],
    [1, "c"],
    [2, "b\nc"],
    [3, "a\nb\nc"],
    [4, "a\nb\nc"],
  ])("the last %i lines are taken from three lines, of which the last has no newline", async (tailLines, expected) => {
    expect(await read({ data: chunksOf("a\nb", "\nc") }, { tailLines })).toBe(expected);
  });

  test("is not applied again if the back end has applied it", async () => {
    expect(await read({ data: chunksOf("a\nb\n"), applied: ["tailLines"] }, { tailLines: 1 })).toBe("a\nb\n");
  });

  test("reads the log a second time if the tail does not fit in memory", async () => {
    let opened = 0;
    const lines = Array.from({ length: 100 }, (_, index) => `${String(index).padStart(3, "0")}${"x".repeat(100)}\n`);
    const logs = (): ContainerLogs => {
      opened++;
      return { data: chunksOf(...lines), live: chunksOf("later\n") };
    };

    expect(await read(logs, { tailLines: 50, follow: true }, 4096)).toBe(`${lines.slice(50).join("")}later\n`);
    expect(opened).toBe(2);
  });

  test("needs little memory for a log that is much larger than its tail", async () => {
    let opened = 0;
    const line = `${"x".repeat(1000)}\n`;
    const logs = (): ContainerLogs => {
      opened++;
      return { data: chunksOf(...Array.from({ length: 20_000 }, () => line)) };
    };

    expect(await read(logs, { tailLines: 3 }, 8192)).toBe(line.repeat(3));
    expect(opened).toBe(1);
  });

  test("agrees with tail(1), however the log is split and whether the tail fits in memory or not", async () => {
    const text = fc.string({ unit: fc.constantFrom("a", "bb", "\n", "\r"), maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.integer({ min: 0, max: 8 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        fc.boolean(),
        async (log, tailLines, sizes, held) => {
          const lines = log.split(/(?<=\n)/).filter((line) => line !== "");
          const expected = tailLines === 0 ? "" : lines.slice(-tailLines).join("");
          const logs = (): ContainerLogs => ({ data: chunksOf(...cut(log, sizes)) });
          expect(await read(logs, { tailLines }, held ? undefined : 1)).toBe(expected);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("times", () => {
  const logs = (): ContainerLogs => ({
    timestamps: true,
    data: chunksOf(
      "2026-03-01T10:00:00.1Z one\n2026-03-01T10:00:01Z \n2026-03-01T10:00:02.123456789Z three\n2026-03-01T12:00:03.5+02:00 four",
    ),
  });

  test("are removed unless they are requested", async () => {
    expect(await read(logs)).toBe("one\n\nthree\nfour");
  });

  test("have nine fractional digits if they are requested", async () => {
    expect(await read(logs, { timestamps: true })).toBe(
      "2026-03-01T10:00:00.100000000Z one\n2026-03-01T10:00:01.000000000Z \n2026-03-01T10:00:02.123456789Z three\n2026-03-01T12:00:03.500000000+02:00 four",
    );
  });

  test("select the lines since a time, including that time", async () => {
    expect(await read(logs, { sinceTime: "2026-03-01T10:00:01Z" })).toBe("\nthree\nfour");
    expect(await read(logs, { sinceTime: "2026-03-01T10:00:02.123456790Z" })).toBe("four");
    expect(await read(logs, { sinceTime: "2026-03-01T10:00:04Z" })).toBe("");
  });

  test("do not filter if the back end has filtered already", async () => {
    expect(await read({ ...logs(), applied: ["sinceTime"] }, { sinceTime: "2026-03-01T11:00:00Z" })).toBe("one\n\nthree\nfour");
  });

  test("filter after the tail was taken", async () => {
    expect(await read(logs, { tailLines: 3, sinceTime: "2026-03-01T10:00:02Z" })).toBe("three\nfour");
  });

  test("that are missing on a line are taken from the line before", async () => {
    const data = (): ContainerLogs => ({
      timestamps: true,
      data: chunksOf("no time\n2026-03-01T10:00:00Z kept\n  at stack\n2026-03-01T09:00:00Z old\n  at old stack\n"),
    });

    expect(await read(data)).toBe("no time\nkept\n  at stack\nold\n  at old stack\n");
    expect(await read(data, { sinceTime: "2026-03-01T10:00:00Z" })).toBe("kept\n  at stack\n");
  });

  test("cause an error if they are requested but missing", () => {
    const bare: ContainerLogs = { data: chunksOf() };

    expect(missingTimes(bare, { ...nothing, timestamps: true })).toMatch(/no times.*--timestamps/);
    expect(missingTimes(bare, { ...nothing, sinceTime: "2026-03-01T10:00:00Z" })).toMatch(/no times.*--since/);
    expect(missingTimes({ ...bare, applied: ["sinceTime"] }, { ...nothing, sinceTime: "2026-03-01T10:00:00Z" })).toBeUndefined();
    expect(missingTimes({ ...bare, timestamps: true }, { ...nothing, timestamps: true })).toBeUndefined();
    expect(missingTimes(bare, nothing)).toBeUndefined();
  });

  test("are removed or kept correctly, however the log is split", async () => {
    const line = fc.record({
      time: fc.constantFrom("2026-03-01T10:00:00Z", "2026-03-01T10:00:01.5Z", "2026-03-01T10:00:02.123456789Z"),
      text: fc.string({ unit: fc.constantFrom("a", " ", "é", "\r", "x".repeat(50)), maxLength: 5 }),
    });
    const digits = (time: string): string => `${time.slice(0, 19)}.${time.slice(20, -1).padEnd(9, "0")}Z`;
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }),
        fc.boolean(),
        fc.constantFrom(undefined, "2026-03-01T10:00:01.5Z"),
        async (lines, sizes, timestamps, sinceTime) => {
          const data = chunksOf(...cut(lines.map(({ time, text }) => `${time} ${text}\n`).join(""), sizes));
          const wanted = lines.filter(({ time }) => sinceTime === undefined || digits(time) >= digits(sinceTime));
          const expected = wanted.map(({ time, text }) => `${timestamps ? `${digits(time)} ` : ""}${text}\n`).join("");
          expect(await read({ timestamps: true, data }, { timestamps, sinceTime })).toBe(expected);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("limitBytes", () => {
  test("cuts in the middle of a line, and counts requested times", async () => {
    const data = (): ContainerLogs => ({ timestamps: true, data: chunksOf("2026-03-01T10:00:00Z one\n", "2026-03-01T10:00:00Z two\n") });

    expect(await read(data, { limitBytes: 6 })).toBe("one\ntw");
    expect(await read(data, { limitBytes: 33, timestamps: true })).toBe("2026-03-01T10:00:00.000000000Z on");
    expect(await read(data, { limitBytes: 100 })).toBe("one\ntwo\n");
  });

  test("cuts after the tail was taken", async () => {
    expect(await read({ data: chunksOf("one\ntwo\nthree\n") }, { tailLines: 2, limitBytes: 5 })).toBe("two\nt");
  });

  test("is not applied again if the back end has applied it", async () => {
    expect(await read({ data: chunksOf("12345"), applied: ["limitBytes"] }, { limitBytes: 2 })).toBe("12345");
  });

  test("ends the provider's log", async () => {
    let ended = false;
    async function* endless(): AsyncGenerator<string> {
      try {
        while (true) yield "line\n";
      } finally {
        ended = true;
      }
    }

    expect(await read({ data: endless() }, { limitBytes: 12 })).toBe("line\nline\nli");
    expect(ended).toBe(true);
  });
});

test("the time is removed even from a line of 10 MiB", async () => {
  const long = "y".repeat(10 * 1024 * 1024);
  const data = chunksOf(...cut(`2026-03-01T10:00:00Z ${long}\n2026-03-01T10:00:01Z end\n`, [65_536]));

  expect((await read({ timestamps: true, data })) === `${long}\nend\n`).toBe(true);
});

test("nothing is read from the provider before the client reads", async () => {
  let produced = 0;
  async function* counting(): AsyncGenerator<string> {
    while (true) yield `${produced++}\n`;
  }
  const body = applyLogOptions({ data: counting() }, nothing, { signal: idle, reopen: () => Promise.reject(new Error("not asked for")) });

  await body.next();
  await body.next();

  expect(produced).toBe(2);
  await body.return();
});

test("a log without output ends when its client disconnects", async () => {
  const stop = new AbortController();
  const reason = new Error("the client is gone");
  const silent: AsyncIterable<string> = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
  const next = applyLogOptions({ data: silent }, nothing, {
    signal: stop.signal,
    reopen: () => Promise.reject(new Error("not asked for")),
  }).next();

  stop.abort(reason);

  await expect(next).rejects.toBe(reason);
});

describe("text that is not a time", () => {
  const since = "2026-03-01T10:00:00Z";
  const kept = `${since} kept\n`;
  const old = "2026-03-01T09:00:00Z old\n";
  const passed = async (text: string, timestamps = false): Promise<string> =>
    read({ timestamps: true, data: chunksOf(text) }, { sinceTime: since, timestamps });

  test.each([
    "a-word-of-more-than-twenty-characters text\n",
    "2026/03/01T10:00:00Z text\n",
    `2026-03-01T10:00:00.${"1".repeat(30)}Z text\n`,
    "2026-13-01T10:00:00Z text\n",
    "\n",
    " \n",
  ])("%j is treated like the line before", async (line) => {
    const text = line.replace(/^2026-13-01T10:00:00Z /, "");
    expect(await passed(kept + line + old)).toBe(`kept\n${text}`);
    expect(await passed(old + line + kept)).toBe("kept\n");
  });

  test("is kept as text when times are requested, and gets no time of its own", async () => {
    expect(await passed(`${kept}at stack\n`, true)).toBe("2026-03-01T10:00:00.000000000Z kept\nat stack\n");
  });
});

test("a line that consists only of its time is empty", async () => {
  const data = (): ContainerLogs => ({ timestamps: true, data: chunksOf("2026-03-01T10:00:00Z\n2026-03-01T10:00:01.123456789Z\nx") });

  expect(await read(data)).toBe("\n\nx");
  expect(await read(data, { timestamps: true })).toBe("2026-03-01T10:00:00.000000000Z \n2026-03-01T10:00:01.123456789Z \nx");
});

test("an incomplete time at the end of the log is shown if the line before is shown", async () => {
  const ending = (time: string): ContainerLogs => ({ timestamps: true, data: chunksOf(`${time} line\n2026-03-01T10`, ":00:0") });

  expect(await read(ending("2026-03-01T10:00:00Z"), { sinceTime: "2026-03-01T10:00:00Z" })).toBe("line\n2026-03-01T10:00:0");
  expect(await read(ending("2026-03-01T09:00:00Z"), { sinceTime: "2026-03-01T10:00:00Z" })).toBe("");
});

test("a first word of 40 characters is not a time, and is passed on at once", async () => {
  const word = "w".repeat(40);
  const body = applyLogOptions(
    {
      timestamps: true,
      data: (async function* () {
        yield word;
        await new Promise(() => {});
      })(),
    },
    nothing,
    { signal: idle, reopen: () => Promise.reject(new Error("not asked for")) },
  );

  expect(Buffer.from((await body.next()).value ?? []).toString()).toBe(word);
});

test("a limit that is reached exactly ends the log", async () => {
  let asked = 0;
  async function* counting(): AsyncGenerator<string> {
    while (true) {
      asked++;
      yield "12345";
    }
  }

  expect(await read({ data: counting() }, { limitBytes: 10 })).toBe("1234512345");
  expect(asked).toBe(2);
});

test("empty chunks are not passed on", async () => {
  const chunks: Uint8Array[] = [];
  const body = { signal: idle, reopen: () => Promise.reject(new Error("not asked for")) };
  for await (const chunk of applyLogOptions({ data: chunksOf("", "a", "") }, nothing, body)) chunks.push(chunk);

  expect(chunks.map(({ length }) => length)).toEqual([1]);
});

test("a tail of 16 MiB is kept in memory", async () => {
  const block = Buffer.alloc(1024 * 1024 - 128, "x");
  const read16 = async (blocks: number): Promise<number> => {
    let opened = 0;
    const logs = (): ContainerLogs => {
      opened++;
      return { data: chunksOf(...Array.from({ length: blocks }, () => block)) };
    };
    await read(logs, { tailLines: 1 });
    return opened;
  };

  expect([await read16(16), await read16(17)]).toEqual([1, 2]);
});
