import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { ConflictError, UnavailableError } from "@virtual-kubelet/errdefs";
import { ApiError, resources, silentLogger, type Lease, type Metrics } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { groupLabel, instanceAnnotation, leaseNamespace, NodeHeldError, startIdAnnotation } from "./instance.ts";
import { LeaseController, type LeaseControllerOptions } from "./lease-controller.ts";
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
  readonly clock: VirtualClock = new VirtualClock();
  readonly client: FakeKubeClient = new FakeKubeClient(this.clock);
  readonly lateness: number[] = [];
  readonly counted: string[] = [];
  readonly warnings: string[] = [];
  recovered = 0;
  #starts = 0;

  get lease(): Lease | undefined {
    return this.client.peek(resources.leases, "vk", leaseNamespace);
  }

  get renewals(): FakeCall[] {
    return this.client.callsOf("replace", "leases");
  }

  start(
    identity: string,
    options: Partial<Pick<LeaseControllerOptions, "standby" | "client" | "spreads">> & { readonly nodeName?: string } = {},
  ): Starter {
    const metrics: Metrics = {
      count: (name, labels) => void this.counted.push([name, ...Object.values(labels ?? {})].join(" ")),
      gauge() {},
      observe: (name, value) => void (name === "vk_lease_renew_lateness_seconds" && this.lateness.push(value)),
    };
    const controller = new LeaseController({
      client: options.client ?? this.client,
      instance: { nodeName: options.nodeName ?? "vk", identity, startId: `${identity}-${++this.#starts}` },
      spreads: options.spreads,
      standby: options.standby ?? false,
      durationSeconds: 40,
      clock: this.clock,
      random: new SeededRandom(options.spreads ? this.#starts : 1),
      logger: { ...silentLogger, warn: (_fields, message) => void this.warnings.push(message) },
      onRecovered: () => this.recovered++,
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

  test("takes a Lease of its own identity only when it has expired where a group has it, and takes the group's label away", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(0);
    cluster.client.edit(resources.leases, "vk", ({ metadata }) => (metadata!.labels = { [groupLabel]: "sim", own: "x" }), leaseNamespace);

    const second = cluster.start("me", { client: cluster.client, standby: true });
    await cluster.clock.advance(5_000);
    expect(await stateOf(second.claimed)).toBe("pending");
    await cluster.clock.advance(5_500);

    expect(cluster.lease?.metadata?.labels).toEqual({ own: "x" });
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

  test("says that it stands by as long as it sees another's Lease, and no longer", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(0);
    const second = cluster.start("second", { standby: true });
    await cluster.clock.advance(30_000);
    expect([first, second].map(({ controller }) => controller.isStandingBy)).toEqual([false, true]);

    {
      using _away = cluster.client.intercept(() => {
        throw new UnavailableError("the API server is away");
      });
      await cluster.clock.advance(3_000);
      expect(second.controller.isStandingBy).toBe(false);
    }

    first.abort.abort();
    await cluster.clock.advance(70_000);
    expect([await stateOf(second.claimed), second.controller.isStandingBy]).toEqual(["held", false]);
  });

  test("takes a node that was handed over within five seconds, for the usual duration", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(0);
    const second = cluster.start("second", { standby: true });
    await cluster.clock.advance(30_000);

    first.abort.abort();
    await first.controller.handOver(new AbortController().signal);
    await cluster.clock.advance(5_000);

    expect(await stateOf(second.claimed)).toBe("held");
    expect(cluster.lease?.spec?.leaseDurationSeconds).toBe(40);
  });

  test("hands over no Lease that another instance has taken", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(0);
    first.abort.abort();
    cluster.start("second", { standby: true });
    await cluster.clock.advance(50_000);

    await first.controller.handOver(new AbortController().signal);

    expect(cluster.lease?.spec?.leaseDurationSeconds).toBe(40);
  });

  test("takes the node half a duration after the other instance has deleted its Lease", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(0);
    const second = cluster.start("second", { standby: true });
    await cluster.clock.advance(30_000);

    first.abort.abort();
    await first.controller.release(new AbortController().signal);
    await cluster.clock.advance(19_000);
    expect(await stateOf(second.claimed)).toBe("pending");
    await cluster.clock.advance(3_500);

    expect(await stateOf(second.claimed)).toBe("held");
  });

  test("leaves the node to the other instance where somebody deletes the Lease, alone or with its node", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(0);
    const second = cluster.start("second", { standby: true });
    await cluster.clock.advance(30_000);

    cluster.client.remove(resources.leases, "vk", leaseNamespace);
    await cluster.clock.advance(60_000);

    expect(cluster.lease?.metadata?.annotations?.[instanceAnnotation]).toBe("first");
    expect([await stateOf(first.ended), await stateOf(second.claimed)]).toEqual(["pending", "pending"]);
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

  test("takes over from an instance that is gone also where every tenth look at the Lease fails", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(0);
    first.abort.abort();
    let looks = 0;
    using _flaky = cluster.client.intercept(({ verb }) => {
      if (verb === "get" && ++looks % 10 === 0) throw new UnavailableError("too many requests");
    });

    const second = cluster.start("second", { standby: true });
    await cluster.clock.advance(39_000);
    expect(await stateOf(second.claimed)).toBe("pending");
    await cluster.clock.advance(16_000);

    expect(await stateOf(second.claimed)).toBe("held");
  });

  test("counts no time in which it was asked to leave the API server alone", async () => {
    const cluster = new Cluster();
    const first = cluster.start("first");
    await cluster.clock.advance(0);
    first.abort.abort();
    const second = cluster.start("second", { standby: true });
    await cluster.clock.advance(1_000);
    const outage = cluster.client.intercept(() => {
      throw new UnavailableError("the API server is away", { retryAfterMs: 3_600_000 });
    });
    await cluster.clock.advance(38_000);

    outage[Symbol.dispose]();
    await cluster.clock.advance(30_000);
    expect(await stateOf(second.claimed)).toBe("pending");
    await cluster.clock.advance(15_000);

    expect(await stateOf(second.claimed)).toBe("held");
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

  test("renews for the first time at a random part of the interval if it is one of many", async () => {
    const cluster = new Cluster();
    for (const name of ["a", "b", "c", "d", "e", "f", "g", "h"]) cluster.start(name, { nodeName: name, spreads: true });
    await cluster.clock.advance(10_000);
    const namesOf = (calls: readonly FakeCall[]): Set<unknown> => new Set(calls.map(({ name }) => name));
    const first = cluster.renewals.length;
    expect(namesOf(cluster.renewals).size).toBe(8);
    await cluster.clock.advance(5_000);
    const later = namesOf(cluster.renewals.slice(first)).size;

    expect(later).toBeGreaterThan(0);
    expect(later).toBeLessThan(8);
  });

  test("writes times with exactly six fractional digits, whatever the clock says", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(33_333.25);

    const times = cluster.renewals.map((call) => (call.body as Lease).spec?.renewTime ?? "");
    expect(times.length).toBeGreaterThan(0);
    for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  test("is later each time, also where the clock was set back, unless what is there is from another day", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(1_000);
    const before = cluster.lease?.spec?.renewTime ?? "";

    cluster.clock.jump(-3_600_000);
    await cluster.clock.advance(30_000);
    const after = cluster.lease?.spec?.renewTime ?? "";
    expect(Date.parse(after) - Date.parse(before)).toBeGreaterThan(0);
    expect(Date.parse(after) - Date.parse(before)).toBeLessThan(10);
    cluster.clock.jump(-200 * 3_600_000);
    await cluster.clock.advance(30_000);

    expect(Date.parse(cluster.lease?.spec?.renewTime ?? "")).toBeLessThan(Date.parse(before) - 100 * 3_600_000);
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

describe("what can go wrong", () => {
  const away = (): never => {
    throw new UnavailableError("the API server is away");
  };

  test("a renewal is tried five times at once, and then with back-off from a tenth of a second on", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(9_000);
    const times: number[] = [];
    using _outage = cluster.client.intercept(() => {
      times.push(cluster.clock.monotonic());
      away();
    });
    await cluster.clock.advance(1_800);

    const [first = 0] = times;
    expect(times.filter((time) => time === first)).toHaveLength(5);
    const waits = times.slice(5).map((time, index) => time - (times[index + 4] ?? 0));
    expect(waits[0]).toBeGreaterThanOrEqual(50);
    expect(waits[0]).toBeLessThanOrEqual(100);
    expect(waits[1]).toBeGreaterThanOrEqual(100);
    expect(waits[1]).toBeLessThanOrEqual(200);
  });

  test("each renewal is counted, with how it went, and recovery is told once", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(25_000);
    expect(cluster.counted).toEqual(["vk_lease_renewals_total ok", "vk_lease_renewals_total ok"]);
    expect(cluster.recovered).toBe(0);

    const outage = cluster.client.intercept(away);
    await cluster.clock.advance(10_000);
    expect(cluster.counted.filter((line) => line.endsWith("error")).length).toBeGreaterThan(5);
    outage[Symbol.dispose]();
    await cluster.clock.advance(30_000);

    expect(cluster.recovered).toBe(1);
    expect(cluster.counted.at(-1)).toBe("vk_lease_renewals_total ok");
  });

  test("of failures in a row the first is told, and every tenth after it", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(9_000);
    let failures = 0;
    using _outage = cluster.client.intercept(() => {
      failures++;
      away();
    });
    await cluster.clock.advance(60_000);

    expect(failures).toBeGreaterThan(10);
    expect(cluster.warnings).toEqual(Array(Math.ceil(failures / 10)).fill("cannot renew the lease; trying again"));
  });

  test("a claim that fails is told the first time, and every tenth", async () => {
    const cluster = new Cluster();
    let failures = 0;
    using _outage = cluster.client.intercept(() => {
      failures++;
      away();
    });
    cluster.start("me");
    await cluster.clock.advance(60_000);

    expect(failures).toBeGreaterThan(10);
    expect(cluster.warnings).toEqual(Array(Math.ceil(failures / 10)).fill("cannot take the lease; trying again"));
  });

  test("a claim that meets a conflict is tried again at once, four times, and then with back-off", async () => {
    const cluster = new Cluster();
    const times: number[] = [];
    using _conflict = cluster.client.intercept(({ verb }) => {
      if (verb !== "create") return;
      times.push(cluster.clock.monotonic());
      throw new ConflictError("somebody was quicker");
    });
    cluster.start("me");
    await cluster.clock.advance(0);
    expect(times).toEqual([0, 0, 0, 0, 0]);
    await cluster.clock.advance(1_600);
    expect(times).toHaveLength(6);
  });

  test("a Lease that was deleted is told to be made again", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(1_000);
    cluster.client.remove(resources.leases, "vk", leaseNamespace);
    await cluster.clock.advance(11_000);

    expect(cluster.warnings).toEqual(["the lease was deleted; creating it again"]);
    expect(cluster.lease?.spec?.acquireTime).toBe(cluster.lease?.spec?.renewTime);
  });

  test("a Lease that cannot be read after a conflict is tried again", async () => {
    const cluster = new Cluster();
    const { ended } = cluster.start("me");
    await cluster.clock.advance(1_000);
    cluster.client.edit(
      resources.leases,
      "vk",
      (lease) => void (lease.metadata = { ...lease.metadata, labels: { a: "b" } }),
      leaseNamespace,
    );
    let failures = 2;
    using _unreadable = cluster.client.intercept(({ verb }) => {
      if (verb === "get" && failures-- > 0) away();
    });
    await cluster.clock.advance(12_000);

    expect(cluster.warnings).toEqual(["cannot read the lease; trying again", "cannot read the lease; trying again"]);
    expect(cluster.renewals.length).toBeGreaterThanOrEqual(3);
    expect(cluster.lease?.spec?.renewTime).not.toBe("2026-01-01T00:00:00.000000Z");
    expect(await stateOf(ended)).toBe("pending");
  });
});

describe("an answer of 200 that does not say what was written", () => {
  const ofAnother = (lease: Lease): void => {
    lease.metadata!.annotations = { [instanceAnnotation]: "second", [startIdAnnotation]: "second-1" };
    lease.spec!.holderIdentity = "other";
  };
  const alterations: [string, (lease: Lease) => void][] = [
    ["another holder", (lease) => void (lease.spec!.holderIdentity = "other")],
    ["another instance", (lease) => void (lease.metadata!.annotations = { [instanceAnnotation]: "second" })],
    ["another start", (lease) => void (lease.metadata!.annotations![startIdAnnotation] = "me-2")],
    ["an earlier renewal", (lease) => void (lease.spec!.renewTime = "2025-12-31T23:59:00.000000Z")],
    ["no content", (lease) => void (lease.spec = undefined)],
  ];

  test.each(alterations)("but %s is no renewal", async (_what, alter) => {
    const cluster = new Cluster();
    const { controller, ended } = cluster.start("me");
    await cluster.clock.advance(1_000);
    const altered = cluster.client.alterAnswers(alter);
    await cluster.clock.advance(60_000);

    expect(controller.renewedMs).toBe(0);
    expect(cluster.counted).not.toContain("vk_lease_renewals_total ok");
    expect(cluster.warnings).toContain("cannot renew the lease; trying again");
    expect(cluster.renewals.length).toBeLessThan(30);
    altered[Symbol.dispose]();
    await cluster.clock.advance(10_000);
    expect(controller.renewedMs).toBeGreaterThan(60_000);
    expect(await stateOf(ended)).toBe("pending");
  });

  test.each(alterations)("but %s is no claim", async (_what, alter) => {
    const cluster = new Cluster();
    const altered = cluster.client.alterAnswers(alter);
    const { claimed } = cluster.start("me");
    await cluster.clock.advance(30_000);

    expect(await stateOf(claimed)).toBe("pending");
    altered[Symbol.dispose]();
    await cluster.clock.advance(10_000);
    expect(await stateOf(claimed)).toBe("held");
  });

  test("but another instance ends the renewals where the Lease itself says so, too", async () => {
    const cluster = new Cluster();
    const { ended } = cluster.start("me");
    await cluster.clock.advance(1_000);
    using _altered = cluster.client.alterAnswers((lease) => {
      ofAnother(lease);
      cluster.client.edit(resources.leases, "vk", ofAnother, leaseNamespace);
    });
    await cluster.clock.advance(10_000);

    expect(await stateOf(ended)).toMatchObject({ name: "NodeHeldError", holder: "second" });
    expect(cluster.renewals).toHaveLength(1);
  });
});

describe("a server that asks for a rest", () => {
  const busy = (retryAfterMs: number | undefined): never => {
    const cause = new ApiError({ kind: "Status", code: 429, reason: "TooManyRequests" });
    throw new UnavailableError("too many requests", { cause, retryAfterMs });
  };

  /** A lease renewed at 0 s, and the times in seconds of the requests while the server is busy. */
  async function requestsOf(retryAfterMs: number | undefined, forMs: number): Promise<number[]> {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(0);
    const times: number[] = [];
    using _busy = cluster.client.intercept(() => {
      times.push(cluster.clock.monotonic() / 1000);
      busy(retryAfterMs);
    });
    await cluster.clock.advance(forMs);
    return times;
  }

  test("gets it while the lease lasts, with one try left before it expires, and after that as often as a renewal is due", async () => {
    const times = await requestsOf(20_000, 65_000);

    expect(times).toHaveLength(5);
    expect(times[0]).toBeGreaterThanOrEqual(10);
    expect(times[0]).toBeLessThanOrEqual(10.4);
    expect(times.slice(1).map((time) => Math.round(time))).toEqual([30, 40, 50, 60]);
  });

  test("gets a little more than it asks for, so that not all nodes come back at once", async () => {
    const [first = 0, second = 0] = await requestsOf(5_000, 20_000);

    expect(second - first).toBeGreaterThan(5);
    expect(second - first).toBeLessThanOrEqual(5.5);
  });

  test("for years is asked again before the lease expires", async () => {
    const times = await requestsOf(1e23, 35_000);

    expect(times.map((time) => Math.round(time))).toEqual([10, 30]);
  });

  test("is not tried five times at once, also where it does not say how long", async () => {
    const times = await requestsOf(undefined, 11_000);

    expect(new Set(times).size).toBe(times.length);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(0.05);
    expect(times.length).toBeLessThan(8);
  });

  test("gets it as well when the lease cannot be read after a conflict", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(0);
    const times: number[] = [];
    using _busy = cluster.client.intercept(({ verb }) => {
      if (verb !== "get") throw new ConflictError("somebody was quicker");
      times.push(Math.round(cluster.clock.monotonic() / 1000));
      busy(20_000);
    });
    await cluster.clock.advance(35_000);

    expect(times).toEqual([10, 30]);
  });

  test("gets it when the lease is taken at the start, for no longer than the lease lasts", async () => {
    const cluster = new Cluster();
    const times: number[] = [];
    using _busy = cluster.client.intercept(() => {
      times.push(Math.round(cluster.clock.monotonic() / 1000));
      busy(times.length === 1 ? 10_000 : 300_000);
    });
    cluster.start("me");
    await cluster.clock.advance(60_000);

    expect(times[0]).toBe(0);
    expect(times[1]).toBeGreaterThanOrEqual(10);
    expect(times[1]).toBeLessThanOrEqual(11);
    expect((times[2] ?? 0) - (times[1] ?? 0)).toBe(40);
    expect(times).toHaveLength(3);
  });
});

describe("what a Lease says", () => {
  test("is when it was acquired, which no renewal changes", async () => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(25_000);

    expect(cluster.lease?.spec?.acquireTime).toBe("2026-01-01T00:00:00.000000Z");
    expect(cluster.lease?.spec?.renewTime).not.toBe(cluster.lease?.spec?.acquireTime);
    expect(cluster.lease).toMatchObject({ apiVersion: "coordination.k8s.io/v1", kind: "Lease" });
  });

  test("of an instance that takes it is that it was acquired then", async () => {
    const cluster = new Cluster();
    const first = cluster.start("me");
    await cluster.clock.advance(0);
    first.abort.abort();
    await cluster.clock.advance(5_000);
    cluster.start("me");
    await cluster.clock.advance(0);

    expect(cluster.lease?.spec?.acquireTime).toBe("2026-01-01T00:00:05.000000Z");
  });

  test("keeps owners of another kind or another name, and no fields that the server manages", async () => {
    const cluster = new Cluster();
    const { controller } = cluster.start("me");
    await cluster.clock.advance(0);
    const others = [
      { apiVersion: "v1", kind: "Node", name: "other", uid: "1" },
      { apiVersion: "v1", kind: "ConfigMap", name: "vk", uid: "2" },
    ];
    cluster.client.edit(
      resources.leases,
      "vk",
      (lease) => void (lease.metadata = { ...lease.metadata, ownerReferences: others, managedFields: [{ manager: "kubectl" }] }),
      leaseNamespace,
    );
    controller.setNodeUid("node-1");
    await cluster.clock.advance(100);

    expect(cluster.lease?.metadata?.ownerReferences).toEqual([...others, { apiVersion: "v1", kind: "Node", name: "vk", uid: "node-1" }]);
    expect(cluster.lease?.metadata).not.toHaveProperty("managedFields");
  });

  test("is written again at once for another node, and not for the same", async () => {
    const cluster = new Cluster();
    const { controller } = cluster.start("me");
    await cluster.clock.advance(1_000);
    controller.setNodeUid("node-1");
    await cluster.clock.advance(0);
    const renewals = cluster.renewals.length;
    controller.setNodeUid("node-1");
    controller.setNodeUid(undefined);
    await cluster.clock.advance(5_000);

    expect(cluster.renewals.length).toBe(renewals);
  });

  test("was renewed when it says, by our own clock", async () => {
    const cluster = new Cluster();
    const { controller } = cluster.start("me");
    expect(controller.renewedMs).toBeUndefined();
    await cluster.clock.advance(5_000);
    expect(controller.renewedMs).toBe(0);
    await cluster.clock.advance(10_000);
    expect(controller.renewedMs).toBeGreaterThanOrEqual(10_000);
    expect(controller.renewedMs).toBeLessThanOrEqual(10_400);
  });
});

describe("a wall clock that jumps", () => {
  test.each([
    [1_999, 0],
    [2_000, 1],
    [-3_600_000, 0],
  ])("by %i ms has the Lease renewed early %i times", async (ms, times) => {
    const cluster = new Cluster();
    cluster.start("me");
    await cluster.clock.advance(1_000);
    cluster.clock.jump(ms);
    await cluster.clock.advance(3_000);

    expect(cluster.renewals).toHaveLength(times);
  });
});

test("an instance that takes an unrenewed Lease waits no longer than the Lease itself lasts", async () => {
  const cluster = new Cluster();
  cluster.client.put(resources.leases, {
    metadata: { name: "vk", namespace: leaseNamespace, annotations: { [instanceAnnotation]: "other" } },
    spec: { leaseDurationSeconds: 3 },
  });
  const { claimed } = cluster.start("me");
  await cluster.clock.advance(2_999);
  expect(await stateOf(claimed)).toBe("pending");
  await cluster.clock.advance(1);

  expect(await stateOf(claimed)).toBe("held");
});

test("releasing a Lease that is gone does nothing", async () => {
  const cluster = new Cluster();
  const { controller, abort } = cluster.start("me");
  await cluster.clock.advance(0);
  abort.abort();
  cluster.client.remove(resources.leases, "vk", leaseNamespace);

  await expect(controller.release(new AbortController().signal)).resolves.toBeUndefined();
  expect(cluster.client.callsOf("delete", "leases")).toEqual([]);
});

test("a Lease is released only as it was read", async () => {
  const cluster = new Cluster();
  const { controller, abort } = cluster.start("me");
  await cluster.clock.advance(0);
  abort.abort();
  const { uid, resourceVersion } = cluster.lease?.metadata ?? {};
  await controller.release(new AbortController().signal);

  expect(cluster.client.callsOf("delete", "leases").map(({ body }) => body)).toEqual([{ preconditions: { uid, resourceVersion } }]);
});
