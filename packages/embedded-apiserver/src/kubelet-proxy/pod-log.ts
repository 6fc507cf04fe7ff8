import { goErrorText } from "../outbound/go-error.ts";
import { ApiStatusError, badRequest, internalError, invalid, plainFailure } from "../errors/api-status-error.ts";
import type { ApiResponse } from "../http/api-request.ts";
import { booleanOf, integerOf } from "../http/query-options.ts";
import type { ResourceCall, ResourceContext } from "../http/resource-call.ts";
import type { FieldError } from "../kinds/kind.ts";
import { canonicalTime } from "../kinds/schema/time.ts";
import { forbiddenField, invalidValue } from "../kinds/validation/field-errors.ts";
import { nonNegative } from "../kinds/validation/numbers.ts";
import { bodyOf, textOf } from "./kubelet-client.ts";
import { kubeletEndpoint } from "./kubelet-endpoint.ts";
import { containerOf, pathOf, podOf } from "./pod-location.ts";

/** Maximum bytes read of a kubelet's error message; source: k8s.io/apiserver v0.36.3 generic/rest/response_checker.go. */
const refusalLimitBytes = 50_000;

const noCache: Readonly<Record<string, string>> = { "cache-control": "no-cache, private" };
const textHeaders: Readonly<Record<string, string>> = { ...noCache, "content-type": "text/plain" };

/**
 * Serves `pods/log` from the pod's kubelet.
 *
 * Source: pkg/registry/core/pod/rest/log.go and strategy.go of Kubernetes v1.36.3.
 *
 * @throws ApiStatusError 400, 404, 422, 500; a kubelet's error is worded as on the real server
 */
export async function podLogVerb(context: ResourceContext, call: ResourceCall): Promise<ApiResponse> {
  const { query, target } = call;
  const options = logQuery(query, target.name ?? "");
  const pod = podOf(context, call);
  const container = containerOf(pod, query.get("container"));
  const nodeName: string = pod["spec"].nodeName ?? "";
  if (nodeName === "") return { status: 204, headers: noCache, body: new Uint8Array(0) };
  const { origin } = kubeletEndpoint(context.rest, nodeName, call.kind);
  const url = new URL(origin + pathOf("containerLogs", pod.metadata.namespace, pod.metadata.name, container));
  url.search = options.toString();
  let answer;
  try {
    answer = await context.kubelets.send({ url, signal: call.request.signal });
  } catch (error) {
    throw plainFailure(`Get ${JSON.stringify(url.href)}: ${goErrorText(error)}`);
  }
  const { statusCode = 0 } = answer;
  if (statusCode >= 200 && statusCode <= 206) return { status: 200, headers: textHeaders, body: bodyOf(answer) };
  const words = await textOf(answer, refusalLimitBytes);
  throw refusal(statusCode, words, target.name ?? "");
}

/** Builds the query for the kubelet. @throws ApiStatusError 400, 422 */
function logQuery(query: URLSearchParams, name: string): URLSearchParams {
  const numbers = {
    sinceSeconds: integerOf(query, "sinceSeconds"),
    tailLines: integerOf(query, "tailLines"),
    limitBytes: integerOf(query, "limitBytes"),
  };
  const sinceTime = timeOf(query.get("sinceTime"));
  const { sinceSeconds, tailLines, limitBytes } = numbers;
  const errors: FieldError[] = [
    ...nonNegative(tailLines, "tailLines"),
    ...aboveZero(limitBytes, "limitBytes"),
    ...(sinceSeconds !== undefined && sinceTime !== undefined
      ? [forbiddenField("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified")]
      : aboveZero(sinceSeconds, "sinceSeconds")),
    ...(query.has("stream") ? [forbiddenField("stream", "may not be specified")] : []),
  ];
  if (errors.length > 0) throw invalid({ group: "", kind: "PodLogOptions" }, name, errors);
  const passed = new URLSearchParams();
  for (const flag of ["follow", "previous", "timestamps"]) if (booleanOf(query, flag) === true) passed.set(flag, "true");
  if (sinceTime !== undefined) passed.set("sinceTime", sinceTime);
  for (const [option, value] of Object.entries(numbers)) if (value !== undefined) passed.set(option, String(value));
  return passed;
}

function aboveZero(value: number | undefined, field: string): FieldError[] {
  return value !== undefined && value < 1 ? [invalidValue(field, value, "must be greater than 0")] : [];
}

/** A time in whole seconds. @throws ApiStatusError 400 */
function timeOf(text: string | null): string | undefined {
  if (text === null || text === "") return undefined;
  const time = canonicalTime(text);
  if ("problem" in time) throw badRequest(time.problem);
  return time.text;
}

/** Source: k8s.io/apimachinery v0.36.3 pkg/api/errors/errors.go, `NewGenericServerResponse`. */
function refusal(statusCode: number, words: string, name: string): ApiStatusError {
  if (statusCode === 500) return internalError(words);
  if (statusCode === 400) return badRequest(words);
  const known = genericAnswers[statusCode] ?? {
    reason: statusCode >= 500 ? "InternalError" : undefined,
    message:
      statusCode >= 500
        ? `an error on the server (${JSON.stringify(words)}) has prevented the request from succeeding`
        : `the server responded with the status code ${statusCode} but did not return more information`,
  };
  const { reason, message = words } = known;
  return new ApiStatusError({
    code: statusCode,
    ...(reason === undefined ? {} : { reason }),
    message: `${message} ( pods/log ${name})`,
    details: { name, kind: "pods/log" },
  });
}

/** Reason and message of the real server by status; without a message, the kubelet's own is used. */
const genericAnswers: Readonly<Record<number, { readonly reason: string; readonly message?: string }>> = {
  401: { reason: "Unauthorized", message: "the server has asked for the client to provide credentials" },
  403: { reason: "Forbidden" },
  404: { reason: "NotFound", message: "the server could not find the requested resource" },
  405: { reason: "MethodNotAllowed", message: "the server does not allow this method on the requested resource" },
  409: { reason: "Conflict", message: "the server reported a conflict" },
  422: { reason: "Invalid", message: "the server rejected our request due to an error in our request" },
  429: { reason: "TooManyRequests", message: "the server has received too many requests and has asked us to try again later" },
  503: { reason: "ServiceUnavailable", message: "the server is currently unable to handle the request" },
  504: {
    reason: "Timeout",
    message: "the server was unable to return a response in the time allotted, but may still be processing the request",
  },
};
