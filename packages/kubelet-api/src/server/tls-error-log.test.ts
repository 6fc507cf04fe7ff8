import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { TlsErrorLog } from "./tls-error-log.ts";

const failure = (code: string): Error & { code: string } => Object.assign(new Error(code), { code });

test("a kind of failure is told of once a minute, with how many there were between", async () => {
  const [clock, logger] = [new FakeClock(), new RecordingLogger()];
  const log = new TlsErrorLog({ clock, logger });

  for (let index = 0; index < 5; index++) log.note(failure("ERR_SSL_HTTP_REQUEST"), "10.0.0.1");
  log.note(failure("ECONNRESET"), undefined);
  await clock.advance(60_000);
  log.note(failure("ERR_SSL_HTTP_REQUEST"), "10.0.0.2");

  expect(logger.fields).toEqual([
    { code: "ERR_SSL_HTTP_REQUEST", address: "10.0.0.1" },
    { code: "ECONNRESET", address: undefined },
    { code: "ERR_SSL_HTTP_REQUEST", address: "10.0.0.2", more: 4 },
  ]);
});

test("who makes up new kinds of failures does not fill the log either", () => {
  const logger = new RecordingLogger();
  const log = new TlsErrorLog({ clock: new FakeClock(), logger });

  for (let index = 0; index < 1_000; index++) log.note(failure(`KIND_${index}`), "10.0.0.1");

  expect(logger.lines.length).toBe(17);
});
