import { ownValue } from "@virtual-kubelet/kubernetes";
import { badRequest, unprocessable } from "../errors/api-status-error.ts";
import { cloneJson, equalJson, isJsonObject, type JsonObject, type JsonValue, setMember } from "../json/json-value.ts";

type Container = JsonObject | JsonValue[];

/**
 * Applies a JSON patch (RFC 6902). The document is not modified.
 *
 * @throws ApiStatusError 400 if the patch is malformed, 422 if it cannot be applied
 */
export function applyJsonPatch(document: JsonValue, patch: JsonValue): JsonValue {
  if (!Array.isArray(patch))
    throw badRequest("error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp");
  // With a root above the document, replacing the whole document is an ordinary operation.
  const root: JsonObject = { document: cloneJson(document) };
  for (const operation of patch) applyOperation(root, operation);
  return root["document"] ?? null;
}

function applyOperation(root: JsonObject, operation: JsonValue): void {
  if (!isJsonObject(operation)) throw badRequest("error decoding patch: json: cannot unmarshal into Go value of type jsonpatch.Operation");
  const { op, value } = operation;
  const path = segmentsOf(operation["path"]);
  switch (op) {
    case "add":
      return add(root, path, value ?? null);
    case "remove":
      return void remove(root, path);
    case "replace":
      // As in the real server's library, a member that does not exist is added.
      return write(root, path, value ?? null);
    case "move":
      return add(root, path, remove(root, segmentsOf(operation["from"])));
    case "copy":
      return add(root, path, cloneJson(tryRead(root, segmentsOf(operation["from"])) ?? null));
    case "test":
      if (!equalJson(tryRead(root, path) ?? null, value ?? null)) throw unprocessable();
      return;
    default:
      throw unprocessable();
  }
}

/** Segments of a path below the root that holds the document. */
function segmentsOf(pointer: JsonValue | undefined): string[] {
  if (typeof pointer !== "string" || (pointer !== "" && !pointer.startsWith("/"))) throw unprocessable();
  return [
    "document",
    ...pointer
      .split("/")
      .slice(1)
      .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~")),
  ];
}

function add(root: JsonObject, path: readonly string[], value: JsonValue): void {
  const { parent, key } = locate(root, path);
  if (!Array.isArray(parent)) {
    setMember(parent, key, value);
    return;
  }
  const index = key === "-" ? parent.length : arrayIndex(parent, key, parent.length);
  parent.splice(index, 0, value);
}

function remove(root: JsonObject, path: readonly string[]): JsonValue {
  const value = read(root, path);
  const { parent, key } = locate(root, path);
  if (Array.isArray(parent)) parent.splice(arrayIndex(parent, key, parent.length - 1), 1);
  else delete parent[key];
  return value;
}

function write(root: JsonObject, path: readonly string[], value: JsonValue): void {
  const { parent, key } = locate(root, path);
  if (Array.isArray(parent)) parent[arrayIndex(parent, key, parent.length - 1)] = value;
  else setMember(parent, key, value);
}

function read(root: JsonObject, path: readonly string[]): JsonValue {
  const value = tryRead(root, path);
  if (value === undefined) throw unprocessable();
  return value;
}

function tryRead(root: JsonObject, path: readonly string[]): JsonValue | undefined {
  const { parent, key } = locate(root, path);
  if (Array.isArray(parent)) return parent[arrayIndex(parent, key, parent.length - 1)];
  return ownValue(parent, key);
}

function locate(root: JsonObject, path: readonly string[]): { parent: Container; key: string } {
  let parent: Container = root;
  for (const segment of path.slice(0, -1)) {
    const child: JsonValue | undefined = Array.isArray(parent)
      ? parent[arrayIndex(parent, segment, parent.length - 1)]
      : ownValue(parent, segment);
    if (typeof child !== "object" || child === null) throw unprocessable();
    parent = child;
  }
  return { parent, key: path.at(-1) ?? "" };
}

function arrayIndex(array: readonly JsonValue[], segment: string, last: number): number {
  if (!/^-?(0|[1-9]\d*)$/.test(segment)) throw unprocessable();
  const number = Number(segment);
  // As in the real server's library, negative indexes count from the end.
  const index = number < 0 ? number + array.length : number;
  if (index < 0 || index > last) throw unprocessable();
  return index;
}
