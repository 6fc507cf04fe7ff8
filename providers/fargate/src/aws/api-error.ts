import {
  ConflictError,
  ForbiddenError,
  InvalidInputError,
  messageOf,
  NotFoundError,
  QuotaExceededError,
  UnauthorizedError,
  UnavailableError,
  UnsupportedError,
} from "@virtual-kubelet/errdefs";

import { ThrottledError } from "@virtual-kubelet/remote-pods";

type ErrorMaker = (message: string, options: { readonly cause: unknown; readonly retryAfterMs?: number | undefined }) => Error;

const unauthorized: ErrorMaker = (message, options) => new UnauthorizedError(message, options);
const forbidden: ErrorMaker = (message, options) => new ForbiddenError(message, options);
const invalid: ErrorMaker = (message, options) => new InvalidInputError(message, options);
const notFound: ErrorMaker = (message, options) => new NotFoundError(message, options);
const quota: ErrorMaker = (message, options) => new QuotaExceededError(message, options);
const throttled: ErrorMaker = (message, options) => new ThrottledError(message, options);
const unavailable: ErrorMaker = (message, options) => new UnavailableError(message, options);
const unsupported: ErrorMaker = (message, options) => new UnsupportedError(message, { cause: options.cause });

/**
 * Errors by the name of AWS' exception.
 * Sources: ECS and CloudWatch Logs API references, "Common Errors" of both; errors of the SDK's credential providers.
 */
const byName: Readonly<Record<string, ErrorMaker>> = {
  AccessDeniedException: forbidden,
  AccessDenied: forbidden,
  NotAuthorized: forbidden,
  OptInRequired: forbidden,
  BlockedException: forbidden,
  UnrecognizedClientException: unauthorized,
  InvalidClientTokenId: unauthorized,
  InvalidSignatureException: unauthorized,
  SignatureDoesNotMatch: unauthorized,
  IncompleteSignature: unauthorized,
  MissingAuthenticationToken: unauthorized,
  MissingAuthenticationTokenException: unauthorized,
  ExpiredToken: unauthorized,
  ExpiredTokenException: unauthorized,
  RequestExpired: unauthorized,
  CredentialsProviderError: unauthorized,
  TokenProviderError: unauthorized,
  ThrottlingException: throttled,
  Throttling: throttled,
  TooManyRequestsException: throttled,
  RequestLimitExceeded: throttled,
  ServerException: unavailable,
  ServiceUnavailable: unavailable,
  ServiceUnavailableException: unavailable,
  InternalFailure: unavailable,
  TimeoutError: unavailable,
  // Something between answered, or the answer was cut.
  SyntaxError: unavailable,
  ResourceInUseException: unavailable,
  UpdateInProgressException: unavailable,
  TargetNotConnectedException: unavailable,
  LimitExceededException: quota,
  // A missing cluster does not mean a missing task.
  ClusterNotFoundException: invalid,
  InvalidParameterException: invalid,
  ClientException: invalid,
  ValidationException: invalid,
  PlatformUnknownException: unsupported,
  PlatformTaskDefinitionIncompatibilityException: unsupported,
  UnsupportedFeatureException: unsupported,
  ConflictException: (message, options) => new ConflictError(message, options),
  ResourceNotFoundException: notFound,
  TargetNotFoundException: notFound,
};

/** Messages that tell more than the exception's name. The first that matches counts. */
const byMessage: readonly (readonly [RegExp, ErrorMaker])[] = [
  [/rate exceeded|throttl|too many concurrent attempts/i, throttled],
  [/capacity is unavailable|insufficient capacity|reached the limit|limit on the number|limit exceeded|quota/i, quota],
  [
    /referenced task was not found|unable to describe task definition|task ?definition (is |does not |not )(inactive|exist|found)/i,
    notFound,
  ],
  [/assume the role|iam:PassRole|not authorized/i, forbidden],
];

/** Advice after the message, by the name of the exception. */
const advices: Readonly<Record<string, string>> = {
  ClusterNotFoundException: "create the ECS cluster, or set cluster to an existing one",
  CredentialsProviderError: "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run the program with a role",
  UnrecognizedClientException: "check the access key, and that region is one of its partition and enabled in the account",
};

/** Exceptions whose message decides. */
const vague: ReadonlySet<string> = new Set(["ClientException", "InvalidParameterException", "AccessDeniedException", "ServerException"]);
const maxMessageLength = 600;

/**
 * Translates an error of the AWS SDK.
 *
 * @param attempted - the attempt and its object, such as `run the task of pod shop/web`
 * @param secrets - values of the request that the message may not hold, in case AWS repeats the request
 */
export function toError(error: unknown, attempted: string, secrets: readonly string[] = []): Error {
  const { name, message: told, status, retryAfterMs } = detailsOf(error);
  const message = redacted(told, secrets).slice(0, maxMessageLength);
  const make = makerOf(name, message, status);
  const advice = Object.hasOwn(advices, name) ? `; ${advices[name]}` : "";
  return make(`${attempted}: ${name}: ${message}${advice}`, { cause: causeOf(error), retryAfterMs });
}

/**
 * Translates the reason of a failure that AWS reports in an answer with status 200.
 * Source: Amazon ECS Developer Guide, "API failure reasons".
 */
export function failureError(reason: string, detail: string | undefined, attempted: string): Error {
  const text = `${attempted}: ${detail === undefined ? reason : `${reason}: ${detail}`}`;
  if (/^(RESOURCE|AGENT|CAPACITY)/i.test(reason) || byMessage.some(([pattern, make]) => make === quota && pattern.test(reason)))
    return new QuotaExceededError(text);
  if (reason === "MISSING") return new NotFoundError(text);
  return new InvalidInputError(text);
}

/** Replaces values as they are, and as JSON writes them, also within JSON. */
function redacted(text: string, secrets: readonly string[]): string {
  const escaped = (value: string): string => JSON.stringify(value).slice(1, -1);
  const forms = secrets.flatMap((secret) => [secret, escaped(secret), escaped(escaped(secret))]);
  return forms.toSorted((a, b) => b.length - a.length).reduce((rest, form) => rest.replaceAll(form, "[redacted]"), text);
}

function makerOf(name: string, message: string, status: number | undefined): ErrorMaker {
  const told = vague.has(name) ? byMessage.find(([pattern]) => pattern.test(message))?.[1] : undefined;
  if (told) return told;
  const known = Object.hasOwn(byName, name) ? byName[name] : undefined;
  if (known) return known;
  // An answer with a status of success that the SDK cannot read says nothing of the outcome.
  if (status === undefined || status < 400 || status >= 500 || status === 429 || status === 408) return unavailable;
  if (status === 401) return unauthorized;
  return status === 403 ? forbidden : invalid;
}

function detailsOf(error: unknown): {
  readonly name: string;
  readonly message: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
} {
  const { name, $metadata, $response } = (typeof error === "object" && error !== null ? error : {}) as {
    readonly name?: unknown;
    readonly $metadata?: { readonly httpStatusCode?: unknown };
    readonly $response?: { readonly headers?: Readonly<Record<string, unknown>> };
  };
  const status = $metadata?.httpStatusCode;
  const seconds = Number($response?.headers?.["retry-after"] ?? Number.NaN);
  return {
    name: typeof name === "string" && name !== "" ? name : "Error",
    message: messageOf(error),
    status: typeof status === "number" ? status : undefined,
    retryAfterMs: Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined,
  };
}

/** The SDK's own error holds the request and its headers, which are not kept. */
function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
}
