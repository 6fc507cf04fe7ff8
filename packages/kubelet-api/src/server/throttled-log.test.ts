import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { ThrottledLog } from "./throttled-log.ts";

test("a kind is told of once a minute, with how often it came between", async () => {
  const [clock, logger] = [new VirtualClock(), new RecordingLogger()];
  const log = new ThrottledLog({ clock, logger });
  const happen = (kind: string, address: string): void => log.log("info", kind, { kind, address }, "it happened");

  for (let index = 0; index < 5; index++) happen("ERR_SSL_HTTP_REQUEST", "10.0.0.1");
  happen("ECONNRESET", "10.0.0.1");
  await clock.advance(60_000);
  happen("ERR_SSL_HTTP_REQUEST", "10.0.0.2");

  expect(logger.fields).toEqual([
    { kind: "ERR_SSL_HTTP_REQUEST", address: "10.0.0.1" },
    { kind: "ECONNRESET", address: "10.0.0.1" },
    { kind: "ERR_SSL_HTTP_REQUEST", address: "10.0.0.2", more: 4 },
  ]);
});

test("who makes up new kinds does not fill the log either", () => {
  const logger = new RecordingLogger();
  const log = new ThrottledLog({ clock: new VirtualClock(), logger });

  for (let index = 0; index < 1_000; index++) log.log("warn", `KIND_${index}`, {}, "it happened");

  expect(logger.lines.length).toBe(17);
});

test("how often it came between is told from then on, and only if it did", async () => {
  const [clock, logger] = [new VirtualClock(), new RecordingLogger()];
  const log = new ThrottledLog({ clock, logger });
  const happen = (): void => log.log("warn", "KIND", {}, "it happened");

  happen();
  await clock.advance(59_999);
  happen();
  await clock.advance(1);
  happen();
  await clock.advance(60_000);
  happen();

  expect(logger.fields).toEqual([{}, { more: 1 }, {}]);
  expect(logger.lines).toEqual(["warn it happened", "warn it happened", "warn it happened"]);
});
