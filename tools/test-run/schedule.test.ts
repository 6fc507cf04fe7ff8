import { expect, test } from "vitest";
import { runSideBySide, type Work } from "./schedule.ts";

interface Named extends Work {
  readonly name: string;
}

const compute = (name: string): Named => ({ kind: "compute", name });
const wait = (name: string): Named => ({ kind: "wait", name });

/** Runs the list, ending the work under way one by one, oldest first; returns what was under way at each start. */
async function underWayAtEachStart(list: readonly Named[]): Promise<string[]> {
  const open: { name: string; end: () => void }[] = [];
  const seen: string[] = [];
  const done = runSideBySide(list, ({ name }) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    open.push({ name, end: () => resolve(name) });
    seen.push(open.map((each) => each.name).join("+"));
    return promise;
  });
  while (seen.length < list.length || open.length > 0) {
    open.shift()?.end();
    await Promise.resolve();
    await Promise.resolve();
  }
  expect(await done).toEqual(list.map(({ name }) => name));
  return seen;
}

test("work that computes runs beside work that waits", async () => {
  expect(await underWayAtEachStart([compute("static"), compute("unit"), wait("docker"), wait("zun")])).toEqual([
    "static",
    "static+docker",
    "docker+unit",
    "unit+zun",
  ]);
});

test("when one kind is used up, two of the other run side by side", async () => {
  expect(await underWayAtEachStart([wait("docker"), wait("zun"), wait("demo")])).toEqual(["docker", "docker+zun", "zun+demo"]);
});

test("a failure of the runner is the caller's", async () => {
  await expect(runSideBySide([wait("docker")], () => Promise.reject(new Error("no engine")))).rejects.toThrow("no engine");
});

test("nothing to run is nothing done", async () => {
  expect(await runSideBySide([], () => Promise.resolve(1))).toEqual([]);
});
