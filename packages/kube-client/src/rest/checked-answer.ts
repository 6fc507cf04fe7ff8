import { UnavailableError } from "@virtual-kubelet/errdefs";
import { isJsonObject } from "@virtual-kubelet/kubernetes";
import type { ObjectList, ObjectName, WatchEvent } from "./client.ts";
import { DecodeError } from "../errors/decode-error.ts";
import type { KubernetesObject, Status } from "./objects.ts";
import type { Resource } from "./resources.ts";

/** Maximum length of a value in an error. */
const maxShownLength = 100;

/** Expectations for an answer. */
export interface AnswerExpectation<T extends KubernetesObject> {
  readonly resource: Resource<T>;
  /** For error messages: `list pods default`. */
  readonly operation: string;
}

/** Expectations for the objects of a list or watch. */
export interface SelectionExpectation<T extends KubernetesObject> extends AnswerExpectation<T> {
  /** `undefined`: objects of all namespaces. */
  readonly namespace?: string | undefined;
  /** Whether the objects' metadata alone is accepted as well. Default: `false`. */
  readonly metadataOnly?: boolean | undefined;
}

/** Expectations for the object of an answer. */
export interface ObjectExpectation<T extends KubernetesObject> extends AnswerExpectation<T> {
  /** `undefined`: any object of the kind, as after a creation. */
  readonly name: ObjectName | undefined;
  readonly subresource: string | undefined;
  /** Whether the object's metadata alone is accepted as well. */
  readonly metadataOnly: boolean;
}

/**
 * Checks an answer of 200 to a list. A gateway, a proxy's error page or another API may answer in the API server's
 * place, and such an answer must never count as an empty list, which would end all pods of a node.
 *
 * @param previous - token of the previous page
 * @throws UnavailableError, with a DecodeError as its cause, naming the field that is wrong
 */
export function checkedList<T extends KubernetesObject>(
  answer: unknown,
  { resource, operation, namespace, metadataOnly = false }: SelectionExpectation<T>,
  previous?: string,
): ObjectList<T> {
  const answered = fieldsOf(operation, answer);
  const kind = `${resource.kind}List`;
  if (!(metadataOnly && isMetadataOnly(answered, "PartialObjectMetadataList"))) {
    if (answered["kind"] !== kind) throw unexpected(operation, "kind", answered["kind"], `"${kind}"`, answer);
    checkVersion(operation, "apiVersion", answered["apiVersion"], resource);
  }
  // Go writes null for an empty list.
  const items = answered["items"] === null ? [] : answered["items"];
  if (!Array.isArray(items)) throw unexpected(operation, "items", items, "an array");
  const metadata = metadataOf(operation, answered);
  const { resourceVersion } = metadata;
  if (!isText(resourceVersion)) throw unexpected(operation, "metadata.resourceVersion", resourceVersion, "a version");
  const next = metadata["continue"] ?? "";
  if (typeof next !== "string") throw unexpected(operation, "metadata.continue", next, "a token");
  // A list that leads back to its previous page would never end.
  if (next !== "" && next === previous)
    throw unexpected(operation, "metadata.continue", next, "another token than that of the page before");
  for (const [index, item] of items.entries()) checkItem(item, `items[${index}]`, { resource, operation, namespace, metadataOnly });
  return { items: items as T[], resourceVersion, continue: next || undefined };
}

/**
 * Checks an answer of 200 to a request for one object.
 *
 * @throws UnavailableError, with a DecodeError as its cause, naming the field that is wrong
 */
export function checkedObject<T extends KubernetesObject>(answer: unknown, expectation: ObjectExpectation<T>): T {
  const { resource, operation, subresource, metadataOnly } = expectation;
  const answered = fieldsOf(operation, answer);
  if (subresource !== undefined && subresource !== "status") {
    // Sub-resources answer with their own kinds.
    if (isFailure(answered)) throw unexpected(operation, "kind", answered["kind"], `the answer of ${subresource}`, answer);
    return answer as T;
  }
  if (!(metadataOnly && isMetadataOnly(answered))) {
    if (answered["kind"] !== resource.kind) throw unexpected(operation, "kind", answered["kind"], `"${resource.kind}"`, answer);
    checkVersion(operation, "apiVersion", answered["apiVersion"], resource);
  }
  if (expectation.name) checkName(operation, answered, expectation.name);
  return answer as T;
}

/**
 * Checks an answer of 200 to a deletion: the current object, its metadata alone, or a `Status` of success.
 *
 * @throws UnavailableError, with a DecodeError as its cause, naming the field that is wrong
 */
export function checkDeleted<T extends KubernetesObject>(
  answer: unknown,
  { resource, operation, name }: AnswerExpectation<T> & { readonly name: ObjectName },
): void {
  const answered = fieldsOf(operation, answer);
  if (answered["kind"] === "Status" && answered["status"] === "Success") return;
  if (answered["kind"] !== resource.kind && !isMetadataOnly(answered)) {
    throw unexpected(operation, "kind", answered["kind"], `"${resource.kind}", or "Status" with status "Success"`, answer);
  }
  checkName(operation, answered, name);
}

/**
 * Checks a line of a watch.
 *
 * @param length - length of the line, for the error, which does not show the content
 * @throws DecodeError
 */
export function checkedEvent<T extends KubernetesObject>(
  event: unknown,
  length: number,
  { resource, operation, namespace, metadataOnly = false }: SelectionExpectation<T>,
): WatchEvent<T> {
  if (!isJsonObject(event) || !("type" in event) || !isJsonObject(event["object"])) {
    throw new DecodeError(`${operation}: a line of ${length} characters is not a watch event`);
  }
  const { type, object } = event;
  const wrong = (field: string, value: unknown, expected: string): DecodeError =>
    new DecodeError(`${operation}: a watch event has ${fieldWith(field, value)}, expected ${expected}`);
  switch (type) {
    case "ERROR":
      if (object["kind"] !== "Status") throw wrong("object.kind", object["kind"], `"Status", as its type is ERROR`);
      break;
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
    case "BOOKMARK": {
      const version = versionOf(resource);
      if (!(metadataOnly && isMetadataOnly(object))) {
        if (object["kind"] !== resource.kind) throw wrong("object.kind", object["kind"], `"${resource.kind}"`);
        if (object["apiVersion"] !== version) throw wrong("object.apiVersion", object["apiVersion"], `"${version}"`);
      }
      const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
      const { resourceVersion } = metadata;
      if (!isText(resourceVersion)) throw wrong("object.metadata.resourceVersion", resourceVersion, "a version");
      // A bookmark's object has only a version.
      if (type !== "BOOKMARK" && isElsewhere(metadata, resource, namespace)) {
        throw wrong("object.metadata.namespace", metadata["namespace"], `"${namespace}"`);
      }
      break;
    }
    default:
      throw wrong("type", type, "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR");
  }
  return event as unknown as WatchEvent<T>;
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(operation: string, answer: unknown): Fields {
  if (isJsonObject(answer)) return answer;
  throw unreadable(operation, `the answer is ${typeof answer === "string" ? "a text" : shown(answer)}, expected an object`);
}

function metadataOf(operation: string, answered: Fields): Fields {
  const { metadata } = answered;
  if (!isJsonObject(metadata)) throw unexpected(operation, "metadata", metadata, "an object");
  return metadata;
}

/** Items of a list may lack their kind, which follows from the list's. */
function checkItem(
  item: unknown,
  field: string,
  { resource, operation, namespace, metadataOnly }: SelectionExpectation<KubernetesObject>,
): void {
  if (!isJsonObject(item)) throw unexpected(operation, field, item, "an object");
  const { kind, apiVersion } = item;
  if (!(metadataOnly && isMetadataOnly(item))) {
    if (kind !== undefined && kind !== resource.kind) throw unexpected(operation, `${field}.kind`, kind, `"${resource.kind}"`);
    if (apiVersion !== undefined) checkVersion(operation, `${field}.apiVersion`, apiVersion, resource);
  }
  const metadata = isJsonObject(item["metadata"]) ? item["metadata"] : {};
  if (isElsewhere(metadata, resource, namespace))
    throw unexpected(operation, `${field}.metadata.namespace`, metadata["namespace"], `"${namespace}"`);
}

function isElsewhere(metadata: Fields, { namespaced }: Resource<object>, namespace: string | undefined): boolean {
  return namespaced && namespace !== undefined && metadata["namespace"] !== namespace;
}

function checkVersion(operation: string, field: string, apiVersion: unknown, resource: Resource<object>): void {
  const expected = versionOf(resource);
  if (apiVersion !== expected) throw unexpected(operation, field, apiVersion, `"${expected}"`);
}

function checkName(operation: string, answered: Fields, { namespace, name }: ObjectName): void {
  const metadata = metadataOf(operation, answered);
  if (metadata["name"] !== name) throw unexpected(operation, "metadata.name", metadata["name"], `"${name}"`);
  if (namespace !== undefined && metadata["namespace"] !== namespace) {
    throw unexpected(operation, "metadata.namespace", metadata["namespace"], `"${namespace}"`);
  }
}

function versionOf({ group, version }: Resource<object>): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Source: kubernetes.io "API concepts", PartialObjectMetadata. */
function isMetadataOnly({ kind, apiVersion }: Fields, expected = "PartialObjectMetadata"): boolean {
  return kind === expected && apiVersion === "meta.k8s.io/v1";
}

function isFailure(answered: Fields): boolean {
  return answered["kind"] === "Status" && answered["status"] === "Failure";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** @param answer - the answer, if it may be a `Status` with more information */
function unexpected(operation: string, field: string, value: unknown, expected: string, answer?: unknown): UnavailableError {
  const said = isJsonObject(answer) && isFailure(answer) ? `; it says: ${saidBy(answer)}` : "";
  return unreadable(operation, `the answer has ${fieldWith(field, value)}, expected ${expected}${said}`);
}

function unreadable(operation: string, problem: string): UnavailableError {
  const message = `${operation}: ${problem}; is the server's address that of a Kubernetes API server?`;
  return new UnavailableError(message, { cause: new DecodeError(problem) });
}

function saidBy(status: Partial<Status>): string {
  const { code, message, reason } = status;
  return [code, message ?? reason]
    .filter((part) => typeof part === "string" || typeof part === "number")
    .join(" ")
    .slice(0, 256);
}

function fieldWith(field: string, value: unknown): string {
  return value === undefined ? `no ${field}` : `${field} ${shown(value)}`;
}

/** Returns a truncated string or number, otherwise the type of the value, because an answer may hold secrets. */
function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, maxShownLength));
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
