import { isInvalidInput, messageOf } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { impersonationHeaders, type Impersonation } from "./impersonation.ts";

const who = 'kubeconfig k: user "u"';

test("a user, its UID, its groups and what else is known of it are headers", () => {
  expect(
    impersonationHeaders(who, {
      as: "ann",
      "as-uid": "17",
      "as-groups": ["dev", "ops"],
      "as-user-extra": { scopes: ["view", "edit"], reason: ["audit"] },
    }),
  ).toEqual({
    "impersonate-user": "ann",
    "impersonate-uid": "17",
    "impersonate-group": ["dev", "ops"],
    "impersonate-extra-scopes": ["view", "edit"],
    "impersonate-extra-reason": ["audit"],
  });
});

test.each<Impersonation>([{}, { as: "" }, { as: null, "as-uid": "", "as-groups": null, "as-user-extra": null }])(
  "nobody is impersonated by %j",
  (user) => {
    expect(impersonationHeaders(who, user)).toBeUndefined();
  },
);

test("what is empty is left out", () => {
  expect(impersonationHeaders(who, { as: "ann", "as-uid": "", "as-groups": [], "as-user-extra": {} })).toEqual({
    "impersonate-user": "ann",
  });
});

test("nobody is impersonated where all is empty", () => {
  expect(impersonationHeaders(who, { as: "", "as-uid": "", "as-groups": [], "as-user-extra": {} })).toBeUndefined();
});

test("a key is encoded as a header's name takes it, and a text as its bytes", () => {
  const headers = impersonationHeaders(who, { as: "änn", "as-user-extra": { "example.com/Zone%漢": ["x"] } });

  expect(Object.keys(headers ?? {})).toEqual(["impersonate-user", "impersonate-extra-example.com%2fzone%25%e6%bc%a2"]);
  expect(Buffer.from(String(headers?.["impersonate-user"]), "latin1").toString("utf8")).toBe("änn");
});

test.each<[Impersonation, string]>([
  [{ "as-uid": "17" }, "has as-uid without as: name the user to act as"],
  [{ "as-groups": ["dev"] }, "has as-groups without as: name the user to act as"],
  [{ as: "", "as-user-extra": { a: ["b"] } }, "has as-user-extra without as: name the user to act as"],
  [{ as: 7 }, "has as 7, expected a text"],
  [{ as: "ann\r\nX: y" }, 'has as "ann\\r\\nX: y", expected a text without control characters'],
  [{ as: "ann", "as-uid": ["17"] }, 'has as-uid ["17"], expected a text'],
  [{ as: "ann", "as-groups": "dev" }, 'has as-groups "dev", expected a list of texts such as ["system:nodes"]'],
  [{ as: "ann", "as-groups": ["dev", 7] }, "has as-groups[1] 7, expected a text"],
  [{ as: "ann", "as-groups": ["dev\n"] }, 'has as-groups[0] "dev\\n", expected a text without control characters'],
  [{ as: "ann", "as-user-extra": ["a"] }, 'has as-user-extra ["a"], expected lists of texts by key, such as {"scopes": ["view"]}'],
  [{ as: "ann", "as-user-extra": { a: "b" } }, 'has as-user-extra.a "b", expected a list of texts such as ["system:nodes"]'],
])("%j is refused by field", (user, problem) => {
  let error: unknown;
  try {
    impersonationHeaders(who, user);
  } catch (thrown) {
    error = thrown;
  }

  expect(error).toSatisfy(isInvalidInput);
  expect(messageOf(error)).toBe(`${who} ${problem}`);
});
