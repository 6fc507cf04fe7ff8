/**
 * Records the pauses of the event loop of the program that it is loaded into. A timer asks for a turn each millisecond; a pause is the time
 * between two turns. The longest of each 100 ms is kept, and written as JSON when the thread ends, to `PREFIX.PROCESS.THREAD.json`.
 *
 * Usage: PAUSES=PREFIX node --import ./pause-recorder.mjs PROGRAM
 */
import { writeFileSync } from "node:fs";
import { threadId } from "node:worker_threads";

const binMs = 100;
const startMs = performance.now();
const longestMs = [];
let lastMs = startMs;

const timer = setInterval(() => {
  const nowMs = performance.now();
  const bin = Math.floor((nowMs - startMs) / binMs);
  longestMs[bin] = Math.max(longestMs[bin] ?? 0, nowMs - lastMs);
  lastMs = nowMs;
}, 1);
timer.unref();

process.once("exit", () => {
  const record = { startMs: performance.timeOrigin + startMs, binMs, longestMs: Array.from(longestMs, (ms) => ms ?? 0) };
  // oxlint-disable-next-line node/no-process-env -- a module that is loaded into another program has no arguments of its own
  writeFileSync(`${process.env.PAUSES}.${process.pid}.${threadId}.json`, JSON.stringify(record));
});
