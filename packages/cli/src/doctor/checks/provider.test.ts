import { ForbiddenError, InvalidInputError, UnauthorizedError, UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { judgeAccess } from "./configuration.ts";
import { judgeTrial } from "./provider.ts";

test.for([
  ["created", { created: new UnavailableError("no socket") }, "provider.ping", /no socket/, /start the back end/],
  ["created", { created: new InvalidInputError("set region") }, "provider.ping", /set region/, /set it in --provider-config/],
  ["answered", { answered: new UnauthorizedError("bad token") }, undefined, /refuses the credentials: bad token/, /renew token/],
  ["answered", { answered: new ForbiddenError("not you") }, undefined, /lack a right at the back end: not you/, /grant that right/],
] as const)("a back end that fails when it is %s is one failure", ([, trial, check, says, repair]) => {
  const [judgement, ...others] = judgeTrial(trial, "mock");

  expect(others).toEqual([]);
  expect(judgement).toMatchObject({ status: "fail", message: expect.stringMatching(says), ...(check && { check }) });
  expect(judgement?.repair).toContainEqual(expect.stringMatching(repair));
});

test("a back end that answers, but does not let the node be described, is told apart", () => {
  expect(judgeTrial({ described: new ForbiddenError("no nodes") }, "mock").map(({ status, check }) => [status, check])).toEqual([
    ["pass", undefined],
    ["fail", "provider.description"],
  ]);
});

test("what does not work although the node runs is a warning for each", () => {
  expect(judgeTrial({ warnings: ["no figures", "the same cluster"] }, "mock")).toMatchObject([
    { status: "pass" },
    { status: "pass", check: "provider.description" },
    { status: "warn", check: "provider.access", message: "no figures" },
    { status: "warn", check: "provider.access", message: "the same cluster" },
  ]);
});

test.for([
  ["Webhook", false, "pass"],
  ["Webhook", true, "warn"],
  ["AlwaysAllow", false, "warn"],
  ["AlwaysAllow", true, "warn"],
] as const)("authorization mode %s with anonymous access %s: %s", ([authorizationMode, anonymousAuth, status]) => {
  expect(judgeAccess({ authorizationMode, anonymousAuth }).status).toBe(status);
});
