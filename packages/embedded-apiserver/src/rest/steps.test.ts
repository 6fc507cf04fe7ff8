import { expect, test } from "vitest";
import { runResumably, runSteps, StepRunner, type Steps, WriteWaits } from "./steps.ts";

function* waits(log: string[], ...promises: Promise<void>[]): Steps<string> {
  for (const promise of promises) {
    yield promise;
    log.push("waited");
  }
  return "done";
}

test("steps that need not wait run to their end synchronously", () => {
  expect(runSteps(waits([]))).toBe("done");
  expect(new StepRunner().runNow(waits([]), () => "create pods web")).toBe("done");
});

test("steps that wait give a promise of their result", async () => {
  const log: string[] = [];
  const result = runSteps(waits(log, Promise.resolve(), Promise.resolve()));
  expect(result).toBeInstanceOf(Promise);
  expect(log).toEqual([]);
  expect(await result).toBe("done");
  expect(log).toEqual(["waited", "waited"]);
});

test("an error of what the steps wait for is thrown inside them", async () => {
  function* catches(): Steps<string> {
    try {
      yield Promise.reject(new Error("refused"));
    } catch (error) {
      return (error as Error).message;
    }
    return "not refused";
  }
  expect(await runSteps(catches())).toBe("refused");
  await expect(runSteps(waits([], Promise.reject(new Error("refused"))))).rejects.toThrow("refused");
});

test("a caller that cannot wait learns when the write is finished, and the write goes on", async () => {
  const log: string[] = [];
  const write = (): string => new StepRunner().runNow(waits(log, Promise.resolve()), () => "create pods web");
  expect(write).toThrow(WriteWaits);
  const error = (() => {
    try {
      return write();
    } catch (thrown) {
      return thrown;
    }
  })();
  expect((error as WriteWaits).message).toContain("create pods web");
  expect(await (error as WriteWaits).settled).toBe("done");
  expect(log).toEqual(["waited", "waited"]);
});

test("work that has to wait runs again, and its writes return or throw what they did the first time", async () => {
  const runner = new StepRunner();
  const seen: string[] = [];
  function* write(name: string, waiting: () => Promise<void>): Steps<string> {
    seen.push(`write ${name}`);
    yield waiting();
    return `wrote ${name}`;
  }
  const attempt = (name: string, waiting: () => Promise<void>): void => {
    try {
      seen.push(runner.runNow(write(name, waiting), () => `create pods ${name}`));
    } catch (error) {
      if (error instanceof WriteWaits) throw error;
      seen.push(`caught ${String(error)}`);
    }
  };
  await runResumably(() => {
    attempt("a", () => Promise.resolve());
    attempt("b", () => Promise.reject(new TypeError("no")));
  });
  expect(seen).toEqual(["write a", "wrote a", "write b", "wrote a", "caught TypeError: no"]);
});

test("work that does not have to wait is finished at once, and its error is thrown", () => {
  expect(runResumably(() => undefined)).toBeUndefined();
  expect(() =>
    runResumably(() => {
      throw new TypeError("no");
    }),
  ).toThrow("no");
});
