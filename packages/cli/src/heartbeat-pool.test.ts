import { expect, test } from "vitest";
import { heartbeatPool } from "./heartbeat-pool.ts";

test.for([
  [1, {}],
  [10, {}],
  [11, { connections: 2 }],
  [1_000, { connections: 20 }],
] as const)("the heartbeats of %i nodes have the connections %j", ([nodes, expected]) => {
  expect(heartbeatPool(nodes)).toEqual(expected);
});
