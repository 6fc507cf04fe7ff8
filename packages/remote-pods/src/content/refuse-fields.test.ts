import { isUnsupported } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { refuseFields } from "./refuse-fields.ts";

test("a pod without such fields is not refused", () => {
  expect(() => refuseFields([])).not.toThrow();
});

test("the first field has its reason, and each other field is named once", () => {
  const fields = ["tty", "stdin", "workingDir", "stdin"].map((name) => ({ fieldPath: `spec.${name}`, message: `no ${name}` }));
  expect(() => refuseFields(fields)).toThrow(
    expect.toSatisfy(
      (error) =>
        isUnsupported(error) && error.fieldPath === "spec.tty" && error.message === "spec.tty: no tty; also spec.stdin, spec.workingDir",
    ),
  );
});
