import { expect, test } from "vitest";
import { containerLabels, labelNames, podLabels, tryAttempt, tryContainerIdentity } from "./labels.ts";

const ref = { namespace: "default", name: "web", uid: "u1" };
const owner = { clusterId: "c1", nodeName: "n1" };

test("a container's labels give back who it is", () => {
  const identity = { container: "app", attempt: 3, specHash: "abc" };

  expect(tryContainerIdentity(containerLabels(ref, owner, identity))).toEqual(identity);
});

test("a sandbox is no container, and tells its attempt", () => {
  const labels = podLabels(ref, owner, 2);

  expect(tryContainerIdentity(labels)).toBeUndefined();
  expect(tryAttempt(labels)).toBe(2);
});

test.for(["", "-1", "1.5", "x", "99999999999"])("the attempt %j does not count", (text) => {
  expect(tryAttempt({ [labelNames.attempt]: text })).toBeUndefined();
});
