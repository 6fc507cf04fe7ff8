import { codeOf } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { engineStatusOf, toEngineError } from "./engine-error.ts";

test.each([
  'creating container storage: the container name "vk_app" is already in use by e80c. You have to remove that container to be able to reuse that name: that name is already in use',
  "can only kill running containers. 6bef is in state exited: container state improper",
])("what podman calls its own fault is a conflict: %s", (said) => {
  const error = toEngineError("create container app", 500, said);

  expect([codeOf(error), engineStatusOf(error)]).toEqual([codeOf(toEngineError("create container app", 409, said)), 500]);
  expect(codeOf(error)).toBeDefined();
});

test("what an engine calls its own fault has no code else", () => {
  expect(codeOf(toEngineError("start container app", 500, "out of memory"))).toBe(codeOf(new Error("any")));
});
