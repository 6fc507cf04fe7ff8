import { escapedJson, goJson } from "../json/go-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { byCodeUnits } from "../json/key-order.ts";
import { apiVersionOf } from "../kinds/api-version.ts";
import type { Kind } from "../kinds/kind.ts";
import { declaredFields, messageOfKind } from "../kinds/schema/protobuf-messages.ts";
import type { ParsedPatch } from "./patch-json.ts";

/**
 * Objects that the patch library has opened, by their path; it writes their fields sorted. `whole` includes everything below. `sent` is a value that
 * stays as the patch has it.
 */
type Opened = ReadonlyMap<string, "own" | "whole" | "sent">;

/** Source of the order of fields; `undefined` for maps, which Go sorts. */
type Message = string | undefined;

/**
 * The patched object as the real server's message shows it. The library sorts the fields of the objects that a patch touches, and leaves the rest as
 * Go has written it, in the order of the struct.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/endpoints/handlers/patch.go, and gopkg.in/evanphx/json-patch.v4. A strategic merge patch is shown itself.
 *
 * @param patched - `object` after the patch
 */
export function patchedText(kind: Kind, object: JsonObject, { type, body }: ParsedPatch, patched: JsonValue): string {
  if (type === "strategic") return goMapText(body);
  if (kind.custom !== undefined) return goJson(patched);
  const opened = new Map<string, "own" | "whole" | "sent">([["", "own"]]);
  if (type === "json") openByOperations(opened, body);
  else openByMerge(opened, { target: object, patch: body, path: "" });
  return orderedText(patched, messageOfKind(apiVersionOf(kind), kind.kind), { path: "", opened });
}

function openByOperations(opened: Map<string, "own" | "whole" | "sent">, operations: JsonValue): void {
  for (const operation of Array.isArray(operations) ? operations : []) {
    if (!isJsonObject<JsonValue>(operation)) continue;
    const { op, path } = operation;
    if (typeof path === "string" && (op === "add" || op === "replace")) opened.set(path, "sent");
    for (const pointer of [path, operation["from"]]) {
      if (typeof pointer !== "string") continue;
      const segments = pointer.split("/").slice(1, -1);
      for (let count = 1; count <= segments.length; count++) opened.set(pathOf(segments.slice(0, count)), "own");
    }
  }
}

function pathOf(segments: readonly string[]): string {
  return segments.map((segment) => `/${segment}`).join("");
}

function openByMerge(
  opened: Map<string, "own" | "whole" | "sent">,
  { target, patch, path }: { readonly target: JsonValue | undefined; readonly patch: JsonValue; readonly path: string },
): void {
  if (!isJsonObject<JsonValue>(patch)) {
    opened.set(path, "whole");
    return;
  }
  opened.set(path, isJsonObject(target) ? "own" : "whole");
  if (!isJsonObject<JsonValue>(target)) return;
  for (const [key, value] of Object.entries(patch))
    openByMerge(opened, { target: target[key], patch: value, path: `${path}/${escaped(key)}` });
}

function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

interface Place {
  readonly path: string;
  readonly opened: Opened;
}

function orderedText(value: JsonValue, message: Message, { path, opened }: Place): string {
  if (opened.get(path) === "whole") return goJson(value);
  if (opened.get(path) === "sent") return escapedJson(value);
  if (Array.isArray(value))
    return `[${value.map((item, index) => orderedText(item, message, { path: `${path}/${String(index)}`, opened })).join(",")}]`;
  if (!isJsonObject<JsonValue>(value)) return goJson(value);
  const fields = message === undefined ? [] : declaredFields(message);
  const types = new Map(fields.map(({ name, type, shape }) => [name, shape === "map" ? undefined : type]));
  const keys = opened.has(path) || fields.length === 0 ? Object.keys(value).toSorted(byCodeUnits) : keysInOrder(value, [...types.keys()]);
  const members = keys.map((key) => {
    const type = types.get(key);
    return `${goJson(key)}:${orderedText(value[key] ?? null, type, { path: `${path}/${escaped(key)}`, opened })}`;
  });
  return `{${members.join(",")}}`;
}

/** Unknown fields come last. */
function keysInOrder(value: JsonObject, names: readonly string[]): string[] {
  const known = names.filter((name) => Object.hasOwn(value, name));
  return [...new Set([...known, ...Object.keys(value)])];
}

/** A JSON value as Go's `%+v` writes it, such as `map[data:map[k:5]]`. Source: Go's fmt/print.go. */
function goMapText(value: JsonValue): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goMapText).join(" ")}]`;
  if (!isJsonObject<JsonValue>(value)) return String(value);
  const members = Object.entries(value).toSorted(([a], [b]) => byCodeUnits(a, b));
  return `map[${members.map(([key, member]) => `${key}:${goMapText(member)}`).join(" ")}]`;
}
