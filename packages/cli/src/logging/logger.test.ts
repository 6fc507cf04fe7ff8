import { VirtualClock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import type { LogLevel } from "../config/settings.ts";
import { TextOutput } from "../test-support/test-context.ts";
import { formatJson, formatText } from "./formats.ts";
import { createLogger } from "./logger.ts";

function rig(
  level: LogLevel = "info",
  format: typeof formatJson = formatJson,
): { readonly output: TextOutput; readonly logger: ReturnType<typeof createLogger> } {
  const output = new TextOutput();
  return { output, logger: createLogger({ level, output, clock: new VirtualClock(), format }) };
}

test("a record is one JSON line with time, level, message and fields, those of its logger too", () => {
  const { output, logger } = rig();

  logger.child({ node: "vk" }).info({ pods: 3, gone: undefined }, "ready");

  expect(output.text).toBe('{"time":"2026-01-01T00:00:00.000Z","level":"info","msg":"ready","node":"vk","pods":3}\n');
});

test("a field cannot take the place of time, level or message", () => {
  const { output, logger } = rig();

  logger.info({ msg: "no", level: "no", time: "no" }, "yes");

  expect(JSON.parse(output.text)).toEqual({ time: "2026-01-01T00:00:00.000Z", level: "info", msg: "yes" });
});

test("records below the level are not written", () => {
  const { output, logger } = rig("warn");

  logger.debug({}, "a");
  logger.info({}, "b");
  logger.warn({}, "c");
  logger.error({}, "d");

  expect(output.text.match(/"msg":"\w"/g)).toEqual(['"msg":"c"', '"msg":"d"']);
});

test("an error is its message, with those of its causes, and its code; with debug its stack too", () => {
  const error = new UnavailableError("list pods", { cause: new Error("connection refused") });
  const plain = rig();
  plain.logger.warn({ err: error }, "x");
  const debug = rig("debug");
  debug.logger.warn({ err: error }, "x");

  expect(JSON.parse(plain.output.text)).toMatchObject({ err: "list pods: connection refused", code: "VK_UNAVAILABLE" });
  expect(plain.output.text).not.toContain("stack");
  expect(JSON.parse(debug.output.text)).toMatchObject({ stack: expect.stringContaining("logger.test.ts") });
});

test("text is short, and quotes what needs it", () => {
  const { output, logger } = rig("info", formatText(false));

  logger.warn({ pod: "default/web", err: 'said "no"', list: [1], empty: "" }, "retrying");

  expect(output.text).toMatch(/^W\d{4} \d\d:\d\d:\d\d\.000 retrying pod=default\/web err="said \\"no\\"" list=\[1\] empty=""\n$/);
});

test("colours are around the level only", () => {
  const { output, logger } = rig("info", formatText(true));

  logger.error({}, "broken");

  expect(output.text.replaceAll("\u001b", "<esc>")).toMatch(/^<esc>\[31mE<esc>\[0m\d{4} [\d:.]+ broken\n$/);
});

test.for([
  ["a token by its name", { token: "abc123" }],
  ["a nested one", { config: { registry: [{ password: "hunter22" }] } }],
  ["an authorization header", { headers: { Authorization: "Basic dXNlcjpwYXNz" } }],
  ["a bearer token in a text", { err: new Error("401 for Bearer abcdef.123456") }],
  ["a JSON web token in a text", { note: "got eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrIn0.c2lnbmF0dXJl there" }],
  ["a password in a URL", { url: "https://me:hunter22@example.com/x" }],
  ["a private key", { pem: "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----" }],
] as const)("%s is not logged", ([, fields]) => {
  const { output, logger } = rig("debug");

  logger.info(fields, "x");

  expect(output.text).toContain("[redacted]");
  expect(output.text).not.toMatch(/abc123|hunter22|dXNlcjpwYXNz|abcdef\.123456|c2lnbmF0dXJl|MIIabc/);
});

test("the name of a secret is no secret", () => {
  const { output, logger } = rig();

  logger.info({ secretName: "db", secretRef: "default/db", uid: "6c9c1c1e-0000-4000-8000-000000000000" }, "missing");

  expect(output.text).not.toContain("redacted");
});

test("a field that cannot be written loses the fields, not the record", () => {
  const { output, logger } = rig();

  logger.info({ big: 10n }, "x");

  expect(JSON.parse(output.text)).toMatchObject({ msg: "x", logError: expect.stringContaining("BigInt") });
});

test.each([
  ["a line of its own", "ok\nI0101 00:00:00.000 a pod was accessed user=admin"],
  ["a carriage return", "ok\rI0101 all is well"],
  ["an escape sequence", "\u001b[2J\u001b]0;title\u0007"],
  ["an escape sequence of one byte", "\u009b2J"],
  ["text that runs backwards", "\u202egnp.exe"],
  ["a line separator", "a\u2028b"],
])("%s that a caller sends is in the log as its characters' numbers, in both formats", (_what, sent) => {
  for (const format of [formatText(false), formatJson]) {
    const line = format({ level: "info", timeMs: 0, message: `message ${sent}`, fields: { program: sent, groups: [sent], [sent]: 1 } });

    // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/);
    if (format === formatJson) expect(JSON.parse(line)).toMatchObject({ program: sent, msg: `message ${sent}` });
  }
});
