import { expect, test } from "vitest";
import { ArrivalTimes } from "./arrival-times.ts";

test("a byte's time is that of the first note that goes beyond it", () => {
  const times = new ArrivalTimes();
  times.note(10, 1000);
  times.note(10, 1500);
  times.note(30, 2000);
  times.note(20, 3000);

  expect([0, 9, 10, 29, 30].map((offset) => times.timeAt(offset))).toEqual([1000, 1000, 2000, 2000, undefined]);
});

test("times do not go back with the clock", () => {
  const times = new ArrivalTimes();
  times.note(10, 2000);
  times.note(20, 1000);

  expect([times.timeAt(5), times.timeAt(15)]).toEqual([2000, 2000]);
});

test("of many notes the oldest become coarser, and later", () => {
  const times = new ArrivalTimes();
  for (let index = 1; index <= 2000; index++) times.note(index, index);

  expect([times.timeAt(0), times.timeAt(1999)]).toEqual([977, 2000]);
});

test("a log that has become shorter was rotated, and nothing is known of it", () => {
  const times = new ArrivalTimes();
  times.note(10, 1000);
  times.noteEnd(10);
  expect(times.timeAt(5)).toBe(1000);
  times.noteEnd(4);
  expect(times.timeAt(2)).toBeUndefined();
});
