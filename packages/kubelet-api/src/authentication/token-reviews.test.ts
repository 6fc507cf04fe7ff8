import { UnavailableError } from "@virtual-kubelet/errdefs";
import { noMetrics, type KubeClient, type TokenReview } from "@virtual-kubelet/kube-client";
import { FakeClock, SeededRandom } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import { TokenReviews } from "./token-reviews.ts";

const { signal } = new AbortController();

function rig(answer: (token: string) => TokenReview["status"]) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const create = async (_: unknown, object: TokenReview) => {
    expect(object.spec.audiences).toBeUndefined();
    asked.push(object.spec.token ?? "");
    return { ...object, status: answer(object.spec.token ?? "") };
  };
  const client = { create } as unknown as KubeClient;
  return { clock, asked, reviews: new TokenReviews({ client, clock, random: new SeededRandom(1), metrics: noMetrics, lifetime: signal }) };
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
