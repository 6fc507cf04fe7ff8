import { expect, test } from "vitest";
import { allContainersCouldRestart, isSidecar, shouldRestart, type RestartableContainer } from "./restart-policy.ts";

const spec = {};
const main: RestartableContainer = {};

test.each([
  ["Always", 0, true],
  ["Always", 1, true],
  ["OnFailure", 0, false],
  ["OnFailure", 1, true],
  ["Never", 0, false],
  ["Never", 1, false],
  [undefined, 0, true],
])("with the pod's restart policy %s a container that ended with %i starts again: %s", (restartPolicy, exitCode, expected) => {
  expect(shouldRestart(main, { ...spec, ...(restartPolicy && { restartPolicy }) }, exitCode)).toBe(expected);
});

test("a container's own policy goes before the pod's", () => {
  expect(shouldRestart({ ...main, restartPolicy: "Never" }, { ...spec, restartPolicy: "Always" }, 1)).toBe(false);
  expect(shouldRestart({ ...main, restartPolicy: "OnFailure" }, { ...spec, restartPolicy: "Never" }, 1)).toBe(true);
});

test.each([
  ["In", [42, 43], 43, true],
  ["In", [42], 1, false],
  ["NotIn", [42], 1, true],
  ["NotIn", [42], 42, false],
  ["Within", [42], 42, false],
  ["Within", [42], 1, false],
  ["NotIn", undefined, 1, true],
  ["In", undefined, 1, false],
])("a rule for exit codes %s %j starts a container again that ended with %i: %s", (operator, values, exitCode, expected) => {
  const rule = { action: "Restart", exitCodes: { operator, ...(values && { values }) } };

  expect(shouldRestart({ ...main, restartPolicy: "Never", restartPolicyRules: [rule] }, spec, exitCode)).toBe(expected);
});

test("the first rule that matches decides, and one without exit codes matches nothing", () => {
  const exitCodes = { operator: "In", values: [42] };
  const withRules = (...actions: string[]): RestartableContainer => ({
    ...main,
    restartPolicy: "Never",
    restartPolicyRules: [{ action: "Restart" }, ...actions.map((action) => ({ action, exitCodes }))],
  });

  expect(shouldRestart(withRules("Ignore", "Restart"), spec, 42)).toBe(false);
  expect(shouldRestart(withRules("Restart", "Ignore"), spec, 42)).toBe(true);
  expect(shouldRestart(withRules("RestartAllContainers", "Ignore"), spec, 42)).toBe(true);
  expect(shouldRestart(withRules("RestartAllContainers"), spec, 1)).toBe(false);
  expect(shouldRestart(withRules(), spec, 42)).toBe(false);
});

test("rules without a policy of the container's own count for nothing", () => {
  const rule = { action: "Restart", exitCodes: { operator: "In", values: [42] } };

  expect(shouldRestart({ ...main, restartPolicyRules: [rule] }, { ...spec, restartPolicy: "Never" }, 42)).toBe(false);
});

test("an init container that always restarts is a sidecar", () => {
  expect([isSidecar({ ...main, restartPolicy: "Always" }), isSidecar({ ...main, restartPolicy: "Never" }), isSidecar(main)]).toEqual([
    true,
    false,
    false,
  ]);
});

test.each([
  ["of a container", { containers: [{}, { restartPolicyRules: [{ action: "Restart" }, { action: "RestartAllContainers" }] }] }, true],
  ["of an init container", { initContainers: [{ restartPolicyRules: [{ action: "RestartAllContainers" }] }], containers: [{}] }, true],
  ["of another kind", { containers: [{ restartPolicyRules: [{ action: "Restart" }] }] }, false],
  ["that is absent", { containers: [{}] }, false],
])("a rule %s can restart all containers: %#", (_, spec, expected) => {
  expect(allContainersCouldRestart(spec)).toBe(expected);
});
