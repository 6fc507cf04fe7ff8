import { expect, test } from "vitest";
import { ended, running, taskWith } from "../test-support/tasks.ts";
import { checkExec } from "./exec-preconditions.ts";

const agent = (
  lastStatus: string,
  reason?: string,
): { managedAgents: { name: string; lastStatus: string; reason?: string | undefined }[] } => ({
  managedAgents: [{ name: "ExecuteCommandAgent", lastStatus, reason }],
});

test.each([
  [
    "the task was started without exec",
    taskWith({ enableExecuteCommand: false }, running("main")),
    "VK_UNSUPPORTED",
    /ssmmessages:CreateControlChannel/,
  ],
  ["there is no such container", taskWith({ enableExecuteCommand: true }, running("other")), "VK_NOT_FOUND", /no such container/],
  ["the container has ended", taskWith({ enableExecuteCommand: true }, ended("main", 0)), "VK_UNAVAILABLE", /it is STOPPED/],
  ["the agent starts", taskWith({ enableExecuteCommand: true }, running("main", agent("PENDING"))), "VK_UNAVAILABLE", /still starting/],
  [
    "the agent has failed",
    taskWith({ enableExecuteCommand: true }, running("main", agent("STOPPED", "no route"))),
    "VK_UNAVAILABLE",
    /STOPPED: no route; it needs/,
  ],
])("if %s, the error says so", (_what, task, code, message) => {
  expect(() => checkExec(task, "main")).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) as string }));
});

test("a container with a running agent is accepted", () => {
  expect(() => checkExec(taskWith({ enableExecuteCommand: true }, running("main", agent("RUNNING"))), "main")).not.toThrow();
});
