import { ForbiddenError, UnavailableError } from "@virtual-kubelet/errdefs";
import { ApiError } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { isMissingRight } from "./missing-right.ts";

const refusal = (message: string): ForbiddenError =>
  new ForbiddenError(`patch nodes vk: ${message}`, { cause: new ApiError({ kind: "Status", code: 403, reason: "Forbidden", message }) });

test.for<[message: string, expected: boolean]>([
  ['nodes "vk" is forbidden: User "vk" cannot patch resource "nodes" in API group "" at the cluster scope', true],
  ['nodes "vk" is forbidden: User "vk" cannot patch resource "nodes/status" in API group "" at the cluster scope: no opinion', true],
  ['forbidden: User "vk" cannot get path "/version"', true],
  ['nodes "vk" is forbidden: node "vk" is not allowed to modify taints', false],
  ['nodes "vk" is forbidden: node "vk" is not allowed to set the following labels: type', false],
  ['admission webhook "x" denied the request: no', false],
])("%s: the right is missing: %s", ([message, expected]) => {
  expect(isMissingRight(refusal(message))).toBe(expected);
});

test("what is no refusal at all misses no right", () => {
  expect(isMissingRight(new UnavailableError('User "vk" cannot patch resource "nodes"'))).toBe(false);
});
