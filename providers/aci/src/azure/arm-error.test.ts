import { codeOf } from "@virtual-kubelet/errdefs";
import { isThrottled } from "@virtual-kubelet/remote-pods";
import { expect, test } from "vitest";
import { armError } from "./arm-error.ts";

const answer = (status: number, code?: string, message = "text"): Parameters<typeof armError>[0] => ({
  status,
  body: code === undefined ? "<html>" : { error: { code, message } },
  retryAfterMs: undefined,
});

test.for<[number, string | undefined, string, string?]>([
  [400, "InvalidRequestContent", "VK_INVALID_INPUT"],
  [400, "InaccessibleImage", "VK_INVALID_INPUT"],
  [409, "ImageOsTypeNotMatchContainerGroup", "VK_INVALID_INPUT"],
  [403, "RequestDisallowedByPolicy", "VK_INVALID_INPUT"],
  [401, "ExpiredAuthenticationToken", "VK_UNAUTHORIZED"],
  [403, "AuthorizationFailed", "VK_FORBIDDEN"],
  [409, "MissingSubscriptionRegistration", "VK_FORBIDDEN"],
  [404, "ResourceNotFound", "VK_NOT_FOUND"],
  [404, "ResourceGroupNotFound", "VK_UNAVAILABLE"],
  [404, "SubscriptionNotFound", "VK_UNAVAILABLE"],
  [404, undefined, "VK_UNAVAILABLE"],
  [409, "ContainerGroupTransitioning", "VK_UNAVAILABLE"],
  [409, "ContainerGroupQuotaReached", "VK_QUOTA_EXCEEDED"],
  [503, "ContainerGroupQuotaReached", "VK_QUOTA_EXCEEDED"],
  [409, "Conflict", "VK_QUOTA_EXCEEDED", "Resource type 'Microsoft.ContainerInstance/containerGroups' container group quota exceeded"],
  [409, "ServiceUnavailable", "VK_QUOTA_EXCEEDED", "The requested resource is not available in the location 'westus' at this moment."],
  [409, "Conflict", "VK_CONFLICT"],
  [412, "PreconditionFailed", "VK_CONFLICT"],
  [409, "RegistryErrorResponse", "VK_UNAVAILABLE"],
  [503, "ServerTimeout", "VK_UNAVAILABLE"],
  [503, "ServiceUnavailable", "VK_UNAVAILABLE"],
  [500, undefined, "VK_UNAVAILABLE"],
  [504, "GatewayTimeout", "VK_DEADLINE_EXCEEDED"],
  [429, "TooManyRequests", "VK_UNAVAILABLE"],
])("status %d with code %s is %s", ([status, code, expected, message]) => {
  const error = armError(answer(status, code, message), "create container group x");

  expect(codeOf(error)).toBe(expected);
  expect(error.message).toMatch(/^create container group x: Azure: /);
  expect(isThrottled(error)).toBe(status === 429);
});

test("Retry-After is kept for those who wait", () => {
  expect(armError({ ...answer(429, "TooManyRequests"), retryAfterMs: 7_000 }, "x")).toMatchObject({ retryAfterMs: 7_000 });
  expect(armError({ ...answer(409, "ContainerGroupQuotaReached"), retryAfterMs: 60_000 }, "x")).toMatchObject({ retryAfterMs: 60_000 });
});

test.for([
  ["as a part of a JSON text", JSON.stringify({ secureValue: 'say "hunter22"\n' })],
  ["in base64", `file: ${Buffer.from('say "hunter22"\n').toString("base64")}`],
] as const)("a secret that Azure quotes %s is not shown", ([, quoted]) => {
  const { message } = armError(answer(400, "InvalidRequestContent", `unexpected value ${quoted}`), "x", ['say "hunter22"\n']);

  expect(message).toContain("[redacted]");
  expect(message).not.toMatch(/hunter22|aHVudGVyMjI|c2F5IC/);
});

test("a secret that Azure quotes is not shown", () => {
  const error = armError(answer(400, "InvalidRequestContent", "unexpected value 'hunter22'"), "x", ["hunter22", "a"]);

  expect(error.message).toBe("x: Azure: InvalidRequestContent: unexpected value '[redacted]'");
});

test.for([
  [404, "ResourceGroupNotFound", /create it, or correct resourceGroup/],
  [404, "SubscriptionNotFound", /correct subscriptionId/],
  [401, "InvalidAuthenticationTokenTenant", /correct tenantId/],
] as const)("status %d with code %s says which setting may be wrong", ([status, code, advice]) => {
  expect(armError({ status, body: { error: { code, message: "no" } }, retryAfterMs: undefined }, "list").message).toMatch(advice);
});
