import { VirtualClock } from "@virtual-kubelet/clock";
import { isDeadlineExceeded, NotFoundError } from "@virtual-kubelet/errdefs";
import { noMetrics, noTracer, silentLogger, type MetricLabels } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { PodRef } from "../provider/pod-ref.ts";
import type { PodLifecycleHandler } from "../provider/pod-lifecycle.ts";
import { ProviderCalls } from "./provider-calls.ts";
import type { ResolvedPod } from "../provider/resolved-pod.ts";

const ref: PodRef = { namespace: "default", name: "web", uid: "u1" };
const never = new AbortController().signal;

function callsTo(deletePod: PodLifecycleHandler["deletePod"]): { calls: ProviderCalls; clock: VirtualClock; late: PodRef[] } {
  return callsOf({ deletePod });
}

function callsOf(methods: Partial<PodLifecycleHandler>): { calls: ProviderCalls; clock: VirtualClock; late: PodRef[] } {
  const clock = new VirtualClock();
  const late: PodRef[] = [];
  const unused = (): never => {
    throw new Error("not called in this test");
  };
  const provider = {
    ...{ createPod: unused, updatePod: unused, deletePod: unused, getPod: unused, getPodStatus: unused, getPods: unused },
    ...methods,
  };
  const calls = new ProviderCalls({
    provider,
    clock,
    logger: silentLogger,
    metrics: noMetrics,
    tracer: noTracer,
    timeoutMs: methods.getPods ? 300_000 : 60_000,
    onGivenUp: () => {},
    onLateEnd: (to) => late.push(to),
  });
  return { calls, clock, late };
}

test("a call's result and error pass through, and leave no timer behind", async () => {
  const { calls, clock } = callsTo(async () => {
    throw new NotFoundError("no such pod");
  });

  await expect(calls.deletePod(ref, { gracePeriodSeconds: 0 }, never)).rejects.toThrow("no such pod");

  expect(clock.pending).toBe(0);
});

test("a provider that throws before its first await rejects the call", async () => {
  const { calls } = callsTo(() => {
    throw new Error("sync");
  });

  await expect(calls.deletePod(ref, { gracePeriodSeconds: 0 }, never)).rejects.toThrow("sync");
});

test("a call past its deadline is aborted and fails with the deadline, naming method and pod", async () => {
  const { calls, clock } = callsTo(
    (_ref, _options, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );

  const call = calls.deletePod(ref, { gracePeriodSeconds: 0 }, never);
  call.catch(() => {});
  await clock.advance(60_000);

  await expect(call).rejects.toSatisfy(isDeadlineExceeded);
  await expect(call).rejects.toThrow("deletePod of pod default/web: no answer within 60 s");
});

test("a provider that ignores its signal holds the caller up for five seconds, and its late end is told", async () => {
  const gate = Promise.withResolvers<void>();
  const { calls, clock, late } = callsTo(() => gate.promise);

  let failed = false;
  const call = calls.deletePod(ref, { gracePeriodSeconds: 0 }, never);
  call.catch(() => (failed = true));
  await clock.advance(64_999);
  expect(failed).toBe(false);
  await clock.advance(1);
  expect(failed).toBe(true);

  expect(late).toEqual([]);
  gate.resolve();
  await clock.advance(0);
  expect(late).toEqual([ref]);
});

test("what succeeds within the five seconds after an abort has succeeded", async () => {
  const gate = Promise.withResolvers<void>();
  const { calls, clock } = callsTo(() => gate.promise);
  const abort = new AbortController();

  const call = calls.deletePod(ref, { gracePeriodSeconds: 0 }, abort.signal);
  abort.abort(new Error("stop"));
  await clock.advance(1_000);
  gate.resolve();

  await expect(call).resolves.toBeUndefined();
});

test("an aborted caller makes no call", async () => {
  let called = false;
  const { calls } = callsTo(async () => {
    called = true;
  });

  await expect(calls.deletePod(ref, { gracePeriodSeconds: 0 }, AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
  expect(called).toBe(false);
});

describe("each method", () => {
  const pod = { metadata: { name: "web" } };
  const resolved = {} as ResolvedPod;
  const held = { ref, owner: { clusterId: "c", nodeName: "n" }, status: { phase: "Running" } };

  /** A provider that notes its calls and answers, with what is counted and measured of it. */
  function recorded(change: Partial<PodLifecycleHandler> = {}) {
    const clock = new VirtualClock();
    const made: unknown[][] = [];
    const metered: string[] = [];
    const labelled = (name: string, labels: MetricLabels = {}): string => [name, ...Object.values(labels)].join(" ");
    const provider: PodLifecycleHandler = {
      createPod: async (...call) => void made.push(["createPod", ...call.slice(0, -1)]),
      updatePod: async (given, values, _signal, changes) => void made.push(["updatePod", given, values, changes]),
      deletePod: async (...call) => void made.push(["deletePod", ...call.slice(0, -1)]),
      getPod: async () => held,
      getPodStatus: async () => held.status,
      getPods: async () => ({ pods: [held], complete: true }),
      ...change,
    };
    const calls = new ProviderCalls({
      provider,
      clock,
      logger: silentLogger,
      metrics: {
        ...noMetrics,
        count: (name, labels) => void metered.push(labelled(name, labels)),
        observe: (name, value, labels) => void metered.push(`${labelled(name, labels)} ${value}`),
      },
      tracer: noTracer,
      timeoutMs: 60_000,
      onGivenUp: () => {},
      onLateEnd: () => {},
      redact: (uid, error) => new Error(`${uid}: ${error instanceof Error ? error.message : ""} [redacted]`),
    });
    return { calls, clock, made, metered };
  }

  test("passes on what it is given, and answers what the provider does", async () => {
    const { calls, made } = recorded();

    await calls.createPod(pod, resolved, ref, never);
    await calls.updatePod(pod, resolved, ref, never, { previous: undefined, parts: [] });
    await calls.deletePod(ref, { gracePeriodSeconds: 5 }, never);

    expect(made).toEqual([
      ["createPod", pod, resolved],
      ["updatePod", pod, resolved, { previous: undefined, parts: [] }],
      ["deletePod", ref, { gracePeriodSeconds: 5 }],
    ]);
    expect(await calls.getPod(ref, never)).toEqual(held);
    expect(await calls.getPodStatus(ref, never)).toEqual(held.status);
    expect(await calls.getPods(never)).toEqual({ pods: [held], complete: true });
  });

  test("is counted with its outcome and measured, under its own name", async () => {
    const { calls, clock, metered } = recorded({
      updatePod: async () => {
        await clock.sleep(250);
        throw new NotFoundError("no such pod");
      },
      deletePod: async () => {
        throw new Error("a plain one");
      },
    });
    await calls.createPod(pod, resolved, ref, never);
    const update = calls.updatePod(pod, resolved, ref, never, { previous: undefined, parts: [] });
    update.catch(() => {});
    await clock.advance(250);
    await expect(calls.deletePod(ref, { gracePeriodSeconds: 0 }, never)).rejects.toThrow("a plain one");
    await calls.getPod(ref, never);
    await calls.getPodStatus(ref, never);
    await calls.getPods(never);

    expect(metered.filter((line) => line.includes("calls_total"))).toEqual([
      "vk_provider_calls_total createPod OK",
      "vk_provider_calls_total updatePod VK_NOT_FOUND",
      "vk_provider_calls_total deletePod UNKNOWN",
      "vk_provider_calls_total getPod OK",
      "vk_provider_calls_total getPodStatus OK",
      "vk_provider_calls_total getPods OK",
    ]);
    expect(metered).toContain("vk_provider_call_duration_seconds updatePod 0.25");
  });

  test("that says what cannot be is refused by the method's name", async () => {
    const { calls } = recorded({
      getPod: async () => ({ ...held, status: { phase: "running" } }),
      getPodStatus: async () => ({ phase: "running" }),
    });

    await expect(calls.getPod(ref, never)).rejects.toThrow("provider's getPod returned phase");
    await expect(calls.getPodStatus(ref, never)).rejects.toThrow("provider's getPodStatus returned phase");
  });

  test("throws without the pod's secrets, where it is about one pod, but for the caller's own reason", async () => {
    const failing = async (): Promise<never> => {
      throw new Error("password");
    };
    const { calls } = recorded({ createPod: failing, getPods: failing, deletePod: () => new Promise(() => {}) });
    const stop = new AbortController();
    const aborted = recorded({
      createPod: (_pod, _resolved, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    }).calls.createPod(pod, resolved, ref, stop.signal);
    stop.abort(new Error("stop"));

    await expect(calls.createPod(pod, resolved, ref, never)).rejects.toThrow("u1: password [redacted]");
    await expect(calls.getPods(never)).rejects.toThrow(/^password$/);
    await expect(aborted).rejects.toThrow(/^stop$/);
  });
});

test("a provider that ignores its signal is told to the operator and counted, and only then", async () => {
  const clock = new VirtualClock();
  const [warnings, counted]: [string[], string[]] = [[], []];
  const gate = Promise.withResolvers<void>();
  const unused = (): never => {
    throw new Error("not called in this test");
  };
  const calls = new ProviderCalls({
    provider: {
      createPod: unused,
      updatePod: unused,
      getPod: unused,
      getPodStatus: unused,
      getPods: () => gate.promise as never,
      deletePod: (_ref, _options, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    },
    clock,
    logger: { ...silentLogger, warn: (_fields, message) => void warnings.push(message) },
    metrics: { ...noMetrics, count: (name, labels) => void counted.push([name, ...Object.values(labels ?? {})].join(" ")) },
    tracer: noTracer,
    timeoutMs: 10_000,
    onGivenUp: () => {},
    onLateEnd: () => {
      throw new Error("there is no pod");
    },
  });

  const heard = calls.deletePod(ref, { gracePeriodSeconds: 0 }, never);
  heard.catch(() => {});
  await clock.advance(10_000);
  await expect(heard).rejects.toThrow("no answer within 10 s");
  expect(warnings).toEqual([]);

  const ignored = calls.getPods(never);
  ignored.catch(() => {});
  await clock.advance(15_000);
  await expect(ignored).rejects.toThrow("getPods: no answer within 10 s");
  expect(warnings).toEqual(["provider ignores its abort signal; the call is no longer waited for"]);
  expect(counted).toContain("vk_provider_abandoned_calls_total getPods");
  gate.resolve();
  await clock.advance(0);
  expect(clock.pending).toBe(0);
});

test("a call that is over no longer hears of its caller's abort, and leaves no timer", async () => {
  const { calls, clock } = callsTo(async () => {});
  const abort = new AbortController();
  const { signal } = abort;
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...call: Parameters<typeof add>) => (listeners++, add(...call));
  signal.removeEventListener = (...call: Parameters<typeof remove>) => (listeners--, remove(...call));

  await calls.deletePod(ref, { gracePeriodSeconds: 0 }, signal);

  expect([listeners, clock.pending]).toEqual([0, 0]);
});

describe("getPods", () => {
  const list = { pods: [], complete: true };

  test("has a minute, however long other calls may take", async () => {
    const { calls, clock } = callsOf({
      getPods: (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    const call = calls.getPods(never).catch((error: unknown) => error);

    await clock.advance(60_000);

    expect(await call).toMatchObject({ message: "getPods: no answer within 60 s" });
    expect(clock.pending).toBe(0);
  });

  test("is not called before the last call has come back, which the caller waits for within its own minute", async () => {
    const gates = [Promise.withResolvers<typeof list>(), Promise.withResolvers<typeof list>()];
    let made = 0;
    const { calls, clock } = callsOf({ getPods: () => gates[made++]?.promise ?? Promise.reject(new Error("called too often")) });
    const first = calls.getPods(never).catch((error: unknown) => error);
    await clock.advance(65_000);
    expect(await first).toSatisfy(isDeadlineExceeded);
    const second = calls.getPods(never).catch((error: unknown) => error);
    await clock.advance(60_000);
    expect(await second).toSatisfy(isDeadlineExceeded);
    const [third, fourth] = [calls.getPods(never), calls.getPods(never)];
    await clock.advance(1_000);
    expect(made).toBe(1);

    gates[0]?.resolve(list);
    await clock.advance(0);
    expect(made).toBe(2);
    gates[1]?.resolve(list);

    await expect(third).resolves.toEqual(list);
    await expect(fourth).rejects.toThrow("called too often");
  });
});

test("a deletion that was given up is not begun again before it has come back, whoever asks for it", async () => {
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const { calls, clock } = callsTo(() => {
    begun++;
    return gate.promise;
  });
  const first = calls.deletePod(ref, { gracePeriodSeconds: 0 }, never);
  first.catch(() => {});
  await clock.advance(60_000);
  await clock.advance(5_000);
  await expect(first).rejects.toThrow("no answer within 60 s");

  await expect(calls.deletePod(ref, { gracePeriodSeconds: 0 }, never)).rejects.toThrow("the previous call has not returned yet");
  expect(begun).toBe(1);
  gate.resolve();
  await clock.advance(0);
  await calls.deletePod(ref, { gracePeriodSeconds: 0 }, never);

  expect(begun).toBe(2);
});

test("a question may have a shorter deadline than other calls, and no longer one", async () => {
  const { calls, clock } = callsOf({
    getPodStatus: (_ref, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  });
  const short = calls.getPodStatus(ref, never, 10_000).catch((error: unknown) => error);
  const long = calls.getPodStatus(ref, never, 90_000).catch((error: unknown) => error);

  await clock.advance(10_000);
  expect(await short).toMatchObject({ message: "getPodStatus of pod default/web: no answer within 10 s" });
  await clock.advance(50_000);

  expect(await long).toMatchObject({ message: "getPodStatus of pod default/web: no answer within 60 s" });
  expect(clock.pending).toBe(0);
});

test("a question that was given up is not asked again before it has come back; another pod's, and another question, are", async () => {
  const status = { phase: "Running" as const };
  const gate = Promise.withResolvers<typeof status>();
  const asked: string[] = [];
  const { calls, clock, late } = callsOf({
    getPodStatus: async ({ uid }) => {
      asked.push(uid);
      return uid === "u1" ? gate.promise : status;
    },
    getPod: async () => {
      throw new NotFoundError("no such pod");
    },
  });
  const first = calls.getPodStatus(ref, never).catch((error: unknown) => error);
  await clock.advance(65_000);
  await first;

  await expect(calls.getPodStatus(ref, never)).rejects.toThrow("getPodStatus of pod default/web: the previous call has not returned yet");
  await expect(calls.getPodStatus({ ...ref, uid: "u2" }, never)).resolves.toEqual(status);
  await expect(calls.getPod(ref, never)).rejects.toThrow("no such pod");
  expect(asked).toEqual(["u1", "u2"]);
  gate.resolve(status);
  await clock.advance(0);

  await expect(calls.getPodStatus(ref, never)).resolves.toEqual(status);
  expect(late).toEqual([]);
});
