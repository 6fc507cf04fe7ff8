import { expect, test } from "vitest";
import { resolveServerLimits } from "./server-limits.ts";

test("a limit that is not set has its default", () => {
  const defaults = {
    headersTimeoutMs: 10_000,
    requestTimeoutMs: 30_000,
    handshakeTimeoutMs: 10_000,
    keepAliveTimeoutMs: 120_000,
    maxHeaderBytes: 65_536,
    maxHeaders: 512,
    maxConnections: 2_048,
    maxUnauthorizedPerAddress: 256,
    maxStreams: 1_024,
    maxForwardsPerSession: 256,
    maxForwards: 1_024,
    maxSharedStreams: 4_096,
    maxSharedBytes: 67_108_864,
    shutdownMs: 2_000,
    streaming: {},
  };

  expect(resolveServerLimits()).toEqual(defaults);
  expect(resolveServerLimits({})).toEqual(defaults);
});

test("the default for connections is twice the number of streams", () => {
  expect(resolveServerLimits({ maxStreams: 5_000 }).maxConnections).toBe(10_000);
});

test("a configured limit is used unchanged", () => {
  const limits = {
    headersTimeoutMs: 1,
    requestTimeoutMs: 2,
    handshakeTimeoutMs: 3,
    keepAliveTimeoutMs: 4,
    maxHeaderBytes: 5,
    maxHeaders: 6,
    maxConnections: 7,
    maxUnauthorizedPerAddress: 8,
    maxStreams: 9,
    shutdownMs: 10,
    maxSharedStreams: 11,
    maxSharedBytes: 12,
    maxForwardsPerSession: 13,
    maxForwards: 14,
    streaming: { idleMs: 15 },
  };

  expect(resolveServerLimits(limits)).toEqual(limits);
});
