import { ownValue } from "@virtual-kubelet/kubernetes";
import { badRequest, tooLarge, unprocessable } from "../errors/api-status-error.ts";
import { goJsonType } from "../json/go-json.ts";
import { cloneJson, equalJson, isJsonObject, type JsonObject, type JsonValue, setMember } from "../json/json-value.ts";

type Container = JsonObject | JsonValue[];

/** Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/patch.go, `maxJSONPatchOperations`. */
const maxOperations = 10_000;

/**
 * Applies a JSON patch (RFC 6902). The document is not modified.
 *
 * Source: gopkg.in/evanphx/json-patch.v4 patch.go, with its deviations from the RFC: the first segment of a path is ignored even if it is
 * not empty, a negative index counts from the end, and a member to be replaced may be missing.
 *
 * @throws ApiStatusError 400 if the patch is malformed, 413 if it has too many operations, 422 if it cannot be applied
 */
export function applyJsonPatch(document: JsonValue, patch: JsonValue): JsonValue {
  const operations = operationsOf(patch);
  if (operations.length > maxOperations)
    throw tooLarge(`The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`);
  const root = { document: cloneJson(document) };
  for (const operation of operations) applyOperation(root, operation);
  return root.document;
}

/** Source: the same file of the API server, `jsonPatchOp`. @throws ApiStatusError 400 */
function operationsOf(patch: JsonValue): readonly JsonObject[] {
  if (patch === null) return [];
  if (!Array.isArray(patch)) throw malformed(`json: cannot unmarshal ${goJsonType(patch)} into Go value of type []handlers.jsonPatchOp`);
  return patch.map((operation) => {
    if (operation === null) return {};
    if (!isJsonObject<JsonValue>(operation))
      throw malformed(`json: cannot unmarshal ${goJsonType(operation)} into Go value of type handlers.jsonPatchOp`);
    for (const [field, value] of Object.entries(operation)) {
      if (stringFields.has(field) && value !== null && typeof value !== "string")
        throw malformed(`json: cannot unmarshal ${goJsonType(value)} into Go struct field jsonPatchOp.${field} of type string`);
    }
    return operation;
  });
}

const stringFields: ReadonlySet<string> = new Set(["op", "path", "from"]);

function malformed(problem: string): Error {
  return badRequest(`error decoding patch: ${problem}`);
}

/** Holder of the document, which an operation may replace. */
interface Root {
  document: JsonValue;
}

function applyOperation(root: Root, { op, path, from, value = null }: JsonObject): void {
  switch (op) {
    case "add":
      return add(locate(root, path), cloneJson(value));
    case "remove":
      return void remove(locate(root, path));
    case "replace":
      if (path === "") return replaceDocument(root, value);
      return write(locate(root, path), cloneJson(value));
    case "move": {
      const moved = remove(locate(root, from));
      return add(locate(root, path), moved);
    }
    case "copy": {
      const copied = cloneJson(read(locate(root, from)) ?? null);
      return add(locate(root, path), copied);
    }
    case "test":
      if (!equalJson(path === "" ? root.document : (read(locate(root, path)) ?? null), value)) throw unprocessable();
      return;
    default:
      throw unprocessable();
  }
}

function replaceDocument(root: Root, value: JsonValue): void {
  if (typeof value !== "object" || value === null) throw unprocessable();
  root.document = cloneJson(value);
}

/** A member of an object, or an item of a list. */
interface Place {
  readonly parent: Container;
  readonly key: string;
}

/** @throws ApiStatusError 422 if the path is no text, has no slash, or its parent is not there */
function locate(root: Root, path: JsonValue | undefined): Place {
  if (typeof path !== "string") throw unprocessable();
  const segments = path.split("/").slice(1).map(unescaped);
  const key = segments.pop();
  let parent: JsonValue | undefined = root.document;
  for (const segment of segments) parent = isContainer(parent) ? read({ parent, key: segment }) : undefined;
  if (key === undefined || !isContainer(parent)) throw unprocessable();
  return { parent, key };
}

/** Go's replacer looks for both sequences from left to right, so that it leaves `~1` of `~01`. */
function unescaped(segment: string): string {
  return segment.replaceAll(/~[01]/g, (sequence) => (sequence === "~1" ? "/" : "~"));
}

function isContainer(value: JsonValue | undefined): value is Container {
  return typeof value === "object" && value !== null;
}

function add({ parent, key }: Place, value: JsonValue): void {
  if (Array.isArray(parent)) parent.splice(key === "-" ? parent.length : indexOf(key, parent.length + 1), 0, value);
  else setMember(parent, key, value);
}

function remove(place: Place): JsonValue {
  const value = read(place);
  const { parent, key } = place;
  if (value === undefined) throw unprocessable();
  if (Array.isArray(parent)) parent.splice(indexOf(key, parent.length), 1);
  else delete parent[key];
  return value;
}

function write({ parent, key }: Place, value: JsonValue): void {
  if (Array.isArray(parent)) parent[indexOf(key, parent.length)] = value;
  else setMember(parent, key, value);
}

/** @throws ApiStatusError 422 if a list has no such item */
function read({ parent, key }: Place): JsonValue | undefined {
  return Array.isArray(parent) ? parent[indexOf(key, parent.length)] : ownValue(parent, key);
}

/** @param count - number of valid indexes; negative ones count from there */
function indexOf(key: string, count: number): number {
  if (!/^[+-]?\d+$/.test(key)) throw unprocessable();
  const number = Number(key);
  const index = number < 0 ? number + count : number;
  if (index < 0 || index >= count) throw unprocessable();
  return index;
}
