import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { NodeProvider } from "../provider/node-provider.ts";
import { NodeDescriber } from "./node-describer.ts";

interface Rig {
  readonly clock: VirtualClock;
  readonly describer: NodeDescriber;
  readonly warnings: string[];
  readonly counted: string[];
  changes: number;
  readonly stop: AbortController;
}

function rig(provider: Partial<NodeProvider>): Rig {
  const clock = new VirtualClock();
  const [warnings, counted]: [string[], string[]] = [[], []];
  const describer = new NodeDescriber({
    provider: { ping: async () => {}, ...provider },
    timeoutMs: 5_000,
    onChange: () => made.changes++,
    clock,
    random: new SeededRandom(1),
    logger: { ...silentLogger, warn: (_fields, message) => void warnings.push(message) },
    metrics: { ...noMetrics, count: (name) => void counted.push(name) },
  });
  const made: Rig = { clock, describer, warnings, counted, changes: 0, stop: new AbortController() };
  return made;
}

/** Starts what {@link NodeDescriber.run} does, and says what it ended with. */
function run({ describer, stop }: Rig): Promise<unknown> {
  return describer.run(stop.signal).catch((error: unknown) => error);
}

describe("a description", () => {
  test("is there after the start, and one of a provider that says nothing is empty", async () => {
    const silent = rig({});
    expect(silent.describer.description).toBeUndefined();
    await silent.describer.start(silent.stop.signal);
    expect(Object.values(silent.describer.description ?? { missing: 1 }).filter((value) => value !== undefined)).toEqual([]);

    const it = rig({ configureNode: async () => ({ labels: { a: "1" } }) });
    await it.describer.start(it.stop.signal);
    expect(it.describer.description).toMatchObject({ labels: { a: "1" } });
    expect(it.changes).toBe(1);
  });

  test("that is the same again is no change, and another one is", async () => {
    let value = "1";
    const it = rig({ configureNode: async () => ({ labels: { a: value } }) });
    await it.describer.start(it.stop.signal);
    const running = run(it);

    it.describer.refresh();
    await it.clock.advance(2_000);
    expect(it.changes).toBe(1);
    value = "2";
    it.describer.refresh();
    await it.clock.advance(2_000);
    expect(it.changes).toBe(2);

    it.stop.abort("stop");
    expect(await running).toBe("stop");
    expect(it.clock.pending).toBe(0);
  });

  test("is asked for when the provider says so, but once a second at most", async () => {
    let [asked, notify] = [0, (): void => {}];
    const it = rig({ configureNode: async () => (asked++, {}), notifyNodeStatus: (listener) => void (notify = listener) });
    await it.describer.start(it.stop.signal);
    const running = run(it);
    await it.clock.advance(60_000);
    expect(asked).toBe(1);

    notify();
    await it.clock.advance(0);
    expect(asked).toBe(2);
    notify();
    await it.clock.advance(999);
    expect(asked).toBe(2);
    await it.clock.advance(1);
    expect(asked).toBe(3);

    it.stop.abort();
    await running;
  });
});

describe("a provider that fails to describe its node", () => {
  test("is asked again with back-off, its failures are told and counted, and what it said before stays", async () => {
    let fails = false;
    let asked = 0;
    const it = rig({
      configureNode: async () => {
        asked++;
        if (fails) throw new Error("not today");
        return { labels: { a: "1" } };
      },
    });
    await it.describer.start(it.stop.signal);
    const running = run(it);
    fails = true;
    it.describer.refresh();
    await it.clock.advance(10);
    expect([it.warnings, it.counted]).toEqual([
      ["provider could not describe its node; trying again"],
      ["vk_provider_configure_failures_total"],
    ]);
    expect(it.describer.description).toMatchObject({ labels: { a: "1" } });
    await it.clock.advance(300_000);
    const whileFailing = asked;
    expect(whileFailing).toBeGreaterThan(6);
    expect(whileFailing).toBeLessThan(16);

    fails = false;
    await it.clock.advance(62_000);
    const afterwards = asked;
    await it.clock.advance(300_000);
    expect(asked).toBe(afterwards);

    it.stop.abort();
    await running;
  });

  test("after five seconds without an answer has failed", async () => {
    const it = rig({ configureNode: () => new Promise(() => {}) });
    const starting = it.describer.start(it.stop.signal);
    await it.clock.advance(5_000);
    await starting;

    expect(it.describer.description).toBeUndefined();
    expect(it.warnings).toEqual(["provider could not describe its node; trying again"]);
  });

  test("is left when that is stopped, with the signal's reason and without a word", async () => {
    const it = rig({ configureNode: () => new Promise(() => {}) });
    const starting = it.describer.start(it.stop.signal);
    it.stop.abort(new Error("stop"));

    await expect(starting).rejects.toThrow("stop");
    expect([it.warnings, it.counted]).toEqual([[], []]);
  });
});

test("what is described wrongly is told once, again when something else is wrong, and again after it was right", async () => {
  let description: unknown = { architecture: 5 };
  const it = rig({ configureNode: async () => description as never });
  await it.describer.start(it.stop.signal);
  const running = run(it);
  const described = async (next: unknown): Promise<number> => {
    description = next;
    it.describer.refresh();
    await it.clock.advance(2_000);
    return it.warnings.length;
  };

  expect(it.warnings).toEqual(["provider's description of its node has invalid fields; they are left out"]);
  expect(await described({ architecture: 5, labels: { a: "1" } })).toBe(1);
  expect(await described({ architecture: 6 })).toBe(2);
  expect(await described({})).toBe(2);
  expect(await described({ architecture: 6 })).toBe(3);

  it.stop.abort();
  await running;
});
