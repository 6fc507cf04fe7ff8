import { expect, test } from "vitest";
import { deepFreeze } from "./deep-freeze.ts";

test("deepFreeze freezes an object and all objects and lists in it, and returns it", () => {
  const pod = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", args: ["-v"] }], nodeName: null } };

  expect(deepFreeze(pod)).toBe(pod);

  for (const part of [pod, pod.metadata, pod.metadata.labels, pod.spec, pod.spec.containers, pod.spec.containers[0]?.args])
    expect(Object.isFrozen(part)).toBe(true);
});

test.each([[7], ["text"], [true], [null], [undefined]])("deepFreeze hands %s on", (value) => {
  expect(deepFreeze(value)).toBe(value);
});

test("deepFreeze looks at what is frozen already no more, so that it ends where an object contains itself", () => {
  const object: { self?: object } = {};
  object.self = object;

  expect(Object.isFrozen(deepFreeze(object))).toBe(true);
});
