import { expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { emptySet, setOf } from "./field-set.ts";
import { mergeTypeOfSchema } from "./merge-type.ts";
import { fieldElement } from "./path-element.ts";
import { applyChange, type Change, managersAfterUpdate, VersionMismatch } from "./updater.ts";

const text = { type: "string" } as const;
const type = (...fields: readonly string[]) =>
  mergeTypeOfSchema({ type: "object", properties: Object.fromEntries(["apiVersion", ...fields].map((field) => [field, text])) });
const types = new Map([
  ["v1", type("size", "policy")],
  ["v1beta1", type("size")],
]);

function changeOf(manager: string, mayChange = true): Change {
  return {
    versions: {
      typeIn: (version) => types.get(version),
      convert: (object, apiVersion) => (isJsonObject<JsonValue>(object) ? { ...object, apiVersion } : object),
      resetFields: () => emptySet,
      mayChange,
    },
    apiVersion: "v1",
    managers: new Map([["old", { apiVersion: "v1beta1", isApplied: true, fields: setOf([fieldElement("size")]) }]]),
    manager,
  };
}

const sized: JsonObject = { apiVersion: "v1", size: "small" };
const undeclared = ".policy: field not declared in schema";

test("a live object has to agree with the versions of all its managers", () => {
  const live = { ...sized, policy: "x" };

  expect(() => applyChange(changeOf("new"), live, sized, true)).toThrow(new VersionMismatch(undeclared));
  expect(() => managersAfterUpdate(changeOf("new"), live, live)).toThrow(new VersionMismatch(undeclared));
});

test("so does what a write makes of it", () => {
  const changed = { ...sized, policy: "x" };

  expect(() => managersAfterUpdate(changeOf("new"), sized, changed)).toThrow(`failed to convert new object: ${undeclared}`);
  expect(() => applyChange(changeOf("old"), sized, changed, true)).toThrow(
    `failed to prune fields: failed to convert merged object to last applied version: ${undeclared}`,
  );
});

test("versions whose types cannot change are not checked", () => {
  const { managers } = applyChange(changeOf("new", false), { ...sized, policy: "x" }, { ...sized, size: "big" }, true);

  expect([...managers.keys()]).toEqual(["new"]);
});
