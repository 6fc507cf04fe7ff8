import { expect, test } from "vitest";
import { GoError } from "../../outbound/go-error.ts";
import { applyWebhookPatch, FailedTestError } from "./apply-webhook-patch.ts";

const object = { a: "1", l: [1] };

test.each([
  [{ op: "add", path: "/x/y", value: 1 }, 'add operation does not apply: doc is missing path: "/x/y": missing value'],
  [{ op: "add", path: "", value: 1 }, 'add operation does not apply: doc is missing path: "": missing value'],
  [{ op: "add", path: "/l/5", value: 1 }, "error in add for path: '/l/5': Unable to access invalid index: 5: invalid index referenced"],
  [
    { op: "add", path: "/l/x", value: 1 },
    `error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax`,
  ],
  [{ op: "remove", path: "/x" }, "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value"],
  [{ op: "remove", path: "/l/1" }, "error in remove for path: '/l/1': Unable to access invalid index: 1: invalid index referenced"],
  [{ op: "replace", path: "/l/1", value: 1 }, "replace operation does not apply: doc is missing key: /l/1: missing value"],
  [{ op: "move", path: "/b", from: "/x" }, "error in move for path: 'x': Unable to remove nonexistent key: x: missing value"],
  [{ op: "copy", path: "/b" }, "copy operation failed to decode from: operation, missing from field: missing value"],
  [{ op: "copy", path: "/x/y", from: "/a" }, "copy operation does not apply: doc is missing destination path: /x/y: missing value"],
  [{ op: "merge", path: "/a" }, "Unexpected kind: merge"],
])("a patch %j fails in the words of the real server's library", (operation, message) => {
  expect(() => applyWebhookPatch(object, [operation])).toThrow(new GoError(message));
});

test("a failed test is told from other failures", () => {
  expect(() => applyWebhookPatch(object, [{ op: "test", path: "/a", value: "2" }])).toThrow(FailedTestError);
});

test("operations see the results of earlier ones", () => {
  const patch = [
    { op: "add", path: "/b", value: "2" },
    { op: "copy", from: "/b", path: "/l/-" },
  ];
  expect(applyWebhookPatch(object, patch)).toEqual({ a: "1", b: "2", l: [1, "2"] });
});
