import type { Clock } from "@virtual-kubelet/clock";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { tuneSocket } from "../channel/tune-socket.ts";

/** How long one direction may continue after the other has ended. An API server allows no time at all. */
const lingerMs = 10_000;

/** Copies bytes both ways until both directions have ended or one has failed, then closes both streams. Never rejects. */
export async function joinDuplexes(left: Duplex, right: Duplex, clock: Clock): Promise<void> {
  for (const each of [left, right]) {
    each.on("error", () => undefined);
    tuneSocket(each);
    // A pipeline in each direction adds ten listeners.
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
    // Closing a stream tells its peer that the other one broke.
  } finally {
    end();
    await Promise.allSettled(directions);
  }
}
