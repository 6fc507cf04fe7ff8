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

test("the review has the same content as a kubelet's", async () => {
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

test("sub-resources are asked for in order until one is allowed", async () => {
  const { may, subresources } = rig((subresource) => ({ allowed: subresource === "pods" }));

  expect(await may(["pods", "proxy"])).toEqual({ allowed: true });
  expect(subresources()).toEqual(["pods"]);
  expect(await may(["healthz", "pods"])).toEqual({ allowed: true });

  expect(subresources()).toEqual(["pods", "healthz"]);
});

test("if none is allowed, the decision contains the reason", async () => {
  const { may, subresources } = rig(() => ({ allowed: false, reason: "no RBAC policy matched" }));

  expect(await may(["pods", "proxy"])).toEqual({ allowed: false, reason: "no RBAC policy matched" });
  expect(subresources()).toEqual(["pods", "proxy"]);
});

test("a denial takes precedence over a permission, and an empty answer is not a permission", async () => {
  expect(await rig(() => ({ allowed: true, denied: true })).may(["proxy"])).toMatchObject({ allowed: false });
  expect(await rig(() => undefined).may(["proxy"])).toMatchObject({ allowed: false });
});

test("a permission is cached for five minutes, a refusal for half a minute", async () => {
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

test("a cached decision does not apply to another user, verb or credential", async () => {
  const { asked, may } = rig(() => ({ allowed: true }));

  await may(["proxy"]);
  await may(["proxy"], { ...ann, name: "bob" });
  await may(["proxy"], { ...ann, groups: [] });
  await may(["proxy"], { ...ann, extra: { a: ["c"] } });
  await may(["proxy"], ann, "create");

  expect(asked).toHaveLength(5);
});

test("a review of more than 10 kB is not cached", async () => {
  const { asked, may } = rig(() => ({ allowed: true }));
  const many: User = { ...ann, groups: Array.from({ length: 1000 }, (_, index) => `group-${index}`) };

  await may(["proxy"], many);
  await may(["proxy"], many);

  expect(asked).toHaveLength(2);
});

test("if one sub-resource cannot be asked for, the request is refused, even if the next one would be allowed", async () => {
  const { clock, may } = rig((subresource) => {
    if (subresource === "pods") throw new UnavailableError("refused");
    return { allowed: true };
  });
  const decision = may(["pods", "proxy"]);
  decision.catch(() => {});

  await clock.advance(10_000);

  await expect(decision).rejects.toThrow('review the access of user "ann" to node vk: refused');
});

test("permissions and refusals are cached for the configured times", async () => {
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

test("an empty reason does not count, and the last given reason is returned", async () => {
  const reasons: Record<string, string> = { a: "first", b: "second", c: "" };
  const { may } = rig((subresource) => ({ allowed: false, reason: reasons[subresource] ?? "" }));

  expect(await may(["a", "b", "c"])).toEqual({ allowed: false, reason: "second" });
  expect(await may(["c"])).toEqual({ allowed: false, reason: undefined });
});

test("the review of a user contains only the fields that are known", async () => {
  const { asked, may } = rig(() => ({ allowed: true }));

  await may(["proxy"], { name: "bob", groups: [] });

  expect(asked).toMatchObject([{ user: "bob", uid: undefined, groups: [], extra: undefined }]);
});

test("a review of 10,000 characters is cached, a longer one is not", async () => {
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

test("the refusal of a long review is not cached either", async () => {
  const { asked, may } = rig(() => ({ allowed: false }));

  for (let round = 0; round < 2; round++) await may(["proxy"], { name: "x".repeat(10_000), groups: [] });

  expect(asked).toHaveLength(2);
});

test("reviews are counted by their result", async () => {
  const { metrics, may } = rig(() => ({ allowed: true }));

  await may(["proxy"]);

  expect(metrics.samples).toEqual([
    'apiserver_delegated_authz_request_total{code="201"}',
    'apiserver_delegated_authz_request_duration_seconds{code="201"} 0',
  ]);
});

test("a review is aborted when the program ends", async () => {
  const { lifetime, may, given } = rig(() => new Promise(() => {}));
  const answer = may(["proxy"]);

  lifetime.abort(new Error("stopping"));

  await expect(answer).rejects.toThrow("stopping");
  expect(given()?.aborted).toBe(true);
});

test("at most a hundred reviews are in progress at once", async () => {
  const { may } = rig(() => ({ allowed: true }));
  const answers = Array.from({ length: 101 }, (_, index) => may([`sub-${index}`]).catch((error: unknown) => error));

  expect((await Promise.all(answers)).filter((answer) => answer instanceof Error)).toEqual([
    expect.objectContaining({ message: "ask the API server: 100 reviews are in progress already" }),
  ]);
});
