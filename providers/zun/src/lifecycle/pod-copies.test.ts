import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { objectName, type PodLabels } from "../pod/pod-labels.ts";
import { observeContainer, type Observation, type UnreadObject } from "../status/observation.ts";
import { PodRegistry } from "../status/pod-registry.ts";
import { copiesAmong } from "./pod-copies.ts";

const ref = { namespace: "shop", name: "db", uid: "0a1b2c3d-0000-4000-8000-000000000000" };
const owner = { clusterId: "c1", nodeName: "n1" };
const labels: PodLabels = {
  ref,
  owner,
  containers: ["main"],
  initContainers: [],
  restartPolicy: "Always",
  ownsPorts: false,
  securityGroups: [],
};
const named = (uuid: string, name: string, hour: number): Observation =>
  observeContainer({ uuid, name, status: "Running", created_at: `2026-11-23 0${hour}:00:00` }, labels);
const unread = (uuid: string, name: string | undefined): UnreadObject => ({ kind: "container", uuid, ref, labels, name, why: "status: ?" });

const [own, older, newer] = [named("own", objectName(ref), 5), named("older", "older", 1), named("newer", "newer", 9)];

test.each<[string, readonly (Observation | UnreadObject)[], { known?: Observation; gone?: Observation }, string[]]>([
  [
    "beside an object with the pod's name all others are copies, also one that was taken for it",
    [older, own, newer],
    { known: older },
    ["older", "newer"],
  ],
  ["an unread object with the pod's name counts", [older, unread("own", objectName(ref))], {}, ["older"]],
  ["an unread object without a name may be the pod", [older, unread("own", undefined)], {}, ["older"]],
  ["an unread object without labels counts by its name", [older, { ...unread("own", objectName(ref)), ref: undefined }], {}, ["older"]],
  ["a copy that cannot be read is a copy", [own, unread("copy", "copy")], {}, ["copy"]],
  ["a pod that was renamed stays the pod", [older, newer], { known: newer }, ["older"]],
  ["a pod that a list lacks is not replaced", [older, newer], { known: own }, ["older", "newer"]],
  ["a pod that is gone is not replaced", [older, newer], { gone: own }, ["older", "newer"]],
  ["of a pod of which nothing is known the oldest is taken", [newer, older], {}, ["newer"]],
  ["two with the pod's name are duplicates of the program's own", [own, { ...own, uuid: "second" }], {}, []],
])("%s", (_what, found, { known, gone }, expected) => {
  const registry = new PodRegistry(new VirtualClock());
  if (known) registry.note(known);
  if (gone) {
    registry.note(gone);
    registry.forget(ref.uid);
  }

  expect([...copiesAmong(found, registry)].map(({ uuid }) => uuid)).toEqual(expected);
});
