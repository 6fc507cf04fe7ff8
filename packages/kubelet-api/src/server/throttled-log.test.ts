import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { ThrottledLog } from "./throttled-log.ts";

test("a kind of event is logged once a minute, with the number of suppressed events", async () => {
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

test("many different kinds of events do not fill the log either", () => {
  const logger = new RecordingLogger();
  const log = new ThrottledLog({ clock: new VirtualClock(), logger });

  for (let index = 0; index < 1_000; index++) log.log("warn", `KIND_${index}`, {}, "it happened");

  expect(logger.lines.length).toBe(17);
});

test("the number of suppressed events is logged with the next line, and only if there were any", async () => {
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
