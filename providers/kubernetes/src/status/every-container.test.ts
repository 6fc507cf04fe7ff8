import { expect, test } from "vitest";
import { everyContainer } from "./every-container.ts";

const seen = { name: "a", image: "x:1", imageID: "sha256:1", ready: true, restartCount: 2 };

test("a container that the far kubelet has not seen yet waits, for the reason that is known", () => {
  expect(everyContainer([{ name: "a" }, { name: "b", image: "y:1" }], [seen], { reason: "Unschedulable", message: "no room" })).toEqual([
    seen,
    {
      name: "b",
      image: "y:1",
      imageID: "",
      ready: false,
      started: false,
      restartCount: 0,
      state: { waiting: { reason: "Unschedulable", message: "no room" } },
      lastState: {},
    },
  ]);
});

test("statuses that are complete stay as they are", () => {
  const statuses = [seen];

  expect(everyContainer([{ name: "a" }], statuses, { reason: "ContainerCreating" })).toBe(statuses);
  expect(everyContainer(undefined, undefined, { reason: "ContainerCreating" })).toBeUndefined();
});
