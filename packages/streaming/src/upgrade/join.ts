import type { Clock } from "@virtual-kubelet/clock";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { tuneSocket } from "../channel/tune-socket.ts";

/** How long one direction may go on when the other has ended. An API server gives it no time at all. */
const lingerMs = 10_000;

/** Copies bytes both ways until both directions have ended, or one has failed. Never throws; both are closed afterwards. */
export async function joinDuplexes(left: Duplex, right: Duplex, clock: Clock): Promise<void> {
  for (const each of [left, right]) {
    each.on("error", () => undefined);
    tuneSocket(each);
    // A pipeline for each direction takes ten by itself.
    each.setMaxListeners(32);
  }
  const directions = [pipeline(left, right), pipeline(right, left)];
  const end = (): void => {
    left.destroy();
    right.destroy();
  };
  try {
    await Promise.race(directions);
    using _timer = clock.setTimer(lingerMs, end);
    await Promise.all(directions);
  } catch {
    // What broke is told to the other side by closing it.
  } finally {
    end();
    await Promise.allSettled(directions);
  }
}
