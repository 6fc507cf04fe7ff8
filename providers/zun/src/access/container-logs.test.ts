import { VirtualClock } from "@virtual-kubelet/clock";
import { ConflictError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import type { ZunLogQuery } from "../zun/zun-api.ts";
import { openLogs } from "./container-logs.ts";

const { signal } = new AbortController();
const plain = { follow: false, previous: false, timestamps: false };
const line = (second: number, text: string): string => `2026-01-01T00:00:0${second}.000000001Z ${text}\n`;

test("whole seconds and a count of lines are Zun's to apply; anything else is left to the node's server", async () => {
  const asked: ZunLogQuery[] = [];
  const source = {
    api: { logs: async (_uuid: string, query: ZunLogQuery) => (asked.push(query), "") },
    clock: new VirtualClock(),
    status: async () => "Running",
  };
  const applied: unknown[] = [];
  for (const options of [{ tailLines: 5 }, { sinceTime: "2026-01-01T00:00:05Z" }, { sinceTime: "2026-01-01T00:00:05.5Z", tailLines: 5 }])
    applied.push((await openLogs("z", { ...plain, ...options }, source, signal)).applied);

  expect(asked).toEqual(
    [{ timestamps: true, tail: 5 }, { timestamps: true, sinceSeconds: 1_767_225_605 }, { timestamps: true }].map((query) => ({
      sinceSeconds: undefined,
      tail: undefined,
      ...query,
    })),
  );
  expect(applied).toEqual([["tailLines"], ["sinceTime"], []]);
});

test("a followed log has each line once, also those of one time, and ends with the container", async () => {
  const clock = new VirtualClock();
  const states = ["Running", "Restarting", "Stopped"];
  const texts = [
    line(1, "a"),
    `${line(1, "a")}${line(1, "b")}`,
    new ConflictError("busy"),
    `${line(1, "a")}${line(1, "b")}${line(3, "c")}`,
  ];
  const source = {
    api: {
      logs: async () => {
        const next = texts.shift() ?? "";
        if (typeof next !== "string") throw next;
        return next;
      },
    },
    clock,
    status: async () => states.shift(),
  };
  const logs = await openLogs("z", { ...plain, follow: true }, source, signal);
  let text = "";
  const reading = (async () => {
    for await (const chunk of logs.data) text += String(chunk);
    for await (const chunk of logs.live ?? []) text += String(chunk);
  })();
  for (let second = 0; second < 4; second++) await clock.advance(1_000);
  await reading;

  expect(text).toBe(`${line(1, "a")}${line(1, "b")}${line(3, "c")}`);
});
