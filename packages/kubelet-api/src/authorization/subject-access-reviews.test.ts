import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { KubeClient, SubjectAccessReview } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import type { User } from "../access-control/access-control.ts";
import { RecordingMetrics } from "../test-support/recording-metrics.ts";
import { SubjectAccessReviews } from "./subject-access-reviews.ts";

const { signal } = new AbortController();
const ann: User = { name: "ann", uid: "u-1", groups: ["dev"], extra: { a: ["b"] } };

function rig(
  answer: (subresource: string) => SubjectAccessReview["status"] | Promise<never>,
  ttl: { allowedTtlMs?: number; deniedTtlMs?: number } = {},
) {
  const [clock, metrics] = [new VirtualClock(), new RecordingMetrics()];
  const lifetime = new AbortController();
  let given: AbortSignal | undefined;
  const asked: SubjectAccessReview["spec"][] = [];
  const create = async (resource: { plural: string }, object: SubjectAccessReview, options: { signal: AbortSignal }) => {
    expect(resource.plural).toBe("subjectaccessreviews");
    given = options.signal;
    asked.push(object.spec);
    return { ...object, status: await answer(object.spec.resourceAttributes?.subresource ?? "") };
  };
  const client = { create } as unknown as KubeClient;
  const random = new SeededRandom(1);
  const reviews = new SubjectAccessReviews({ client, clock, random, metrics, lifetime: lifetime.signal, ...ttl });
  const may = (subresources: readonly string[], user: User = ann, verb = "get") =>
    reviews.authorize(user, { verb, subresources, nodeName: "vk", path: "/pods" }, signal);
  return {
    clock,
    asked,
    metrics,
    lifetime,
    given: () => given,
    may,
    subresources: () => asked.map(({ resourceAttributes }) => resourceAttributes?.subresource),
  };
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

test("permissions and refusals count for as long as they are said to", async () => {
  const { clock, may, subresources } = rig((subresource) => ({ allowed: subresource === "yes" }), {
    allowedTtlMs: 2_000,
    deniedTtlMs: 1_000,
  });
  const both = async (): Promise<void> => {
    await may(["yes"]);
    await may(["no"]);
  };

  await both();
  await clock.advance(999);
  await both();
  expect(subresources()).toEqual(["yes", "no"]);
  await clock.advance(1);
  await both();
  expect(subresources()).toEqual(["yes", "no", "no"]);
  await clock.advance(1_000);
  await both();

  expect(subresources()).toEqual(["yes", "no", "no", "yes", "no"]);
});

test("an empty reason is none, and the last one that is given is told", async () => {
  const reasons: Record<string, string> = { a: "first", b: "second", c: "" };
  const { may } = rig((subresource) => ({ allowed: false, reason: reasons[subresource] ?? "" }));

  expect(await may(["a", "b", "c"])).toEqual({ allowed: false, reason: "second" });
  expect(await may(["c"])).toEqual({ allowed: false, reason: undefined });
});

test("a user of whom little is known is asked about as they are", async () => {
  const { asked, may } = rig(() => ({ allowed: true }));

  await may(["proxy"], { name: "bob", groups: [] });

  expect(asked).toMatchObject([{ user: "bob", uid: undefined, groups: [], extra: undefined }]);
});

test("a question of 10,000 characters is kept, one of more is not", async () => {
  const { asked, may } = rig(() => ({ allowed: true }));
  const question = JSON.stringify({
    user: "",
    groups: [],
    resourceAttributes: { verb: "get", version: "v1", resource: "nodes", subresource: "proxy", name: "vk" },
  });
  const named = (length: number): User => ({ name: "x".repeat(length - question.length), groups: [] });

  for (const length of [10_000, 10_000, 10_001, 10_001]) await may(["proxy"], named(length));

  expect(asked.map(({ user }) => (user ?? "").length + question.length)).toEqual([10_000, 10_001, 10_001]);
});

test("a refusal of a long question is not kept either", async () => {
  const { asked, may } = rig(() => ({ allowed: false }));

  for (let round = 0; round < 2; round++) await may(["proxy"], { name: "x".repeat(10_000), groups: [] });

  expect(asked).toHaveLength(2);
});

test("questions are counted by how they went", async () => {
  const { metrics, may } = rig(() => ({ allowed: true }));

  await may(["proxy"]);

  expect(metrics.samples).toEqual([
    'apiserver_delegated_authz_request_total{code="201"}',
    'apiserver_delegated_authz_request_duration_seconds{code="201"} 0',
  ]);
});

test("a question ends with the program", async () => {
  const { lifetime, may, given } = rig(() => new Promise(() => {}));
  const answer = may(["proxy"]);

  lifetime.abort(new Error("stopping"));

  await expect(answer).rejects.toThrow("stopping");
  expect(given()?.aborted).toBe(true);
});

test("no more than a hundred questions are under way at once", async () => {
  const { may } = rig(() => ({ allowed: true }));
  const answers = Array.from({ length: 101 }, (_, index) => may([`sub-${index}`]).catch((error: unknown) => error));

  expect((await Promise.all(answers)).filter((answer) => answer instanceof Error)).toEqual([
    expect.objectContaining({ message: "ask the API server: 100 reviews are in progress already" }),
  ]);
});
