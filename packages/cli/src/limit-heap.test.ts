import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** Replaces objects of many sizes in a random order, and prints the largest heap in MiB. */
const churn = `
  const { getHeapStatistics } = await import("node:v8");
  const { setImmediate: next } = await import("node:timers/promises");
  const held = [];
  let seed = 1;
  let largest = 0;
  for (let i = 0; i < 800_000; i++) {
    seed = (seed * 48271) % 2147483647;
    held[seed % 100_000] = { text: "x".repeat(seed % 150) + i, list: new Array(seed % 80).fill(i) };
    if (i % 10_000 !== 0) continue;
    await next();
    largest = Math.max(largest, getHeapStatistics().total_heap_size / 2 ** 20);
  }
  console.log(largest);
`;

async function largestHeapMiB(prelude: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", prelude + churn]);
  return Number(stdout);
}

test("a large heap whose objects come and go stays smaller than by default", async () => {
  const module = JSON.stringify(new URL("limit-heap.ts", import.meta.url).href);

  const [limited, usual] = await Promise.all([largestHeapMiB(`(await import(${module})).limitHeap();`), largestHeapMiB("")]);

  expect(limited).toBeLessThan(0.75 * usual);
}, 120_000);

/** Allocates 100 MB of objects, of which the last 2 MB stay, and prints the size of the space for new objects in MiB. */
const allocate = `
  const { getHeapSpaceStatistics } = await import("node:v8");
  const held = [];
  for (let i = 0; i < 2_000_000; i++) held[i % 40_000] = { i, next: [i] };
  console.log(getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space").space_size / 2 ** 20);
`;

async function newSpaceMiB(prelude: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", prelude + allocate]);
  return Number(stdout);
}

test("the space for new objects stays small, unless a flag of Node.js says how large it may be", async () => {
  const module = JSON.stringify(new URL("limit-heap.ts", import.meta.url).href);

  const limited = await newSpaceMiB(`(await import(${module})).limitHeap();`);
  const given = await newSpaceMiB(`(await import(${module})).limitHeap(["--max-semi-space-size=16"]);`);

  // A page more may be in use at the moment.
  expect(limited).toBeLessThan(given / 4);
});
