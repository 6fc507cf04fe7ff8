import { expect, test } from "vitest";
import { SingleFlight } from "./single-flight.ts";

const never = new AbortController().signal;

/** Calls that are ended by hand. */
class Calls {
  readonly signals: AbortSignal[] = [];
  readonly gates: PromiseWithResolvers<string>[] = [];
  readonly shared: SingleFlight<string> = new SingleFlight();

  run(key: string, signal = never): Promise<string> {
    const call = (inner: AbortSignal): Promise<string> => {
      this.signals.push(inner);
      const gate = Promise.withResolvers<string>();
      this.gates.push(gate);
      return gate.promise;
    };
    return this.shared.run(key, call, signal);
  }
}

test("who asks while a call is under way gets its answer; who asks for something else has a call of its own", async () => {
  const calls = new Calls();
  const answers = [calls.run("a"), calls.run("a"), calls.run("b")];

  calls.gates[0]?.resolve("one");
  calls.gates[1]?.resolve("two");

  expect(await Promise.all(answers)).toEqual(["one", "one", "two"]);
  expect(calls.signals.map(({ aborted }) => aborted)).toEqual([false, false]);
});

test("one who goes away does not end the call; the last one does, and the next begins another", async () => {
  const calls = new Calls();
  const [first, last] = [new AbortController(), new AbortController()];
  const answers = [calls.run("a", first.signal), calls.run("a", last.signal)];
  for (const answer of answers) answer.catch(() => {});

  first.abort(new Error("first is gone"));
  await expect(answers[0]).rejects.toThrow("first is gone");
  expect(calls.signals.map(({ aborted }) => aborted)).toEqual([false]);
  last.abort(new Error("last is gone"));
  await expect(answers[1]).rejects.toThrow("last is gone");
  void calls.run("a");

  expect(calls.signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});

test("a failure goes to all who wait, and is not kept", async () => {
  const calls = new Calls();
  const answers = [calls.run("a"), calls.run("a")];
  calls.gates[0]?.reject(new Error("away"));
  expect((await Promise.allSettled(answers)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);

  const next = calls.run("a");
  calls.gates[1]?.resolve("back");

  await expect(next).resolves.toBe("back");
});

test("one who has gone away before asking begins no call", async () => {
  const calls = new Calls();

  await expect(calls.run("a", AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");

  expect(calls.signals).toEqual([]);
});

test("a call that nobody waits for any more is told why", async () => {
  const calls = new Calls();
  const abort = new AbortController();
  const answer = calls.run("a", abort.signal);
  const reason = new Error("gone");

  abort.abort(reason);
  await expect(answer).rejects.toBe(reason);

  expect(calls.signals[0]?.reason).toBe(reason);
});

test("the late end of a call that was given up does not part those who wait for the next", async () => {
  const calls = new Calls();
  const abort = new AbortController();
  const given = calls.run("a", abort.signal);
  abort.abort(new Error("gone"));
  await expect(given).rejects.toThrow("gone");
  const second = calls.run("a");

  calls.gates[0]?.resolve("too late");
  await new Promise(setImmediate);
  const third = calls.run("a");
  calls.gates[1]?.resolve("in time");

  expect(await Promise.all([second, third])).toEqual(["in time", "in time"]);
  expect(calls.gates).toHaveLength(2);
});

test("a call that has come to its end is not joined, though who waited has not yet been told, and it is not aborted", async () => {
  const calls = new Calls();
  const first = calls.run("a");
  calls.gates[0]?.resolve("one");
  await calls.gates[0]?.promise;
  await Promise.resolve();

  const second = calls.run("a");
  calls.gates[1]?.resolve("two");

  expect([await first, await second]).toEqual(["one", "two"]);
  expect(calls.signals.map(({ aborted }) => aborted)).toEqual([false, false]);
});
