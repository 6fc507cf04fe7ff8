import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import { Refusal } from "../server/refusal.ts";
import { fakeRequest } from "../test-support/fake-node.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { audited, beginAudit } from "./audit.ts";

test("a line says who ran what where, and how it went", async () => {
  const [clock, logger] = [new FakeClock(), new RecordingLogger()];
  const record = beginAudit(
    fakeRequest({ user: { name: "alice", groups: ["admins"] } }),
    { verb: "exec", command: ["sh", "-c", "ls"] },
    { clock, logger },
  );

  const value = await audited(record, async () => {
    await clock.advance(1_500);
    return { result: "exit code 0", value: 7 };
  });

  expect(value).toBe(7);
  expect(logger.lines).toEqual(["info a pod was reached into"]);
  expect(logger.fields).toEqual([
    {
      user: "alice",
      groups: ["admins"],
      verb: "exec",
      pod: "default/web",
      container: "main",
      command: "sh -c ls",
      result: "exit code 0",
      durationMs: 1_500,
    },
  ]);
});

test("a refusal is told of, too", async () => {
  const [clock, logger] = [new FakeClock(), new RecordingLogger()];
  const request = fakeRequest({ params: { namespace: "default", pod: "web" } });

  const refused = audited(beginAudit(request, { verb: "port-forward" }, { clock, logger }), () =>
    Promise.reject(new Refusal(404, "pod does not exist")),
  );

  await expect(refused).rejects.toThrow("pod does not exist");
  expect(logger.fields).toMatchObject([{ user: "alice", verb: "port-forward", result: "refused: pod does not exist" }]);
});

test("a long command is cut", () => {
  const logger = new RecordingLogger();
  beginAudit(fakeRequest(), { verb: "exec", command: ["x".repeat(50_000)] }, { clock: new FakeClock(), logger }).end("exit code 0");

  expect(String(logger.fields[0]?.["command"])).toMatch(/^x{1024}… \(50000 characters\)$/);
});

test("a command of 1,024 characters is told in full", () => {
  const logger = new RecordingLogger();
  const tell = (length: number): unknown => {
    beginAudit(fakeRequest(), { verb: "run", command: ["x".repeat(length)] }, { clock: new FakeClock(), logger }).end("");
    return logger.fields.at(-1)?.["command"];
  };

  expect(tell(1_024)).toBe("x".repeat(1_024));
  expect(tell(1_025)).toBe(`${"x".repeat(1_024)}… (1025 characters)`);
});

test("who is in no group, and what has neither container nor command, has none in the line", () => {
  const logger = new RecordingLogger();
  const request = fakeRequest({ params: { namespace: "default", pod: "web" } });

  beginAudit(request, { verb: "port-forward" }, { clock: new FakeClock(), logger }).end("ports 80");

  expect(logger.fields).toEqual([{ user: "alice", verb: "port-forward", pod: "default/web", result: "ports 80", durationMs: 0 }]);
});

test("how long it took is told in whole milliseconds since it began", async () => {
  const [clock, logger] = [new FakeClock(), new RecordingLogger()];
  await clock.advance(1_000);
  const record = beginAudit(fakeRequest(), { verb: "attach" }, { clock, logger });
  await clock.advance(10.6);

  record.end("");

  expect(logger.fields).toMatchObject([{ durationMs: 11 }]);
});
