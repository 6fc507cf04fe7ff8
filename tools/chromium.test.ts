import { expect, test } from "vitest";
import { findChromium, missingChromium } from "./chromium.ts";

test("CHROMIUM names the browser", () => {
  expect(findChromium({ CHROMIUM: "/opt/chromium", PATH: "/usr/bin" })).toBe("/opt/chromium");
});

test("without a browser on the PATH, the reason says how to get one", () => {
  expect(missingChromium({ PATH: "/nowhere" })).toMatch(/no chromium or .* on the PATH: apt-get install chromium, or set CHROMIUM/);
});
