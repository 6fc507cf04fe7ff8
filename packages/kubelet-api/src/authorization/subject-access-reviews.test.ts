import { UnavailableError } from "@virtual-kubelet/errdefs";
import { noMetrics, type KubeClient, type SubjectAccessReview } from "@virtual-kubelet/kube-client";
import { FakeClock, SeededRandom } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import type { User } from "../access-control.ts";
import { SubjectAccessReviews } from "./subject-access-reviews.ts";

const { signal } = new AbortController();
const ann: User = { name: "ann", uid: "u-1", groups: ["dev"], extra: { a: ["b"] } };

function rig(answer: (subresource: string) => SubjectAccessReview["status"]) {
  const clock = new FakeClock();
  const asked: SubjectAccessReview["spec"][] = [];
  const create = async (_: unknown, object: SubjectAccessReview) => {
    asked.push(object.spec);
    return { ...object, status: answer(object.spec.resourceAttributes?.subresource ?? "") };
  };
  const client = { create } as unknown as KubeClient;
  const reviews = new SubjectAccessReviews({ client, clock, random: new SeededRandom(1), metrics: noMetrics, lifetime: signal });
  const may = (subresources: readonly string[], user: User = ann, verb = "get") =>
    reviews.authorize(user, { verb, subresources, nodeName: "vk", path: "/pods" }, signal);
  return { clock, asked, may, subresources: () => asked.map(({ resourceAttributes }) => resourceAttributes?.subresource) };
}

test("the question is a kubelet's", async () => {
  const { asked, may } = rig(() => ({ allowed: true }));

  expect(await may(["proxy"], ann, "create")).toEqual({ allowed: true });

  expect(asked).toEqual([
    {
      user: "ann",
      uid: "u-1",
      groups: ["dev"],
      extra: { a: ["b"] },
      resourceAttributes: { verb: "create", version: "v1", resource: "nodes", subresource: "proxy", name: "vk" },
    },
  ]);
});

test("sub-resources are asked for from left to right, until one is allowed", async () => {
  const { may, subresources } = rig((subresource) => ({ allowed: subresource === "pods" }));

  expect(await may(["pods", "proxy"])).toEqual({ allowed: true });
  expect(subresources()).toEqual(["pods"]);
  expect(await may(["healthz", "pods"])).toEqual({ allowed: true });

  expect(subresources()).toEqual(["pods", "healthz"]);
});

test("where none is allowed the reason is told", async () => {
  const { may, subresources } = rig(() => ({ allowed: false, reason: "no RBAC policy matched" }));

  expect(await may(["pods", "proxy"])).toEqual({ allowed: false, reason: "no RBAC policy matched" });
  expect(subresources()).toEqual(["pods", "proxy"]);
});

test("a denial goes over a permission, and no answer is none", async () => {
  expect(await rig(() => ({ allowed: true, denied: true })).may(["proxy"])).toMatchObject({ allowed: false });
  expect(await rig(() => undefined).may(["proxy"])).toMatchObject({ allowed: false });
});

test("a permission counts for five minutes, a refusal for half a minute", async () => {
  const { clock, may, subresources } = rig((subresource) => ({ allowed: subresource === "yes" }));
  const both = async () => {
    await may(["yes"]);
    await may(["no"]);
  };

  await both();
  await clock.advance(29_999);
  await both();
  expect(subresources()).toEqual(["yes", "no"]);
  await clock.advance(1);
  await both();
  expect(subresources()).toEqual(["yes", "no", "no"]);
  await clock.advance(270_000);
  await both();

  expect(subresources()).toEqual(["yes", "no", "no", "yes", "no"]);
});

test("nothing of one user, verb or credential counts for another", async () => {
  const { asked, may } = rig(() => ({ allowed: true }));

  await may(["proxy"]);
  await may(["proxy"], { ...ann, name: "bob" });
  await may(["proxy"], { ...ann, groups: [] });
  await may(["proxy"], { ...ann, extra: { a: ["c"] } });
  await may(["proxy"], ann, "create");

  expect(asked).toHaveLength(5);
});

test("a question above 10 kB is asked each time", async () => {
  const { asked, may } = rig(() => ({ allowed: true }));
  const many: User = { ...ann, groups: Array.from({ length: 1000 }, (_, index) => `group-${index}`) };

  await may(["proxy"], many);
  await may(["proxy"], many);

  expect(asked).toHaveLength(2);
});

test("one sub-resource that cannot be asked for refuses, though the next would be allowed", async () => {
  const { clock, may } = rig((subresource) => {
    if (subresource === "pods") throw new UnavailableError("refused");
    return { allowed: true };
  });
  const decision = may(["pods", "proxy"]);
  decision.catch(() => {});

  await clock.advance(10_000);

  await expect(decision).rejects.toThrow('review the access of user "ann" to node vk: refused');
});
