import { Semaphore } from "@virtual-kubelet/async";
import { VirtualClock } from "@virtual-kubelet/clock";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { Prober, type ProbeAttempt, type WantedProbe } from "./prober.ts";
import { RuntimePresence } from "../provider/runtime-presence.ts";

const startedAtMs = new VirtualClock().now();
const readiness: WantedProbe = {
  container: "app",
  id: "c1",
  kind: "readiness",
  spec: { failureThreshold: 1, periodSeconds: 5 },
  startedAtMs,
  isReady: false,
};

function rig(answers: readonly (ProbeAttempt | Error | "hang")[]) {
  const clock = new VirtualClock();
  const log: string[] = [];
  const presence = new RuntimePresence();
  const attempts: string[] = [];
  const state = { answersPings: true };
  let asked = 0;
  const prober = new Prober({
    clock,
    watchPresence: () => presence.watch(),
    pingRuntime: () => (state.answersPings ? Promise.resolve() : clock.sleep(5_000).then(() => Promise.reject(new Error("no answer")))),
    logger: silentLogger,
    attempt: () => {
      const answer = answers[asked++] ?? { isSuccess: true, output: "" };
      if (answer === "hang") return new Promise(() => {});
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    onAttempt: (_, outcome, seconds) => attempts.push(`${outcome} ${seconds}`),
    onResult: ({ kind }, isSuccess) => log.push(`${kind} ${isSuccess}`),
    onFailure: (_, output) => log.push(output),
    onWarning: (_, output) => log.push(`warning ${output}`),
  });
  return { clock, log, attempts, presence, state, prober, asked: () => asked };
}

test("Prober.want runs a probe until it is no longer wanted, and leaves no timer", async () => {
  const { clock, log, prober, asked } = rig([]);

  prober.want([readiness]);
  await clock.advance(10_000);
  expect(asked()).toBe(3);
  prober.want([]);
  await clock.advance(10_000);

  expect(log).toEqual(["readiness true"]);
  expect([asked(), clock.pending]).toEqual([3, 0]);
});

test("an attempt without an answer fails at its timeout", async () => {
  const { clock, log, prober } = rig([{ isSuccess: true, output: "" }, "hang"]);

  prober.want([readiness]);
  await clock.advance(6_000);

  expect(log).toEqual(["readiness true", "no answer within 1000 ms", "readiness false"]);
  prober[Symbol.dispose]();
});

const command: WantedProbe = { ...readiness, isReady: true, spec: { ...readiness.spec, exec: { command: ["true"] } } };

test.each([
  [0, "is away"],
  [500, "leaves meanwhile"],
  [2_500, "is seen to have left afterwards"],
])("a command without an answer has no result if the runtime %i ms later %s", async (leavesAfterMs) => {
  const { clock, log, presence, prober } = rig(["hang", { isSuccess: false, output: "killed" }, { isSuccess: false, output: "no" }]);
  clock.setTimer(leavesAfterMs, () => presence.leave());

  prober.want([command]);
  await clock.advance(9_000);
  expect(log).toEqual([]);
  presence.comeBack();
  await clock.advance(1_000);

  expect(log).toEqual(["no", "readiness false"]);
  prober[Symbol.dispose]();
});

test("a command without an answer has no result while the runtime answers no ping, even if nothing has reported its absence", async () => {
  const { clock, log, attempts, state, prober } = rig(["hang", "hang"]);
  state.answersPings = false;

  prober.want([command]);
  await clock.advance(8_000);
  expect([log, attempts]).toEqual([[], ["error 8"]]);
  await clock.advance(4_999);
  state.answersPings = true;
  await clock.advance(10_000);

  expect(log.slice(0, 2)).toEqual(["no answer within 1000 ms", "readiness false"]);
  prober[Symbol.dispose]();
});

test("after a command without an answer, the runtime is pinged before the next command", async () => {
  const { clock, log, state, prober, asked } = rig(["hang"]);
  state.answersPings = false;

  prober.want([{ ...command, spec: { ...command.spec, periodSeconds: 1 } }]);
  await clock.advance(60_000);
  expect([asked(), log]).toEqual([1, []]);
  state.answersPings = true;
  await clock.advance(10_000);

  expect(asked()).toBeGreaterThan(1);
  expect(log).toEqual([]);
  prober[Symbol.dispose]();
});

test("a command without an answer fails if the runtime is there, and a check without the runtime fails while it is away", async () => {
  const staying = rig(["hang"]);
  staying.prober.want([command]);
  await staying.clock.advance(3_000);
  expect(staying.log).toEqual(["no answer within 1000 ms", "readiness false"]);
  staying.prober[Symbol.dispose]();

  const other = rig([{ isSuccess: false, output: "refused" }]);
  other.presence.leave();
  other.prober.want([{ ...readiness, isReady: true }]);
  await other.clock.advance(0);
  expect(other.log).toEqual(["refused", "readiness false"]);
  other.prober[Symbol.dispose]();
});

test("an attempt that succeeds with a warning is reported, and counts as a success", async () => {
  const { clock, log, prober } = rig([{ isSuccess: true, output: "elsewhere", isWarning: true }]);

  prober.want([readiness]);
  await clock.advance(0);

  expect(log).toEqual(["warning elsewhere", "readiness true"]);
  prober[Symbol.dispose]();
});

test("an attempt that cannot be made is repeated three times, and then has no result", async () => {
  const { clock, log, prober, asked } = rig([new Error("a"), new Error("b"), new Error("c")]);

  prober.want([readiness]);
  await clock.advance(0);
  expect([asked(), log]).toEqual([3, []]);
  await clock.advance(5_000);

  expect(log).toEqual(["readiness true"]);
  prober[Symbol.dispose]();
});

test("the same probe of another instance starts from the beginning", async () => {
  const { clock, log, prober } = rig([]);

  prober.want([readiness]);
  await clock.advance(0);
  prober.want([{ ...readiness, id: "c2" }]);
  await clock.advance(0);

  expect(log).toEqual(["readiness true", "readiness true"]);
  prober[Symbol.dispose]();
});

test("a container that was ready before a restart of the program is reported as soon as it is not ready", async () => {
  const { clock, log, prober } = rig([{ isSuccess: false, output: "no" }]);

  prober.want([{ ...readiness, isReady: true }]);
  await clock.advance(0);

  expect(log).toEqual(["no", "readiness false"]);
  prober[Symbol.dispose]();
});

test("the initial delay counts from the container's start", async () => {
  const { clock, asked, prober } = rig([]);
  await clock.advance(7_000);

  prober.want([{ ...readiness, spec: { initialDelaySeconds: 10 } }]);
  await clock.advance(2_999);
  expect(asked()).toBe(0);
  await clock.advance(1);

  expect(asked()).toBe(1);
  prober[Symbol.dispose]();
});

test("a probe that is still wanted continues undisturbed, and the others end", async () => {
  const { clock, prober, asked } = rig([]);
  const liveness: WantedProbe = { ...readiness, kind: "liveness" };
  prober.want([readiness, liveness]);
  await clock.advance(4_999);
  expect(asked()).toBe(2);

  prober.want([readiness]);
  await clock.advance(1);

  expect(asked()).toBe(3);
  prober[Symbol.dispose]();
  await clock.advance(60_000);
  expect([asked(), clock.pending]).toEqual([3, 0]);
});

test("probes of another container, kind or instance are separate", async () => {
  const { clock, log, prober } = rig([]);
  const probes = [readiness, { ...readiness, container: "other" }, { ...readiness, id: "c2" }, { ...readiness, kind: "startup" as const }];

  prober.want(probes);
  await clock.advance(0);

  expect(log).toEqual(["readiness true", "readiness true", "readiness true", "startup true"]);
  prober[Symbol.dispose]();
});

test("a liveness probe that has failed ends", async () => {
  const failed: ProbeAttempt = { isSuccess: false, output: "no" };
  const { clock, log, prober, asked } = rig([failed, failed, failed]);

  prober.want([{ ...readiness, kind: "liveness", spec: { failureThreshold: 2, periodSeconds: 5 } }]);
  await clock.advance(60_000);

  expect([log, asked(), clock.pending]).toEqual([["no", "no", "liveness false"], 2, 0]);
  prober[Symbol.dispose]();
});

test("an attempt has the timeout of its probe, and is aborted after that", async () => {
  const clock = new VirtualClock();
  const signals: AbortSignal[] = [];
  const log: string[] = [];
  const prober = new Prober({
    clock,
    logger: silentLogger,
    attempt: (_, signal) => {
      signals.push(signal);
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    onResult: (_, isSuccess) => log.push(String(isSuccess)),
    onFailure: (_, output) => log.push(output),
    onWarning: () => {},
  });

  prober.want([{ ...readiness, isReady: true, spec: { timeoutSeconds: 3, failureThreshold: 1, periodSeconds: 60 } }]);
  await clock.advance(2_999);
  expect([signals.length, signals[0]?.aborted, log]).toEqual([1, false, []]);
  await clock.advance(1);

  expect([signals.length, signals[0]?.aborted, log]).toEqual([1, true, ["no answer within 3000 ms", "false"]]);
  prober[Symbol.dispose]();
});

test("an attempt of a probe that is no longer wanted is aborted without a result", async () => {
  const clock = new VirtualClock();
  const log: string[] = [];
  let given: AbortSignal | undefined;
  const prober = new Prober({
    clock,
    logger: { ...silentLogger, error: () => void log.push("error") },
    attempt: (_, signal) => {
      given = signal;
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    onResult: () => log.push("result"),
    onFailure: () => log.push("failure"),
    onWarning: () => {},
  });
  prober.want([readiness]);
  await clock.advance(0);

  prober.want([]);
  await clock.advance(0);

  expect([given?.aborted, log, clock.pending]).toEqual([true, [], 0]);
});

test("a probe that starts late starts at once if its initial delay is over", async () => {
  const { clock, asked, prober } = rig([]);
  await clock.advance(60_000);

  prober.want([{ ...readiness, spec: { initialDelaySeconds: 10, periodSeconds: 5 } }]);
  await clock.advance(0);
  expect(asked()).toBe(1);
  await clock.advance(4_999);
  expect(asked()).toBe(1);
  await clock.advance(1);

  expect(asked()).toBe(2);
  prober[Symbol.dispose]();
});

test("a container with a start time in the future, from a clock that was wrong, is treated as one that starts now", async () => {
  const { clock, asked, prober } = rig([]);

  prober.want([{ ...readiness, startedAtMs: clock.now() + 3_600_000 }]);
  await clock.advance(0);

  expect(asked()).toBe(1);
  prober[Symbol.dispose]();
});

test("the wait for admission does not count as time of the attempt", async () => {
  const clock = new VirtualClock();
  const log: string[] = [];
  const turn = Promise.withResolvers<void>();
  using prober = new Prober({
    clock,
    logger: silentLogger,
    attempt: async () => ({ isSuccess: true, output: "" }),
    admit: async (_, attempt) => {
      await turn.promise;
      return attempt();
    },
    onAttempt: (_, outcome, seconds) => log.push(`${outcome} in ${seconds} s`),
    onResult: (_, isSuccess) => log.push(String(isSuccess)),
    onFailure: (_, output) => log.push(output),
    onWarning: () => {},
  });

  prober.want([readiness]);
  await clock.advance(60_000);
  expect(log).toEqual([]);
  turn.resolve();
  await clock.advance(0);

  expect(log.slice(0, 2)).toEqual(["success in 0 s", "true"]);
});

test("an attempt after its timeout keeps its place until it has settled, but its failure is reported at the timeout", async () => {
  const clock = new VirtualClock();
  const log: string[] = [];
  const leaving = [Promise.withResolvers<never>(), Promise.withResolvers<never>()];
  const room = new Semaphore(1);
  let begun = 0;
  using prober = new Prober({
    clock,
    logger: silentLogger,
    attempt: () => leaving[begun++]?.promise ?? Promise.resolve({ isSuccess: true, output: "" }),
    admit: (_, attempt, signal) => room.run(attempt, signal),
    onAttempt: (_, outcome, seconds) => log.push(`${outcome} in ${seconds} s`),
    onResult: () => {},
    onFailure: (_, output) => log.push(output),
    onWarning: () => {},
  });

  prober.want([readiness]);
  await clock.advance(1_000);
  expect(log).toEqual(["no answer within 1000 ms", "failure in 1 s"]);
  await clock.advance(30_000);
  expect(begun).toBe(1);
  leaving[0]?.reject(new Error("aborted"));
  await clock.advance(0);

  expect(begun).toBe(2);
  leaving[1]?.reject(new Error("aborted"));
});

test("a failure that may be caused by the way to the container has no result and is not reported", async () => {
  const clock = new VirtualClock();
  const log: string[] = [];
  let isThere = false;
  using prober = new Prober({
    clock,
    logger: silentLogger,
    attempt: async () => ({ isSuccess: false, output: "no" }),
    confirm: () => (isThere ? Promise.resolve() : Promise.reject(new Error("the machine is away"))),
    onResult: (_, isSuccess) => log.push(String(isSuccess)),
    onFailure: (_, output) => log.push(output),
    onWarning: () => {},
  });

  prober.want([{ ...readiness, isReady: true }]);
  await clock.advance(30_000);
  expect(log).toEqual([]);
  isThere = true;
  await clock.advance(5_000);

  expect(log).toEqual(["no", "false"]);
});

test("each attempt is reported with its outcome and its duration", async () => {
  const { clock, attempts, prober } = rig([{ isSuccess: false, output: "" }, new Error("1"), new Error("2"), new Error("3"), "hang"]);

  prober.want([readiness]);
  await clock.advance(11_000);
  prober[Symbol.dispose]();

  expect(attempts).toEqual(["failure 0", "error 0", "failure 1"]);
});
