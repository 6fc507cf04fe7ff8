import { VirtualClock } from "@virtual-kubelet/clock";
import { isForbidden, isUnavailable, ForbiddenError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { LogFields, Logger, Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { FakeKubeClient } from "../test-support/fake-kube-client.ts";
import { ServiceAccountTokens } from "./service-account-tokens.ts";

const { signal } = new AbortController();
const pod: Pod = { metadata: { namespace: "shop", name: "web", uid: "uid-1" }, spec: { serviceAccountName: "runner", containers: [] } };
const hour = { audience: undefined, expirationSeconds: 3_600 };

/** Tokens from a Kubernetes API in memory, without any chance. */
class Rig {
  readonly clock = new VirtualClock();
  readonly client = new FakeKubeClient(this.clock);
  readonly logged: string[] = [];
  chance = 0;
  readonly tokens = new ServiceAccountTokens({
    client: this.client,
    clock: this.clock,
    random: { next: () => this.chance, uuid: () => "" },
    logger: this.#logger(),
  });

  constructor() {
    this.tokens.hold("uid-1");
  }

  async get(wish: { readonly audience: string | undefined; readonly expirationSeconds: number } = hour): Promise<string> {
    return (await this.tokens.get(pod, wish, signal)).token;
  }

  get requests(): unknown[] {
    return this.client.callsOf("create", "serviceaccounts", "token").map(({ body }) => body);
  }

  #logger(): Logger {
    const log = (fields: LogFields, message: string): void => void this.logged.push(`${message} ${JSON.stringify(fields)}`);
    const logger: Logger = { debug: log, info: log, warn: log, error: log, child: () => logger };
    return logger;
  }
}

describe("a token", () => {
  test("is requested for the pod's account, bound to the pod", async () => {
    const rig = new Rig();
    await rig.get({ audience: "vault", expirationSeconds: 600 });

    expect(rig.requests).toEqual([
      {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        metadata: { namespace: "shop", name: "runner" },
        spec: {
          audiences: ["vault"],
          expirationSeconds: 600,
          boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "web", uid: "uid-1" },
        },
      },
    ]);
  });

  test("is requested once for all who ask, at once or later, and anew for another wish", async () => {
    const rig = new Rig();

    const [first, second] = await Promise.all([rig.get(), rig.get()]);
    const third = await rig.get();
    const other = await rig.get({ audience: "vault", expirationSeconds: 3_600 });

    expect([second, third]).toEqual([first, first]);
    expect(other).not.toBe(first);
    expect(rig.requests).toHaveLength(2);
  });

  test.each([
    ["after 80 % of its life", 3_600, 0, 2_880],
    ["up to ten seconds earlier, by chance", 3_600, 0.999_999, 2_870.000_01],
    ["after a day at the latest", 400_000, 0, 86_400],
  ])("is requested anew %s", async (_, expirationSeconds, chance, refreshSeconds) => {
    const rig = new Rig();
    rig.chance = chance;
    const wish = { audience: undefined, expirationSeconds };
    const first = await rig.get(wish);

    await rig.clock.advance(refreshSeconds * 1000 - 1);
    expect(await rig.get(wish)).toBe(first);
    await rig.clock.advance(1);
    expect(await rig.get(wish)).not.toBe(first);
  });

  test("lives as long as the server says, whatever was wished for, and whatever time it is", async () => {
    const rig = new Rig();
    rig.client.create = async (_resource, object) => ({
      ...object,
      spec: { expirationSeconds: 1_000 },
      status: { token: `t${rig.clock.monotonic()}`, expirationTimestamp: "1999-01-01T00:00:00Z" },
    });

    await rig.get();
    rig.clock.jump(86_400_000);
    await rig.clock.advance(799_999);
    expect(await rig.get()).toBe("t0");
    await rig.clock.advance(1);
    expect(await rig.get()).toBe("t800000");
  });

  test("is dropped with its pod", async () => {
    const rig = new Rig();
    const first = await rig.get();

    rig.tokens.release("uid-1");
    const second = await rig.get();
    const third = await rig.get();

    expect(new Set([first, second, third]).size).toBe(3);
  });
});

describe("a refresh that fails", () => {
  test("leaves the old token in use while it is valid, and is tried again with back-off", async () => {
    const rig = new Rig();
    rig.chance = 0.999_999;
    const first = await rig.get();
    await rig.clock.advance(3_000_000);
    using _away = rig.client.intercept(() => {
      throw new UnavailableError("connection refused");
    });

    expect(await Promise.all([rig.get(), rig.get()])).toEqual([first, first]);
    await rig.clock.advance(500);
    expect(await rig.get()).toBe(first);
    expect(rig.requests).toHaveLength(2);
    await rig.clock.advance(500);
    expect(await rig.get()).toBe(first);
    expect(rig.requests).toHaveLength(3);
    await rig.clock.advance(1_500);
    expect(await rig.get()).toBe(first);
    expect(rig.requests).toHaveLength(3);

    expect(rig.logged).toHaveLength(2);
    expect(rig.logged.join()).not.toContain(first);
  });

  test("waits longer each time, also where it is asked for at the very time it is due", async () => {
    const rig = new Rig();
    await rig.get();
    await rig.clock.advance(3_000_000);
    using _away = rig.client.intercept(() => {
      throw new UnavailableError("connection refused");
    });
    const { refreshAtMs } = await rig.tokens.get(pod, hour, signal);
    await rig.clock.advance(refreshAtMs - rig.clock.monotonic());
    const next = await rig.tokens.get(pod, hour, signal);

    expect(next.refreshAtMs - refreshAtMs).toBeGreaterThan(refreshAtMs - 3_000_000);
  });

  test("does not lengthen the life of the old token by the wait before the next", async () => {
    const rig = new Rig();
    await rig.get();
    await rig.clock.advance(3_599_900);
    using _away = rig.client.intercept(() => {
      throw new UnavailableError("connection refused");
    });
    await rig.get();
    await rig.clock.advance(100);

    await expect(rig.get()).rejects.toThrow("token expired and refresh failed: connection refused");
  });

  test("is an error once the old token has expired", async () => {
    const rig = new Rig();
    await rig.get();
    await rig.clock.advance(3_600_000);
    using _away = rig.client.intercept(() => {
      throw new UnavailableError("connection refused");
    });

    await expect(rig.get()).rejects.toThrow("token expired and refresh failed: connection refused");
  });
});

test("what the server refuses is told in a kubelet's words, and keeps its meaning", async () => {
  const rig = new Rig();
  let refusal: Error = new UnavailableError('serviceaccounts "runner" not found');
  using _refuse = rig.client.intercept(() => {
    throw refusal;
  });

  const unavailable = await rig.get().catch((error: unknown) => error);
  refusal = new ForbiddenError("not your pod");
  const forbidden = await rig.get().catch((error: unknown) => error);

  expect(unavailable).toMatchObject({ message: 'failed to fetch token: serviceaccounts "runner" not found' });
  expect([isUnavailable(unavailable), isForbidden(forbidden)]).toEqual([true, true]);
});

test("an answer without a token is an error", async () => {
  const rig = new Rig();
  rig.client.create = async (_resource, object) => object;

  await expect(rig.get()).rejects.toSatisfy(isUnavailable);
});

test("a pod without an account has the default one, and a wish for no audience the API server's own", async () => {
  const rig = new Rig();
  await rig.tokens.get({ metadata: { name: "web", uid: "uid-1" }, spec: { containers: [] } }, hour, signal);
  await rig.tokens.get(
    { metadata: { name: "web", uid: "uid-1" }, spec: { serviceAccountName: "", containers: [] } },
    { audience: "", expirationSeconds: 600 },
    signal,
  );

  expect(rig.requests).toMatchObject([
    { metadata: { namespace: "default", name: "default" }, spec: { audiences: [], boundObjectRef: { name: "web", uid: "uid-1" } } },
    { metadata: { name: "default" }, spec: { audiences: [] } },
  ]);
});

test.each([{ token: "" }, { token: "t" }, { expirationTimestamp: "2026-01-01T00:00:00Z" }, undefined])(
  "an answer with %j for a status holds no token",
  async (status) => {
    const rig = new Rig();
    rig.client.create = async (_resource, object) => ({ ...object, ...(status && { status }) });

    await expect(rig.get()).rejects.toThrow("create serviceaccounts/token shop/runner: the answer holds no token");
  },
);

test("a token whose life the server does not tell lives as long as was wished", async () => {
  const rig = new Rig();
  rig.client.create = async (_resource, object) => ({
    ...object,
    spec: {},
    status: { token: `t${rig.clock.monotonic()}`, expirationTimestamp: "2026-01-01T01:00:00Z" },
  });
  await rig.get({ audience: undefined, expirationSeconds: 1_000 });
  await rig.clock.advance(799_999);
  expect(await rig.get({ audience: undefined, expirationSeconds: 1_000 })).toBe("t0");
  await rig.clock.advance(1);
  expect(await rig.get({ audience: undefined, expirationSeconds: 1_000 })).toBe("t800000");
});

test("chance takes no more than a tenth of a short life", async () => {
  const rig = new Rig();
  rig.chance = 0.999_999;
  const wish = { audience: undefined, expirationSeconds: 20 };
  const first = await rig.get(wish);
  await rig.clock.advance(13_999);
  expect(await rig.get(wish)).toBe(first);
  await rig.clock.advance(2);
  expect(await rig.get(wish)).not.toBe(first);
});

test("the tokens of a pod are known while it is held, one for each wish, and of others none", async () => {
  const rig = new Rig();
  const tokens = [await rig.get(), await rig.get({ audience: "vault", expirationSeconds: 3_600 })];
  rig.tokens.hold("uid-1");

  expect(rig.tokens.heldBy("uid-1")).toEqual(tokens);
  expect(rig.tokens.heldBy("uid-2")).toEqual([]);
});

test("an old token says when it is to be asked for again", async () => {
  const rig = new Rig();
  await rig.get();
  await rig.clock.advance(3_000_000);
  using _away = rig.client.intercept(() => {
    throw new UnavailableError("connection refused");
  });

  const failed = await rig.tokens.get(pod, hour, signal);
  const waiting = await rig.tokens.get(pod, hour, signal);

  expect(failed.refreshAtMs).toBe(3_000_500);
  expect(waiting).toEqual(failed);
});

test("whoever gives up is told their own reason, whatever the server says", async () => {
  const rig = new Rig();
  using _hang = rig.client.intercept(() => new Promise(() => {}));
  const stop = new AbortController();
  const asking = rig.tokens.get(pod, hour, stop.signal);
  stop.abort(new Error("stop"));

  await expect(asking).rejects.toThrow(/^stop$/);
});

test("what is logged of a failed refresh names the pod and how often", async () => {
  const rig = new Rig();
  await rig.get();
  await rig.clock.advance(3_000_000);
  using _away = rig.client.intercept(() => {
    throw new UnavailableError("connection refused");
  });
  await rig.get();

  expect(rig.logged).toEqual([
    'service account token not refreshed; the old one is used {"pod":"shop/web","uid":"uid-1","attempt":1,"err":"connection refused"}',
  ]);
});
