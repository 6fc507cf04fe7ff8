import { describe, expect, test } from "vitest";
import type { PolicyRule } from "../kinds/rbac/rbac-fields.ts";
import type { ResourceAccess } from "./access-request.ts";
import { describeRules, ruleAllows, uncoveredRules } from "./policy-rules.ts";

const access = (fields: Partial<ResourceAccess> = {}): ResourceAccess => ({
  verb: "get",
  group: "",
  resource: "pods",
  subresource: "",
  namespace: "default",
  name: "a",
  fieldValues: new Map(),
  ...fields,
});

const rule = (fields: Partial<PolicyRule> = {}): PolicyRule => ({ verbs: ["get"], apiGroups: [""], resources: ["pods"], ...fields });

describe("a rule allows", () => {
  test.each([
    [rule(), access(), true],
    [rule({ verbs: ["*"] }), access({ verb: "sparkle" }), true],
    [rule({ apiGroups: ["*"], resources: ["*"] }), access({ group: "apps", subresource: "scale" }), true],
    [rule({ resources: ["pods"] }), access({ subresource: "status" }), false],
    [rule({ resources: ["pods/status"] }), access({ subresource: "status" }), true],
    [rule({ resources: ["*/status"] }), access({ subresource: "status" }), true],
    [rule({ resources: ["*/status"] }), access({ subresource: "scale" }), false],
    [rule({ resourceNames: ["a"] }), access(), true],
    [rule({ resourceNames: ["b"] }), access(), false],
    [rule({ resourceNames: ["a"] }), access({ name: "" }), false],
  ])("%j on %j: %s", (given, wanted, isAllowed) => {
    expect(ruleAllows(given, wanted)).toBe(isAllowed);
  });

  test.each([
    ["*", "/anything", true],
    ["/healthz", "/healthz", true],
    ["/healthz", "/healthz/etcd", false],
    ["/healthz/*", "/healthz/etcd", true],
  ])("the paths of %s, such as %s: %s", (url, path, isAllowed) => {
    expect(ruleAllows({ verbs: ["get"], nonResourceURLs: [url] }, { verb: "get", path })).toBe(isAllowed);
  });
});

test("uncovered rules are listed one by one and described together", () => {
  const lacking = uncoveredRules(
    [rule({ resources: ["pods", "*/log"] })],
    [rule({ verbs: ["get", "list", "watch"] }), rule({ resources: ["pods/log"] }), { verbs: ["get"], nonResourceURLs: ["/metrics"] }],
  );

  expect(lacking).toHaveLength(3);
  expect(describeRules(lacking)).toBe(
    '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}\n{NonResourceURLs:["/metrics"], Verbs:["get"]}',
  );
});
