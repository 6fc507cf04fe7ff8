import type { Pod, StoreChange } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { farPodName } from "../identity/names.ts";
import { ownerTags, tagAnnotations, tagLabels, type FarOwner } from "../identity/tags.ts";
import { PodIndex } from "./pod-index.ts";

const [first, second]: FarOwner[] = [
  { clusterId: "home", nodeName: "first" },
  { clusterId: "home", nodeName: "second" },
];
const ref = { namespace: "default", name: "web", uid: "home-uid" };

/** A far pod of the home pod `ref`. */
function farPod(owner: FarOwner, uid: string, name = farPodName(owner, ref)): Pod {
  const { labels, annotations } = ownerTags(owner);
  return {
    metadata: {
      uid,
      name,
      labels: { ...labels, [tagLabels.podUid]: ref.uid },
      annotations: { ...annotations, [tagAnnotations.pod]: `${ref.namespace}/${ref.name}` },
    },
  };
}

test("several far pods of one home pod are found by their nodes, each until it is gone", () => {
  if (!first || !second) throw new Error("two owners");
  let change: (change: StoreChange<Pod>) => void = () => {};
  const index = new PodIndex({
    size: 0,
    get: () => undefined,
    getByName: () => undefined,
    list: () => [].values(),
    subscribe: (listener) => {
      change = listener;
      return { [Symbol.dispose]() {} };
    },
  });
  const [one, other, copy] = [farPod(first, "u1"), farPod(second, "u2"), farPod(first, "u3", "copied")];
  for (const object of [copy, one, other]) change({ type: "added", uid: object.metadata?.uid ?? "", object });

  expect([index.podOf(first, ref.uid), index.podOf(second, ref.uid)]).toEqual([one, other]);
  expect([...index.podsOf(first)]).toEqual([copy, one]);

  const newer = { ...one, status: { phase: "Running" } };
  change({ type: "updated", uid: "u1", object: newer, previous: one });
  expect(index.podOf(first, ref.uid)).toBe(newer);
  change({ type: "deleted", uid: "u1", object: newer, missed: false });
  expect([index.podOf(first, ref.uid), index.podOf(second, ref.uid)]).toEqual([undefined, other]);
  change({ type: "deleted", uid: "u2", object: other, missed: false });
  expect(index.podOf(second, ref.uid)).toBeUndefined();
  expect([...index.podsOf(second)]).toEqual([]);
});
