import { expect, test } from "vitest";
import { isRecursivelyReadOnly } from "./recursive-read-only.ts";

const mount = { name: "data", mountPath: "/data", readOnly: true };

test.for([
  [{}, true, false],
  [{ recursiveReadOnly: "Disabled" }, true, false],
  [{ recursiveReadOnly: "Disabled", readOnly: false, mountPropagation: "Bidirectional" }, true, false],
  [{ recursiveReadOnly: "IfPossible" }, true, true],
  [{ recursiveReadOnly: "IfPossible" }, false, false],
  [{ recursiveReadOnly: "IfPossible", mountPropagation: "None" }, true, true],
  [{ recursiveReadOnly: "Enabled" }, true, true],
] as const)("a mount with %j is recursively read-only if the runtime supports it (%j): %j", ([fields, isSupported, expected]) => {
  expect(isRecursivelyReadOnly({ ...mount, ...fields }, isSupported)).toBe(expected);
});

test.for([
  [{ recursiveReadOnly: "Enabled" }, 'volume "data" requested recursive read-only mode, but it is not supported by the runtime'],
  [{ recursiveReadOnly: "Sometimes" }, 'unknown recursive read-only mode "Sometimes"'],
  [{ recursiveReadOnly: "IfPossible", readOnly: false }, 'volume "data" requested recursive read-only mode, but it is not read-only'],
  [
    { recursiveReadOnly: "IfPossible", mountPropagation: "HostToContainer" },
    'volume "data" requested recursive read-only mode, but it is not compatible with propagation "HostToContainer"',
  ],
] as const)("%j is refused in a kubelet's words", ([fields, problem]) => {
  expect(() => isRecursivelyReadOnly({ ...mount, ...fields }, false)).toThrow(
    expect.objectContaining({ code: "VK_INVALID_INPUT", message: `failed to resolve recursive read-only mode: ${problem}` }),
  );
});
