import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { KubeClient, TokenReview } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { RecordingMetrics } from "../test-support/recording-metrics.ts";
import { TokenReviews } from "./token-reviews.ts";

const { signal } = new AbortController();

function rig(answer: (token: string) => TokenReview["status"] | Promise<never>, ttlMs?: number) {
  const [clock, metrics] = [new VirtualClock(), new RecordingMetrics()];
  const lifetime = new AbortController();
  let given: AbortSignal | undefined;
  const asked: string[] = [];
  const create = async (resource: { plural: string }, object: TokenReview, options: { signal: AbortSignal }) => {
    expect(resource.plural).toBe("tokenreviews");
    given = options.signal;
    expect(object.spec.audiences).toBeUndefined();
    asked.push(object.spec.token ?? "");
    return { ...object, status: await answer(object.spec.token ?? "") };
  };
  const client = { create } as unknown as KubeClient;
  const reviews = new TokenReviews({ client, clock, random: new SeededRandom(1), metrics, ttlMs, lifetime: lifetime.signal });
  return { clock, asked, metrics, lifetime, reviews, given: () => given };
}

test("a token's user is the one that the API server names, with all it says of them", async () => {
  const extra = { "authentication.kubernetes.io/pod-name": ["web"] };
  const { reviews } = rig(() => ({ authenticated: true, user: { username: "bob", uid: "u-1", groups: ["dev"], extra } }));

  expect(await reviews.authenticate("t", signal)).toEqual({ name: "bob", uid: "u-1", groups: ["dev"], extra });
});

test.each([
  ["is not authenticated", { authenticated: false, user: { username: "bob" } }],
  ["has no name", { authenticated: true, user: {} }],
  ["has an error", { error: "invalid bearer token" }],
  ["says nothing", undefined],
])("an answer that %s is nobody", async (_, status) => {
  expect(await rig(() => status).reviews.authenticate("t", signal)).toBeUndefined();
});

test("good and bad verdicts count for two minutes", async () => {
  const { clock, asked, reviews } = rig((token) => (token === "good" ? { authenticated: true, user: { username: "bob" } } : {}));
  const both = async () => [await reviews.authenticate("good", signal), await reviews.authenticate("bad", signal)];

  await both();
  await clock.advance(119_999);
  expect(await both()).toEqual([expect.objectContaining({ name: "bob" }), undefined]);
  expect(asked).toEqual(["good", "bad"]);
  await clock.advance(1);
  await both();

  expect(asked).toEqual(["good", "bad", "good", "bad"]);
});

test("an API server that cannot be asked refuses, and is asked again the next time", async () => {
  let isDown = true;
  const { clock, reviews } = rig(() => {
    if (isDown) throw new UnavailableError("refused");
    return { authenticated: true, user: { username: "bob" } };
  });
  const first = reviews.authenticate("t", signal);
  first.catch(() => {});
  await clock.advance(10_000);
  await expect(first).rejects.toThrow("review a bearer token: refused");

  isDown = false;

  expect(await reviews.authenticate("t", signal)).toMatchObject({ name: "bob" });
});

test("a user without uid and groups has none", async () => {
  const { reviews } = rig(() => ({ authenticated: true, user: { username: "bob", uid: "" } }));

  expect(await reviews.authenticate("t", signal)).toEqual({ name: "bob", uid: undefined, groups: [], extra: undefined });
});

test("a verdict counts for as long as it is said to", async () => {
  const { clock, asked, reviews } = rig(() => undefined, 5_000);

  await reviews.authenticate("t", signal);
  await clock.advance(4_999);
  await reviews.authenticate("t", signal);
  expect(asked).toHaveLength(1);
  await clock.advance(1);
  await reviews.authenticate("t", signal);

  expect(asked).toHaveLength(2);
});

test("it is counted what was kept, what was asked for, and how that went", async () => {
  const { metrics, reviews } = rig((token) => {
    if (token === "bad") throw new Error("no");
    return {};
  });

  await reviews.authenticate("good", signal);
  await reviews.authenticate("good", signal);
  await reviews.authenticate("bad", signal).catch(() => {});

  expect(metrics.samples.filter((sample) => !sample.includes("duration"))).toEqual([
    'authentication_token_cache_request_total{status="miss"}',
    'apiserver_delegated_authn_request_total{code="201"}',
    'authentication_token_cache_fetch_total{status="ok"}',
    'authentication_token_cache_request_total{status="hit"}',
    'authentication_token_cache_request_total{status="miss"}',
    'apiserver_delegated_authn_request_total{code="<error>"}',
    'authentication_token_cache_fetch_total{status="error"}',
  ]);
});

test("a question ends with the program, not with who asked", async () => {
  const { lifetime, reviews, given } = rig(() => new Promise(() => {}));
  const caller = new AbortController();
  const abandoned = reviews.authenticate("t", caller.signal);
  const joined = reviews.authenticate("t", signal);

  caller.abort(new Error("client is gone"));
  await expect(abandoned).rejects.toThrow("client is gone");
  expect(given()?.aborted).toBe(false);
  lifetime.abort(new Error("stopping"));

  await expect(joined).rejects.toThrow("stopping");
  expect(given()?.aborted).toBe(true);
});

test("no more than a hundred questions are under way at once", async () => {
  const { reviews } = rig(() => undefined);
  const answers = Array.from({ length: 101 }, (_, index) =>
    reviews.authenticate(`token-${index}`, signal).catch((error: unknown) => error),
  );

  expect((await Promise.all(answers)).filter((answer) => answer !== undefined)).toEqual([
    expect.objectContaining({ message: "ask the API server: 100 reviews are in progress already" }),
  ]);
});
