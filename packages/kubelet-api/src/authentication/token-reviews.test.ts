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

test("the user of a token is the one that the API server returns, with all of its fields", async () => {
  const extra = { "authentication.kubernetes.io/pod-name": ["web"] };
  const { reviews } = rig(() => ({ authenticated: true, user: { username: "bob", uid: "u-1", groups: ["dev"], extra } }));

  expect(await reviews.authenticate("t", signal)).toEqual({ name: "bob", uid: "u-1", groups: ["dev"], extra });
});

test.each([
  ["is not authenticated", { authenticated: false, user: { username: "bob" } }],
  ["has no name", { authenticated: true, user: {} }],
  ["has an error", { error: "invalid bearer token" }],
  ["says nothing", undefined],
])("an answer that %s means no user", async (_, status) => {
  expect(await rig(() => status).reviews.authenticate("t", signal)).toBeUndefined();
});

test("positive and negative results are cached for two minutes", async () => {
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

test("if the API server cannot be asked, the request fails, and the next one asks again", async () => {
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

test("a user without UID and groups in the answer has none", async () => {
  const { reviews } = rig(() => ({ authenticated: true, user: { username: "bob", uid: "" } }));

  expect(await reviews.authenticate("t", signal)).toEqual({ name: "bob", uid: undefined, groups: [], extra: undefined });
});

test("a result is cached for the configured time", async () => {
  const { clock, asked, reviews } = rig(() => undefined, 5_000);

  await reviews.authenticate("t", signal);
  await clock.advance(4_999);
  await reviews.authenticate("t", signal);
  expect(asked).toHaveLength(1);
  await clock.advance(1);
  await reviews.authenticate("t", signal);

  expect(asked).toHaveLength(2);
});

test("cache hits, requests and their results are counted", async () => {
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

test("a review is aborted when the program ends, not when its caller gives up", async () => {
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

test("at most a hundred reviews are in progress at once", async () => {
  const { reviews } = rig(() => undefined);
  const answers = Array.from({ length: 101 }, (_, index) =>
    reviews.authenticate(`token-${index}`, signal).catch((error: unknown) => error),
  );

  expect((await Promise.all(answers)).filter((answer) => answer !== undefined)).toEqual([
    expect.objectContaining({ message: "ask the API server: 100 reviews are in progress already" }),
  ]);
});
