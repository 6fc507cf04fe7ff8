import { codeOf, isUnavailable } from "@virtual-kubelet/errdefs";
import { isThrottled } from "@virtual-kubelet/remote-pods";
import { describe, expect, test } from "vitest";
import { failureError, toError } from "./api-error.ts";

const sdkError = (name: string, message: string, httpStatusCode?: number, headers: Record<string, string> = {}): Error =>
  Object.assign(new Error(message), { name, $metadata: { httpStatusCode }, $response: { headers } });

test.each([
  ["AccessDeniedException", "not allowed", 400, "VK_FORBIDDEN"],
  ["BlockedException", "account", 400, "VK_FORBIDDEN"],
  ["UnrecognizedClientException", "token", 400, "VK_UNAUTHORIZED"],
  ["ExpiredTokenException", "expired", 400, "VK_UNAUTHORIZED"],
  ["InvalidSignatureException", "clock", 403, "VK_UNAUTHORIZED"],
  ["CredentialsProviderError", "Could not load credentials from any providers", undefined, "VK_UNAUTHORIZED"],
  ["ServerException", "oops", 500, "VK_UNAVAILABLE"],
  ["ServiceUnavailableException", "oops", 503, "VK_UNAVAILABLE"],
  ["TimeoutError", "socket", undefined, "VK_UNAVAILABLE"],
  ["Error", "connect ECONNREFUSED", undefined, "VK_UNAVAILABLE"],
  ["NewException", "something", 500, "VK_UNAVAILABLE"],
  ["NewException", "something", 400, "VK_INVALID_INPUT"],
  ["SyntaxError", "Unexpected token '<'", 200, "VK_UNAVAILABLE"],
  ["SyntaxError", "Unexpected token '<'", 400, "VK_UNAVAILABLE"],
  ["TypeError", "output.map is not a function", 200, "VK_UNAVAILABLE"],
  ["Error", "Found", 302, "VK_UNAVAILABLE"],
  ["LimitExceededException", "limit", 400, "VK_QUOTA_EXCEEDED"],
  ["ClientException", "You've reached the limit on the number of vCPUs you can run concurrently", 400, "VK_QUOTA_EXCEEDED"],
  ["ClientException", "Capacity is unavailable at this time", 400, "VK_QUOTA_EXCEEDED"],
  ["ClientException", "No Fargate configuration exists for given values", 400, "VK_INVALID_INPUT"],
  ["ClientException", "Unable to describe task definition.", 400, "VK_NOT_FOUND"],
  ["InvalidParameterException", "TaskDefinition is inactive", 400, "VK_NOT_FOUND"],
  ["InvalidParameterException", "The referenced task was not found.", 400, "VK_NOT_FOUND"],
  ["InvalidParameterException", "Container.image contains invalid characters.", 400, "VK_INVALID_INPUT"],
  ["InvalidParameterException", "ECS was unable to assume the role", 400, "VK_FORBIDDEN"],
  ["ClusterNotFoundException", "Cluster not found.", 400, "VK_INVALID_INPUT"],
  ["PlatformUnknownException", "platform", 400, "VK_UNSUPPORTED"],
  ["UnsupportedFeatureException", "feature", 400, "VK_UNSUPPORTED"],
  ["ConflictException", "token", 400, "VK_CONFLICT"],
  ["TargetNotConnectedException", "agent", 400, "VK_UNAVAILABLE"],
  ["ResourceNotFoundException", "The specified log stream does not exist.", 400, "VK_NOT_FOUND"],
  ["constructor", "not a name of ours", 400, "VK_INVALID_INPUT"],
])("%s (%s) with status %s is %s", (name, message, status, code) => {
  const error = toError(sdkError(name, message, status), "run the task of pod shop/web");

  expect(codeOf(error)).toBe(code);
  expect(error.message).toContain(`run the task of pod shop/web: ${name}: ${message}`);
});

describe("too many requests", () => {
  test.each([
    ["ThrottlingException", "Rate exceeded"],
    ["TooManyRequestsException", "slow down"],
    ["ClientException", "Too many concurrent attempts to create a new revision of the specified family."],
    ["ServerException", "Rate exceeded"],
  ])("%s (%s) had no effect, so that the request may be repeated", (name, message) => {
    expect(isThrottled(toError(sdkError(name, message, 400), "x"))).toBe(true);
  });

  test("may say for how long to wait", () => {
    expect(toError(sdkError("ThrottlingException", "Rate exceeded", 400, { "retry-after": "7" }), "x")).toMatchObject({
      retryAfterMs: 7_000,
    });
  });

  test("are not suspected behind a server's error", () => {
    const error = toError(sdkError("ServerException", "oops", 500), "x");

    expect([isUnavailable(error), isThrottled(error)]).toEqual([true, false]);
  });
});

test("the request and its headers are not kept, and a long message is cut", () => {
  const error = toError(Object.assign(sdkError("ClientException", "x".repeat(5_000), 400), { $request: { secret: "hunter2" } }), "try");

  expect(error.message.length).toBeLessThan(700);
  expect(error.cause).toBeUndefined();
});

test("values of the request are not in the message, also as JSON writes them, and a value within another leaves nothing of it", () => {
  const pem = 'BEGIN\n"key"\\END\n';
  const repeated = [pem, JSON.stringify({ pem }), JSON.stringify(JSON.stringify({ pem })), "password-long", "password"].join(" ");

  const { message } = toError(sdkError("ClientException", repeated, 400), "run the task", ["password", pem, "password-long"]);
  expect(message).toBe(
    'run the task: ClientException: [redacted] {"pem":"[redacted]"} "{\\"pem\\":\\"[redacted]\\"}" [redacted] [redacted]',
  );
});

test.each([
  ["RESOURCE:ENI", undefined, "VK_QUOTA_EXCEEDED"],
  ["RESOURCE:MEMORY", undefined, "VK_QUOTA_EXCEEDED"],
  ["Capacity is unavailable at this time. Please try again later", undefined, "VK_QUOTA_EXCEEDED"],
  ["AGENT", undefined, "VK_QUOTA_EXCEEDED"],
  ["You've reached the limit on the number of tasks you can run concurrently", undefined, "VK_QUOTA_EXCEEDED"],
  ["MISSING", "task", "VK_NOT_FOUND"],
  ["INACTIVE", undefined, "VK_INVALID_INPUT"],
])("a failure in a successful answer is an error: %s", (reason, detail, code) => {
  expect(codeOf(failureError(reason, detail, "run"))).toBe(code);
});

test.for([
  ["CredentialsProviderError", /AWS_PROFILE/],
  ["UnrecognizedClientException", /region/],
  ["ClusterNotFoundException", /set cluster/],
] as const)("%s says which settings may be wrong", ([name, advice]) => {
  expect(toError(Object.assign(new Error("no"), { name }), "list tasks").message).toMatch(advice);
});
