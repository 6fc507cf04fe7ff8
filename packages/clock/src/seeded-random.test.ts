import { describe, expect, test } from "vitest";
import { SeededRandom } from "./seeded-random.ts";

describe("SeededRandom", () => {
  test("gives mulberry32's numbers", () => {
    // By the generator's published form, in plain BigInt.
    const reference = (seed: number, count: number): number[] => {
      const mask = 0xffff_ffffn;
      let state = BigInt(seed);
      return Array.from({ length: count }, () => {
        state = (state + 0x6d2b79f5n) & mask;
        let mixed = ((state ^ (state >> 15n)) * (state | 1n)) & mask;
        mixed ^= (mixed + (((mixed ^ (mixed >> 7n)) * (mixed | 61n)) & mask)) & mask;
        return Number(mixed ^ (mixed >> 14n)) / 4_294_967_296;
      });
    };
    const random = new SeededRandom(1);

    const numbers = Array.from({ length: 50 }, () => random.next());

    expect(numbers).toEqual(reference(1, 50));
    expect(numbers[0]).toBe(0.627_073_940_588_161_3);
  });

  test("gives the same for the same seed, a negative one too, and other numbers for another", () => {
    const first = (seed: number): number => new SeededRandom(seed).next();

    expect(first(7)).toBe(first(7));
    expect(first(-1)).toBe(first(0xffff_ffff));
    expect(first(8)).not.toBe(first(7));
  });

  test("gives UUIDs of version 4, all variants of them, with every digit", () => {
    const random = new SeededRandom(1);

    const uuids = Array.from({ length: 200 }, () => random.uuid());

    for (const uuid of uuids) expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(uuids).size).toBe(200);
    expect(new Set(uuids.map((uuid) => uuid[19]))).toEqual(new Set("89ab"));
    expect(new Set(uuids.map((uuid) => uuid[0]))).toEqual(new Set("0123456789abcdef"));
  });
});
