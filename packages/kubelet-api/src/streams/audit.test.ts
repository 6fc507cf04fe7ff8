import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { Refusal } from "../server/refusal.ts";
import { fakeRequest } from "../test-support/fake-node.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { audited, beginAudit } from "./audit.ts";

test("a line contains the user, the command, the container and the result", async () => {
  const [clock, logger] = [new VirtualClock(), new RecordingLogger()];
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
  expect(logger.lines).toEqual(["info a pod was accessed"]);
  expect(logger.fields).toEqual([
    {
      user: "alice",
      groups: ["admins"],
      verb: "exec",
      pod: "default/web",
      container: "main",
      program: "sh",
      arguments: 2,
      result: "exit code 0",
      durationMs: 1_500,
    },
  ]);
});

test("a refusal is logged, too", async () => {
  const [clock, logger] = [new VirtualClock(), new RecordingLogger()];
  const request = fakeRequest({ params: { namespace: "default", pod: "web" } });

  const refused = audited(beginAudit(request, { verb: "port-forward" }, { clock, logger }), () =>
    Promise.reject(new Refusal(404, "pod does not exist")),
  );

  await expect(refused).rejects.toThrow("pod does not exist");
  expect(logger.fields).toMatchObject([{ user: "alice", verb: "port-forward", result: "refused: pod does not exist" }]);
});

test("arguments of a command, which may be passwords, are only counted unless the whole command is configured", () => {
  const logger = new RecordingLogger();
  const command = ["mysql", "-psecret", "-e", "select 1"];
  for (const audit of [undefined, {}, { commands: "program" }, { commands: "full" }] as const)
    beginAudit(fakeRequest(), { verb: "exec", command }, { clock: new VirtualClock(), logger, audit }).end("exit code 0");

  const told = logger.fields.map(({ program, arguments: count, command: whole }) => [program, count, whole]);
  expect(told).toEqual([...Array.from({ length: 3 }, () => ["mysql", 3, undefined]), [undefined, undefined, "mysql -psecret -e select 1"]]);
});

test("the log contains at most 1,024 characters of a program's name, and of a whole command", () => {
  const logger = new RecordingLogger();
  const tell = (length: number, commands: "program" | "full"): unknown => {
    const options = { clock: new VirtualClock(), logger, audit: { commands } };
    beginAudit(fakeRequest(), { verb: "run", command: ["x".repeat(length)] }, options).end("");
    return logger.fields.at(-1)?.[commands === "full" ? "command" : "program"];
  };

  for (const commands of ["program", "full"] as const) {
    expect(tell(1_024, commands)).toBe("x".repeat(1_024));
    expect(tell(1_025, commands)).toBe(`${"x".repeat(1_024)}… (1025 characters)`);
  }
});

test("the user whom a proxy names is logged as claimed, beside the caller, if the header is configured", () => {
  const logger = new RecordingLogger();
  const request = fakeRequest({ headers: { "x-remote-user": "bob", "audit-id": "4711" }, user: { name: "proxy", groups: [] } });
  for (const audit of [{ userHeader: "X-Remote-User" }, { userHeader: "X-Other" }, {}])
    beginAudit(request, { verb: "attach" }, { clock: new VirtualClock(), logger, audit }).end("");

  expect(logger.fields.map(({ user, claimedUser, claimedAuditId }) => [user, claimedUser, claimedAuditId])).toEqual([
    ["proxy", "bob", "4711"],
    ["proxy", undefined, "4711"],
    ["proxy", undefined, "4711"],
  ]);
});

test("fields for missing groups, container or command are absent", () => {
  const logger = new RecordingLogger();
  const request = fakeRequest({ params: { namespace: "default", pod: "web" } });

  beginAudit(request, { verb: "port-forward" }, { clock: new VirtualClock(), logger }).end("ports 80");

  expect(logger.fields).toEqual([{ user: "alice", verb: "port-forward", pod: "default/web", result: "ports 80", durationMs: 0 }]);
});

test("the duration is logged in whole milliseconds", async () => {
  const [clock, logger] = [new VirtualClock(), new RecordingLogger()];
  await clock.advance(1_000);
  const record = beginAudit(fakeRequest(), { verb: "attach" }, { clock, logger });
  await clock.advance(10.6);

  record.end("");

  expect(logger.fields).toMatchObject([{ durationMs: 11 }]);
});
