import { noMetrics, silentLogger, type ObjectReference } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { MassLossBrake } from "./mass-loss-brake.ts";

const what = (count: number): string => `${count} of 50 pods are missing`;

function brakeAt(limit: number) {
  const told: string[] = [];
  const logged: string[] = [];
  const objects: ObjectReference[] = [];
  let counted = 0;
  const brake = new MassLossBrake({
    nodeName: "node-1",
    limit,
    recorder: {
      event(object, type, reason, message) {
        objects.push(object);
        told.push(`${type} ${reason}: ${message}`);
      },
    },
    logger: { ...silentLogger, error: (_fields, message) => void logged.push(message) },
    metrics: { ...noMetrics, count: (name) => void (counted += name === "vk_mass_loss_suspected_total" ? 1 : 0) },
  });
  return { ask: (count: number): boolean => brake.isSuspected(count, what(count)), told, logged, objects, counted: () => counted };
}

test.each([
  [10, 0, false],
  [10, 10, false],
  [10, 11, true],
  [0, 0, false],
  [0, 1, true],
])("with a limit of %i, %i at once are suspected: %s", (limit, count, isSuspected) => {
  const { ask, told, counted } = brakeAt(limit);

  expect(ask(count)).toBe(isSuspected);
  expect([told.length, counted()]).toEqual(isSuspected ? [1, 1] : [0, 0]);
});

test("what is suspected is told on the node, with how to let it pass, in the log, and in a metric", () => {
  const { ask, told, logged, objects } = brakeAt(10);

  ask(12);

  const message = "12 of 50 pods are missing, more than 10 at once: none is deleted. If they are to go, raise orphans.maxPerSweep to 12";
  expect(told).toEqual([`Warning MassLossSuspected: ${message}`]);
  expect(logged).toEqual([message]);
  expect(objects).toEqual([{ apiVersion: "v1", kind: "Node", name: "node-1", uid: "node-1" }]);
});

test("the same is told once, another number anew, and all of it anew once it was over", () => {
  const { ask, told, counted } = brakeAt(10);

  const answers = [12, 12, 13, 12, 3, 12].map(ask);

  expect(answers).toEqual([true, true, true, true, false, true]);
  expect(told.map((event) => event.split(" ")[2])).toEqual(["12", "13", "12", "12"]);
  expect(counted()).toBe(4);
});
