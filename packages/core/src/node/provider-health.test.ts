import { VirtualClock } from "@virtual-kubelet/clock";
import { DeadlineExceededError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { silentLogger, type Metrics } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { ProviderHealth } from "./node-object.ts";
import { HealthMonitor } from "./provider-health.ts";

function monitor(ping: (signal: AbortSignal, clock: VirtualClock) => Promise<void>, toleranceMs = 0) {
  const clock = new VirtualClock();
  const changes: ProviderHealth[] = [];
  const gauges: number[] = [];
  const [metered, warnings]: [string[], string[]] = [[], []];
  const recoveries: number[] = [];
  const metrics: Metrics = {
    count: (name) => void metered.push(name),
    gauge: (name, value, labels) => {
      gauges.push(value);
      metered.push([name, ...Object.values(labels ?? {}), value].join(" "));
    },
    observe: (name, value) => void metered.push(`${name} ${value}`),
  };
  const health = new HealthMonitor({
    provider: { ping: (signal) => ping(signal, clock) },
    nodeName: "vk",
    intervalMs: 10_000,
    timeoutMs: 5_000,
    toleranceMs,
    onAnswersAgain: () => void recoveries.push(clock.monotonic()),
    onChange: (next) => void changes.push(next),
    clock,
    logger: { ...silentLogger, warn: (_fields, message) => void warnings.push(message) },
    metrics,
  });
  const abort = new AbortController();
  const ended = health.run(abort.signal).catch((error: unknown) => error);
  return { clock, changes, recoveries, gauges, metered, warnings, health, abort, ended };
}

describe("HealthMonitor", () => {
  test("pings at once, and then at the interval", async () => {
    let pings = 0;
    const { clock, health, changes } = monitor(async () => void pings++);

    expect(health.health).toEqual({ kind: "unknown" });
    await clock.advance(0);
    expect({ pings, health: health.health }).toEqual({ pings: 1, health: { kind: "up" } });
    await clock.advance(30_000);

    expect(pings).toBe(4);
    expect(changes).toEqual([{ kind: "up" }]);
  });

  test("is down with the provider's message after one failure, and up after one success", async () => {
    let fails = true;
    const { clock, changes, gauges } = monitor(async () => {
      if (fails) throw new Error("connect ECONNREFUSED");
    });
    await clock.advance(0);
    fails = false;
    await clock.advance(10_000);

    expect(changes).toEqual([{ kind: "down", message: "connect ECONNREFUSED" }, { kind: "up" }]);
    expect(gauges).toEqual([0, 1]);
  });

  test("tolerates for a while that a back end cannot be reached, says so once, and tells that it answers again", async () => {
    let fails = false;
    const { clock, changes, gauges, recoveries, warnings } = monitor(async () => {
      if (fails) throw new UnavailableError("connect ECONNREFUSED");
    }, 30_000);
    await clock.advance(0);
    fails = true;
    await clock.advance(29_000);
    expect([changes, gauges, warnings]).toEqual([
      [{ kind: "up" }],
      [1, 0, 0],
      ["provider cannot be reached; the node stays ready for a while"],
    ]);
    fails = false;
    await clock.advance(1_000);
    expect([changes.length, recoveries]).toEqual([1, [clock.monotonic()]]);

    fails = true;
    await clock.advance(29_999);
    expect(changes).toHaveLength(1);
    await clock.advance(1);
    expect(changes.at(-1)).toEqual({ kind: "down", message: "connect ECONNREFUSED" });
    fails = false;
    await clock.advance(10_000);
    expect([changes.at(-1), recoveries.length]).toEqual([{ kind: "up" }, 2]);
  });

  test("tolerates a ping that hangs, but no back end that answers and is not fit, and none that never answered", async () => {
    const errors: (Error | undefined)[] = [undefined, new DeadlineExceededError("slow"), new NotFoundError("no network")];
    const unfit = monitor(async () => {
      const error = errors.shift();
      if (error) throw error;
    }, 30_000);
    await unfit.clock.advance(10_000);
    expect(unfit.changes).toEqual([{ kind: "up" }]);
    await unfit.clock.advance(10_000);
    expect(unfit.changes.at(-1)).toEqual({ kind: "down", message: "no network" });

    const never = monitor(() => Promise.reject(new UnavailableError("away")), 30_000);
    await never.clock.advance(0);
    expect(never.changes).toEqual([{ kind: "down", message: "away" }]);
  });

  test("gives a ping a deadline, and pings no second time while one hangs", async () => {
    let pings = 0;
    const held = Promise.withResolvers<void>();
    const { clock, changes, health } = monitor(() => (pings++ === 0 ? held.promise : Promise.resolve()));

    await clock.advance(5_000);
    expect(health.health).toEqual({ kind: "down", message: "ping the provider: no answer within 5 s" });
    await clock.advance(120_000);
    expect(pings).toBe(1);
    held.resolve();
    await clock.advance(10_000);

    expect(pings).toBe(2);
    expect(changes.at(-1)).toEqual({ kind: "up" });
  });

  test("says no more than once a minute that a provider that stays away gives another message", async () => {
    let pings = 0;
    const { clock, changes } = monitor(async () => {
      throw new Error(`request ${pings++}`);
    });

    await clock.advance(125_000);

    expect(changes.map((change) => change.kind === "down" && change.message)).toEqual(["request 0", "request 6", "request 12"]);
  });

  test("ends with the signal's reason, also in the middle of a ping", async () => {
    const { clock, abort, ended } = monitor(() => new Promise(() => {}));
    await clock.advance(0);

    abort.abort("stop");

    expect(await ended).toBe("stop");
    expect(clock.pending).toBe(0);
  });
});

test("each ping is measured, each failure counted, and the first of them told", async () => {
  const { clock, metered, warnings } = monitor(async (_signal, pinged) => {
    await pinged.sleep(250);
    throw new Error("connect ECONNREFUSED");
  });
  await clock.advance(11_000);

  const once = ["vk_provider_ping_duration_seconds 0.25", "vk_provider_up vk 0", "vk_provider_ping_failures_total"];
  expect(metered).toEqual([...once, ...once]);
  expect(warnings).toEqual(["provider does not answer"]);
});

test("a provider that answers is up, and none of its pings is a failure", async () => {
  const { clock, metered } = monitor(async () => {});
  await clock.advance(0);

  expect(metered).toEqual(["vk_provider_ping_duration_seconds 0", "vk_provider_up vk 1"]);
});

test("a provider that stays away with the same message is no news, however long", async () => {
  const { clock, changes } = monitor(async () => {
    throw new Error("gone");
  });
  await clock.advance(600_000);

  expect(changes).toHaveLength(1);
});
