import {
  ConflictError,
  DeadlineExceededError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  QuotaExceededError,
  UnauthorizedError,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import { isJsonObject } from "@virtual-kubelet/kubernetes";
import { ThrottledError } from "@virtual-kubelet/remote-pods";

/** Maximum number of characters of Azure's text in a message. */
const maxTextLength = 1_000;

/** An answer of Azure Resource Manager that is no success. */
export interface FailedAnswer {
  readonly status: number;
  readonly body: unknown;
  /** Milliseconds of the header Retry-After. */
  readonly retryAfterMs: number | undefined;
}

/**
 * Translates a failed answer. A 404 counts as "not found" only if it is Resource Manager's own and about the resource itself; that of a proxy, a
 * missing resource group or subscription says nothing about a pod.
 *
 * @param attempted - such as `create container group vk-shop-web`; begins the message
 * @param secrets - texts that the message must not show
 */
export function armError({ status, body, retryAfterMs }: FailedAnswer, attempted: string, secrets: readonly string[] = []): Error {
  const { code, message } = readError(body);
  const said = [code, message].filter((part) => part !== undefined && part !== "").join(": ") || `HTTP status ${status}`;
  const advice = code !== undefined && Object.hasOwn(advices, code) ? `; ${advices[code]}` : "";
  const text = `${attempted}: Azure: ${withoutSecrets(said, secrets).slice(0, maxTextLength)}${advice}`;
  const kind = kindOfCode(code, message) ?? kindOfStatus(status, code);
  return makers[kind](text, retryAfterMs);
}

type Kind = keyof typeof makers;

const makers = {
  conflict: (text: string) => new ConflictError(text),
  deadline: (text: string) => new DeadlineExceededError(text),
  forbidden: (text: string) => new ForbiddenError(text),
  full: (text: string, retryAfterMs: number | undefined) => new QuotaExceededError(text, { retryAfterMs }),
  invalid: (text: string) => new InvalidInputError(text),
  notFound: (text: string) => new NotFoundError(text),
  throttled: (text: string, retryAfterMs: number | undefined) => new ThrottledError(text, { retryAfterMs }),
  unauthorized: (text: string) => new UnauthorizedError(text),
  unavailable: (text: string, retryAfterMs: number | undefined) => new UnavailableError(text, { retryAfterMs }),
  unregistered: (text: string) => new ForbiddenError(`${text}; run: az provider register --namespace Microsoft.ContainerInstance`),
};

/** Azure's codes that say more than the status does. */
const kindByCode: ReadonlyMap<string, Kind> = new Map([
  ["ContainerGroupQuotaReached", "full"],
  ["QuotaExceeded", "full"],
  ["InsufficientCapacity", "full"],
  ["SkuNotAvailable", "full"],
  // States of Azure, not of the request. `ServerTimeout` may have created the group: azure-aci issue 132.
  ["ContainerGroupTransitioning", "unavailable"],
  ["RegistryErrorResponse", "unavailable"],
  ["ServerTimeout", "unavailable"],
  ["ServiceUnavailable", "unavailable"],
  ["InaccessibleImage", "invalid"],
  ["ImageOsTypeNotMatchContainerGroup", "invalid"],
  ["RequestDisallowedByPolicy", "invalid"],
  ["MissingSubscriptionRegistration", "unregistered"],
  ["SubscriptionNotRegistered", "unregistered"],
  ["TooManyRequests", "throttled"],
]);

/** Advice after Azure's text, by its code. */
const advices: Readonly<Record<string, string>> = {
  ResourceGroupNotFound: "create it, or correct resourceGroup (or ACI_RESOURCE_GROUP)",
  SubscriptionNotFound: "correct subscriptionId (or AZURE_SUBSCRIPTION_ID), or the cloud",
  InvalidSubscriptionId: "correct subscriptionId (or AZURE_SUBSCRIPTION_ID)",
  InvalidAuthenticationTokenTenant: "correct tenantId (or AZURE_TENANT_ID), or subscriptionId",
  LocationNotAvailableForResourceType: "correct region (or ACI_REGION)",
};

/** Codes of a 404 about the resource itself. */
const notFoundCodes: readonly (string | undefined)[] = ["ResourceNotFound", "NotFound", "ContainerGroupNotFound"];

function kindOfCode(code = "", message = ""): Kind | undefined {
  if (/quota.{0,20}exceeded|exceed.{0,40}quota|not available in the location/i.test(message)) return "full";
  return kindByCode.get(code);
}

function kindOfStatus(status: number, code: string | undefined): Kind {
  switch (status) {
    case 401:
      return "unauthorized";
    case 403:
      return "forbidden";
    case 404:
      return notFoundCodes.includes(code) ? "notFound" : "unavailable";
    case 408:
    case 504:
      return "deadline";
    case 409:
    case 412:
      return "conflict";
    case 429:
      return "throttled";
    default:
      return status >= 500 ? "unavailable" : "invalid";
  }
}

function readError(body: unknown): { readonly code?: string | undefined; readonly message?: string | undefined } {
  const error = isJsonObject(body) ? body["error"] : undefined;
  if (!isJsonObject(error)) return {};
  const { code, message } = error;
  return { code: typeof code === "string" ? code : undefined, message: typeof message === "string" ? message : undefined };
}

/** Replaces secrets, because Azure may quote a part of the request. Short values are left, as they would blot out common words. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  const spellings = secrets.flatMap((secret) => (secret.length < 6 ? [] : spellingsOf(secret)));
  // A longer one first, because it may contain a shorter one.
  return spellings.toSorted((a, b) => b.length - a.length).reduce((rest, spelling) => rest.replaceAll(spelling, "[redacted]"), text);
}

/** A secret as it is, as a part of a JSON text, and in base64. */
function spellingsOf(secret: string): readonly string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), Buffer.from(secret).toString("base64")];
}
