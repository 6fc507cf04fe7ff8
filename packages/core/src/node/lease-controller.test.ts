import { UnavailableError } from "@virtual-kubelet/errdefs";
import { resources, silentLogger, type Lease, type Metrics } from "@virtual-kubelet/kube-client";
import { FakeClock, SeededRandom } from "@virtual-kubelet/kube-client/testing";
import { describe, expect, test } from "vitest";
import { instanceAnnotation, leaseNamespace, NodeHeldError, startIdAnnotation } from "./instance.ts";
import { LeaseController } from "./lease-controller.ts";
import { FakeKubeClient, type FakeCall } from "../test-support/fake-kube-client.ts";

interface Starter {
  readonly controller: LeaseController;
  readonly abort: AbortController;
  /** `held` once the Lease is; the error if it failed. */
  readonly claimed: Promise<unknown>;
  /** What ended the renewals. */
  readonly ended: Promise<unknown>;
}

class Cluster {
  readonly clock: FakeClock = new FakeClock();
  readonly client: FakeKubeClient = new FakeKubeClient(this.clock);
  readonly lateness: number[] = [];
  #starts = 0;

  get lease(): Lease | undefined {
    return this.client.peek(resources.leases, "vk", leaseNamespace);
  }

  get renewals(): FakeCall[] {
    return this.client.callsOf("replace", "leases");
  }

  start(identity: string, options: { readonly standby?: boolean; readonly client?: FakeKubeClient } = {}): Starter {
    const metrics: Metrics = {
      count() {},
      gauge() {},
      observe: (name, value) => void (name === "vk_lease_renew_lateness_seconds" && this.lateness.push(value)),
    };
    const controller = new LeaseController({
      client: options.client ?? this.client,
      instance: { nodeName: "vk", identity, startId: `${identity}-${++this.#starts}` },
      standby: options.standby ?? false,
      durationSeconds: 40,
      clock: this.clock,
      random: new SeededRandom(1),
      logger: silentLogger,
      metrics,
    });
    const abort = new AbortController();
    const claimed = controller.claim(abort.signal).then(
      () => "held",
      (error: unknown) => error,
    );
    const ended = claimed.then((outcome) =>
      outcome === "held" ? controller.run(abort.signal).catch((error: unknown) => error) : undefined,
    );
    return { controller, abort, claimed, ended };
  }
}

/** What a promise has come to, or "pending". */
async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  return Promise.race([promise, Promise.resolve("pending")]);
}

describe("LeaseController.claim", () => {
  test("creates the Lease with the node as holder, and the instance in annotations", async () => {
    const cluster = new Cluster();

    await cluster.start("me").claimed;

    expect(cluster.lease).toMatchObject({
      metadata: { annotations: { [instanceAnnotation]: "me", [startIdAnnotation]: "me-1" } },
      spec: { holderIdentity: "vk", leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.000000Z" },
    });
    expect(cluster.lease?.metadata).not.toHaveProperty("ownerReferences");
  });

  test("uses the lease's own connections only", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(60_000);

    expect(new Set(cluster.client.calls.map((call) => call.options.pool))).toEqual(new Set(["lease"]));
  });

  test("takes its own Lease back at once after a restart", async () => {
    const cluster = new Cluster();
    const first = cluster.start("me");
    await cluster.clock.advance(0);
    first.abort.abort();

    const second = cluster.start("me");
    await cluster.clock.advance(0);

    expect(await stateOf(second.claimed)).toBe("held");
    expect(cluster.lease?.metadata?.annotations?.[startIdAnnotation]).toBe("me-2");
  });

  test("refuses to start where another instance renews the Lease, naming it", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(0);

    const second = cluster.start("second");
    await cluster.clock.advance(15_000);

    expect(await stateOf(second.claimed)).toMatchObject({ name: "NodeHeldError", nodeName: "vk", holder: "first" });
    expect(await stateOf(first.ended)).toBe("pending");
  });

  test("takes over from another instance whose Lease stood still for its duration", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(0);
    first.abort.abort();

    const second = cluster.start("second");
    await cluster.clock.advance(39_900);
    expect(await stateOf(second.claimed)).toBe("pending");
    await cluster.clock.advance(200);

    expect(await stateOf(second.claimed)).toBe("held");
    expect(cluster.lease?.metadata?.annotations?.[instanceAnnotation]).toBe("second");
  });

  test("is not deceived by a wall clock that is hours off", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(0);
    cluster.clock.jump(-3_600_000 * 5);

    const second = cluster.start("second");
    await cluster.clock.advance(15_000);

    expect(await stateOf(second.claimed)).toBeInstanceOf(NodeHeldError);
    expect(await stateOf(first.ended)).toBe("pending");
  });

  test("stands by until the other instance is gone, however long that takes", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(0);

    const second = cluster.start("second", { standby: true });
    await cluster.clock.advance(600_000);
    expect(await stateOf(second.claimed)).toBe("pending");
    first.abort.abort();
    await cluster.clock.advance(43_000);

    expect(await stateOf(second.claimed)).toBe("held");
  });

  test("takes the node at once when the other instance deletes its Lease", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(0);
    const second = cluster.start("second", { standby: true });
    await cluster.clock.advance(30_000);

    first.abort.abort();
    await first.controller.release(new AbortController().signal);
    await cluster.clock.advance(2_500);

    expect(await stateOf(second.claimed)).toBe("held");
  });

  test("lets one of two instances win that want a dead Lease at the same time", async () => {
    const cluster = new Cluster();
    const dead = cluster.start("dead");
    await cluster.clock.advance(0);
    dead.abort.abort();

    const starters = [cluster.start("a"), cluster.start("b"), cluster.start("c")];
    await cluster.clock.advance(60_000);

    const outcomes = await Promise.all(starters.map(({ claimed }) => stateOf(claimed)));
    expect(outcomes.filter((outcome) => outcome === "held")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome instanceof NodeHeldError)).toHaveLength(2);
  });

  test("lets one of two instances win that create the Lease at the same time", async () => {
    const cluster = new Cluster();

    const starters = [cluster.start("a"), cluster.start("b")];
    await cluster.clock.advance(60_000);

    const outcomes = await Promise.all(starters.map(({ claimed }) => stateOf(claimed)));
    expect(outcomes.filter((outcome) => outcome === "held")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome instanceof NodeHeldError)).toHaveLength(1);
  });

  test("counts no time in which it could not see the Lease: the other one could not renew it either", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(0);
    const second = cluster.start("second", { standby: true });
    await cluster.clock.advance(1_000);

    const outage = cluster.client.intercept(() => {
      throw new UnavailableError("the API server is away");
    });
    await cluster.clock.advance(120_000);
    outage[Symbol.dispose]();
    await cluster.clock.advance(20_000);

    expect(await stateOf(second.claimed)).toBe("pending");
    expect(await stateOf(first.ended)).toBe("pending");
  });

  test("waits for an API server that is away at the start, and does not hurry it", async () => {
    const cluster = new Cluster();
    const outage = cluster.client.intercept(() => {
      throw new UnavailableError("the API server is away");
    });
    const starter = cluster.start("me");
    await cluster.clock.advance(60_000);

    expect(cluster.client.calls.length).toBeLessThan(20);
    outage[Symbol.dispose]();
    await cluster.clock.advance(7_000);

    expect(await stateOf(starter.claimed)).toBe("held");
  });

  test("ends with the signal's reason, and leaves no timer", async () => {
    const cluster = new Cluster();
    cluster.client.put(resources.leases, { metadata: { name: "vk", namespace: leaseNamespace }, spec: { holderIdentity: "vk" } });
    const starter = cluster.start("me");
    await cluster.clock.advance(5_000);

    starter.abort.abort("stop");

    expect(await starter.claimed).toBe("stop");
    expect(cluster.clock.pending).toBe(0);
  });
});

describe("LeaseController.run", () => {
  test("renews every quarter of the duration, a little later by chance, in one request each", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(100_000);

    expect(cluster.renewals.length).toBe(9);
    expect(cluster.client.calls).toHaveLength(2 + 9);
    expect(Math.max(...cluster.lateness)).toBeLessThan(0.001);
  });

  test("writes times with exactly six fractional digits, whatever the clock says", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(33_333.25);

    const times = cluster.renewals.map((call) => (call.body as Lease).spec?.renewTime ?? "");
    expect(times.length).toBeGreaterThan(0);
    for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  test("is owned by the node as soon as that is known, and by the new one when that changes", async () => {
    const cluster = new Cluster();
    const { controller } = cluster.start("me");
    await cluster.clock.advance(1_000);

    controller.setNodeUid("node-1");
    await cluster.clock.advance(0);
    expect(cluster.lease?.metadata?.ownerReferences).toEqual([{ apiVersion: "v1", kind: "Node", name: "vk", uid: "node-1" }]);
    controller.setNodeUid(undefined);
    controller.setNodeUid("node-2");
    await cluster.clock.advance(0);

    expect(cluster.lease?.metadata?.ownerReferences).toEqual([{ apiVersion: "v1", kind: "Node", name: "vk", uid: "node-2" }]);
  });

  test("does not keep an owner that may be gone when it takes the Lease", async () => {
    const cluster = new Cluster();
    const other = { apiVersion: "v1", kind: "ConfigMap", name: "keep", uid: "2" };
    const owners = [{ apiVersion: "v1", kind: "Node", name: "vk", uid: "stale" }, other];
    const annotations = { [instanceAnnotation]: "me", foreign: "1" };
    cluster.client.put(resources.leases, {
      metadata: { name: "vk", namespace: leaseNamespace, ownerReferences: owners, annotations },
      spec: {},
    });

    await cluster.start("me").claimed;

    expect(cluster.lease?.metadata?.ownerReferences).toEqual([other]);
    expect(cluster.lease?.metadata?.annotations).toMatchObject({ foreign: "1" });
  });

  test("makes a deleted Lease again", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(1_000);
    cluster.client.remove(resources.leases, "vk", leaseNamespace);

    await cluster.clock.advance(11_000);

    expect(cluster.lease?.metadata?.annotations).toMatchObject({ [instanceAnnotation]: "me" });
  });

  test("puts right a Lease that somebody edited", async () => {
    const cluster = new Cluster();
    const { ended } = cluster.start("me");
    await cluster.clock.advance(1_000);
    cluster.client.edit(
      resources.leases,
      "vk",
      (lease) => {
        lease.metadata!.annotations = { foreign: "1" };
        lease.spec = { holderIdentity: "somebody", leaseDurationSeconds: 1 };
      },
      leaseNamespace,
    );

    await cluster.clock.advance(11_000);

    expect(cluster.lease).toMatchObject({
      metadata: { annotations: { foreign: "1", [instanceAnnotation]: "me", [startIdAnnotation]: "me-1" } },
      spec: { holderIdentity: "vk", leaseDurationSeconds: 40 },
    });
    expect(await stateOf(ended)).toBe("pending");
  });

  test("ends when it finds another copy of itself on the Lease", async () => {
    const cluster = new Cluster();
    const first = cluster.start("me");
    await cluster.clock.advance(1_000);
    const second = cluster.start("me");
    await cluster.clock.advance(11_000);

    expect(await stateOf(first.ended)).toMatchObject({
      name: "NodeHeldError",
      holder: "me",
      message: expect.stringContaining('another copy of "me"'),
    });
    expect(await stateOf(second.ended)).toBe("pending");
  });

  test("ends when another instance took over while the API server could not be reached", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(1_000);
    cluster.client.edit(
      resources.leases,
      "vk",
      (lease) => {
        lease.metadata!.annotations = { [instanceAnnotation]: "second", [startIdAnnotation]: "second-1" };
      },
      leaseNamespace,
    );

    await cluster.clock.advance(11_000);

    expect(await stateOf(first.ended)).toMatchObject({ name: "NodeHeldError", holder: "second" });
    expect(cluster.lease?.metadata?.annotations?.[instanceAnnotation]).toBe("second");
  });

  test("tries five times at once, then backs off up to seven seconds, and is back soon after an outage", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(9_000);
    const outage = cluster.client.intercept(() => {
      throw new UnavailableError("the API server is away");
    });
    const before = cluster.client.calls.length;
    await cluster.clock.advance(1_500);
    const atOnce = cluster.client.calls.length - before;
    await cluster.clock.advance(120_000);
    const whileAway = cluster.client.calls.length - before;
    outage[Symbol.dispose]();
    await cluster.clock.advance(7_000);

    expect(atOnce).toBeGreaterThanOrEqual(5);
    expect(whileAway).toBeLessThan(50);
    expect(cluster.lease?.spec?.renewTime).toMatch(/^2026-01-01T00:02:1/);
    expect(cluster.lateness.at(-1)).toBeGreaterThan(100);
  });

  test("gives up on a request that hangs, and tries again", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(9_000);
    const hang = cluster.client.intercept(() => new Promise(() => {}));
    await cluster.clock.advance(2_000);
    hang[Symbol.dispose]();

    await cluster.clock.advance(10_000);

    expect(cluster.lease?.spec?.renewTime).toMatch(/^2026-01-01T00:00:20/);
  });

  test("renews at once when the machine wakes up", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(4_000);
    const before = cluster.renewals.length;

    cluster.clock.jump(3_600_000);
    await cluster.clock.advance(2_000);

    expect(cluster.renewals.length).toBe(before + 1);
  });

  test("ends with the signal's reason, and leaves no timer", async () => {
    const cluster = new Cluster();
    const { abort, ended } = cluster.start("me");
    await cluster.clock.advance(5_000);

    abort.abort("stop");

    expect(await ended).toBe("stop");
    expect(cluster.clock.pending).toBe(0);
  });
});

describe("LeaseController.release", () => {
  test("deletes its own Lease and leaves another's", async () => {
    const cluster = new Cluster();
    const { controller, abort } = cluster.start("me");
    await cluster.clock.advance(0);
    abort.abort();

    await controller.release(new AbortController().signal);
    expect(cluster.lease).toBeUndefined();

    cluster.start("other");
    await cluster.clock.advance(0);
    await controller.release(new AbortController().signal);

    expect(cluster.lease).toBeDefined();
  });
});
