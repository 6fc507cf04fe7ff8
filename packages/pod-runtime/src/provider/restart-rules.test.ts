import { expect, test } from "vitest";
import { podWith } from "../test-support/pod-rig.ts";
import { checkRestartRules } from "./restart-rules.ts";

const rule = (action: string) => ({ action, exitCodes: { operator: "In", values: [1] } });

test("a rule that restarts all containers is refused for every kind of container, and its field is named", () => {
  const plain = { name: "a", image: "app:1" };
  const restarting = { name: "b", image: "app:1", restartPolicyRules: [rule("Restart"), rule("RestartAllContainers")] };

  expect(() => checkRestartRules(podWith({ containers: [plain, restarting] }))).toThrow(
    expect.objectContaining({ code: "VK_UNSUPPORTED", fieldPath: "spec.containers[1].restartPolicyRules[1].action" }),
  );
  expect(() => checkRestartRules(podWith({ initContainers: [restarting] }))).toThrow(
    expect.objectContaining({ fieldPath: "spec.initContainers[0].restartPolicyRules[1].action" }),
  );
});

test("other rules are accepted", () => {
  const containers = [{ name: "a", image: "app:1", restartPolicyRules: [rule("Restart")] }];

  expect(() => checkRestartRules(podWith({ containers, initContainers: [{ name: "b" }] }))).not.toThrow();
  expect(() => checkRestartRules({})).not.toThrow();
});
