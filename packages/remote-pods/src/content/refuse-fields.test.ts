import { isUnsupported } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { refusedIf, refuseFields } from "./refuse-fields.ts";

test("a pod without such fields is not refused", () => {
  expect(() => refuseFields([...refusedIf(undefined, "spec.tty", "no tty"), ...refusedIf(0, "spec.stdin", "no stdin")])).not.toThrow();
});

test("the first field has its reason, and each other field is named once", () => {
  const fields = ["tty", "stdin", "workingDir", "stdin"].flatMap((name) => refusedIf(name, `spec.${name}`, `no ${name}`));
  expect(() => refuseFields(fields)).toThrow(
    expect.toSatisfy(
      (error) =>
        isUnsupported(error) && error.fieldPath === "spec.tty" && error.message === "spec.tty: no tty; also spec.stdin, spec.workingDir",
    ),
  );
});
