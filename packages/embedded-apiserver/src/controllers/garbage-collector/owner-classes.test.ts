import { expect, test } from "vitest";
import type { ApiObject } from "../../kinds/kind.ts";
import { planCollection } from "./owner-classes.ts";

const object = (finalizers?: string[]): ApiObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", uid: "a", resourceVersion: "1", creationTimestamp: "", ...(finalizers === undefined ? {} : { finalizers }) },
});
const [a, b] = ["a", "b"].map((uid) => ({ apiVersion: "v1", kind: "ConfigMap", name: uid, uid }));
const alone = () => ({ hasDependents: false, hasWaitingDependent: false });

test("an object with only solid owners is kept", () => {
  expect(planCollection(object(), { solid: [a!], dangling: [], waiting: [] }, alone)).toEqual({ type: "keep" });
});

test("an object with a solid owner gives up the owners that are gone or wait for it", () => {
  expect(planCollection(object(), { solid: [a!], dangling: [b!], waiting: [] }, alone)).toEqual({ type: "release", owners: [b] });
  expect(planCollection(object(), { solid: [a!], dangling: [], waiting: [b!] }, alone)).toEqual({ type: "release", owners: [b] });
});

test("an object without dependents whose owner waits for it is deleted in the background", () => {
  expect(planCollection(object(), { solid: [], dangling: [], waiting: [a!] }, alone)).toEqual({
    type: "delete",
    propagationPolicy: "Background",
    unblockOwners: false,
  });
});

test.each([false, true])("an object with dependents whose owner waits for it is deleted in the foreground; circle: %s", (isCircle) => {
  const facts = () => ({ hasDependents: true, hasWaitingDependent: isCircle });

  expect(planCollection(object(), { solid: [], dangling: [], waiting: [a!] }, facts)).toEqual({
    type: "delete",
    propagationPolicy: "Foreground",
    unblockOwners: isCircle,
  });
});

test.each([
  ["orphan", "Orphan"],
  ["foregroundDeletion", "Foreground"],
  ["example.com/other", "Background"],
])("an object without owners that has the finalizer %s is deleted with the policy %s", (finalizer, propagationPolicy) => {
  expect(planCollection(object([finalizer]), { solid: [], dangling: [a!], waiting: [] }, alone)).toMatchObject({ propagationPolicy });
});
