import { codeOf, messageOf } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { readFixture } from "../test-support/fixtures.ts";
import { nomadError } from "./errors.ts";

test.for([
  ["02-job-register-conflict", "VK_CONFLICT"],
  ["10-error-403", "VK_UNAUTHORIZED"],
  ["11-error-404", "VK_NOT_FOUND"],
  ["13-error-500-validation", "VK_INVALID_INPUT"],
] as const)("the recorded answer %s is %s", async ([name, code]) => {
  const { status, body } = await readFixture<string>(name);

  expect(codeOf(nomadError("register job vk-1", status, body))).toBe(code);
});

test.for([
  [500, "No cluster leader", "VK_UNAVAILABLE"],
  [500, "No path to node", "VK_UNAVAILABLE"],
  [500, "Enforcing job modify index 3: job exists with conflicting job modify index: 34", "VK_CONFLICT"],
  [500, "No path to region", "VK_INVALID_INPUT"],
  [500, "something new", "VK_UNAVAILABLE"],
  [429, "Too Many Requests", "VK_UNAVAILABLE"],
  [409, "{}", "VK_CONFLICT"],
  [400, "unexpected EOF", "VK_INVALID_INPUT"],
] as const)("%d %s is %s", ([status, text, code]) => {
  expect(codeOf(nomadError("do it", status, text))).toBe(code);
});

test("a message is one line, says what was attempted, and is not as long as Nomad's", async () => {
  const { status, body } = await readFixture<string>("13-error-500-validation");

  const message = messageOf(nomadError("register job vk-1", status, body));

  expect(message).toMatch(/^register job vk-1: Nomad answered 500: [^\n]*log storage \(100 MB\)[^\n]*$/);
  expect(message.length).toBeLessThan(500);
});
