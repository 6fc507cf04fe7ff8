import { silentLogger, type Metrics } from "@virtual-kubelet/kube-client";
import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { describe, expect, test } from "vitest";
import type { ProviderHealth } from "./node-object.ts";
import { HealthMonitor } from "./provider-health.ts";

function monitor(ping: (signal: AbortSignal) => Promise<void>) {
  const clock = new FakeClock();
  const changes: ProviderHealth[] = [];
  const gauges: number[] = [];
  const metrics: Metrics = { count() {}, gauge: (_name, value) => void gauges.push(value), observe() {} };
  const health = new HealthMonitor({
    provider: { ping },
    nodeName: "vk",
    intervalMs: 10_000,
    timeoutMs: 5_000,
    onChange: (next) => void changes.push(next),
    clock,
    logger: silentLogger,
    metrics,
  });
  const abort = new AbortController();
  const ended = health.run(abort.signal).catch((error: unknown) => error);
  return { clock, changes, gauges, health, abort, ended };
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
