import { expect, test } from "vitest";
import { engineTime, logQuery } from "./log-request.ts";

const window = { since: "2026-11-21T07:20:44.810891687Z", skip: 0, until: "2026-11-21T07:21:00.000000001Z" };

test("times go out as seconds and nanoseconds", () => {
  expect(engineTime("2026-11-21T07:20:44.810891687Z")).toBe("1795245644.810891687");
  expect(engineTime("2026-11-21T08:20:44+01:00")).toBe("1795245644.000000000");
});

test("a window is closed, unless the log is followed", () => {
  expect(logQuery({ follow: false, window })).toMatchObject({ since: "1795245644.810891687", until: "1795245660.000000001" });
  expect(logQuery({ follow: true, window })).toMatchObject({ since: "1795245644.810891687", until: undefined });
});

test("the later beginning counts, and a time has a margin", () => {
  expect(logQuery({ follow: false, sinceTime: "2026-11-21T07:20:40Z" })["since"]).toBe("1795245639.000000000");
  expect(logQuery({ follow: false, window, sinceTime: "2026-11-21T07:20:40Z" })["since"]).toBe("1795245644.810891687");
  expect(logQuery({ follow: false, window, sinceTime: "2026-11-21T07:20:50Z" })["since"]).toBe("1795245649.000000000");
});
