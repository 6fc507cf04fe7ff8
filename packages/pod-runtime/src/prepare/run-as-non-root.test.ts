import type { Container, Pod } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { checkRunAsNonRoot, needsImageUser } from "./run-as-non-root.ts";

function given(own: Container["securityContext"], ofPod: NonNullable<Pod["spec"]>["securityContext"] = {}): [Pod, Container] {
  const container = { name: "app", securityContext: own };
  return [
    { metadata: { namespace: "shop", name: "web", uid: "u1" }, spec: { containers: [container], securityContext: ofPod } },
    container,
  ];
}

const where = `(pod: "web_shop(u1)", container: app)`;

describe("checkRunAsNonRoot", () => {
  test.for<[string | undefined, string]>([
    [undefined, `container has runAsNonRoot and image will run as root ${where}`],
    ["", `container has runAsNonRoot and image will run as root ${where}`],
    ["0:1000", `container has runAsNonRoot and image will run as root ${where}`],
    ["app:app", `container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root ${where}`],
    [
      "4294967295",
      `container has runAsNonRoot and image has an invalid user id (4294967295). (Must be 1-(2147483647)): must be between 0 and 2147483647, inclusive ${where}`,
    ],
  ])("refuses an image's user %j", ([imageUser, message]) => {
    expect(() => checkRunAsNonRoot(...given({ runAsNonRoot: true }), imageUser)).toThrow(message);
  });

  test("accepts every number except 0", () => {
    expect(() => checkRunAsNonRoot(...given({}, { runAsNonRoot: true }), "1000:1000")).not.toThrow();
  });

  test("uses the user in the spec, the container's before the pod's", () => {
    expect(() => checkRunAsNonRoot(...given({ runAsNonRoot: true, runAsUser: 0 }, { runAsUser: 5 }), "5")).toThrow(
      `container's runAsUser breaks non-root policy ${where}`,
    );
    expect(() => checkRunAsNonRoot(...given({ runAsUser: 5 }, { runAsNonRoot: true, runAsUser: 0 }), undefined)).not.toThrow();
  });

  test("accepts root if nothing forbids it", () => {
    expect(() => checkRunAsNonRoot(...given({}), undefined)).not.toThrow();
    expect(() => checkRunAsNonRoot(...given({ runAsNonRoot: false }, { runAsNonRoot: true }), undefined)).not.toThrow();
  });
});

test("the image's user is needed only if it decides", () => {
  expect(needsImageUser(...given({ runAsNonRoot: true }))).toBe(true);
  expect(needsImageUser(...given({ runAsNonRoot: true, runAsUser: 1 }))).toBe(false);
  expect(needsImageUser(...given({}))).toBe(false);
});
